package emit

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/program"
)

// FrontEnds are hotc's own, a line each. No other package of analysis or emit knows any.
func FrontEnds(drivers []driver.Driver) []*program.FrontEnd {
	return []*program.FrontEnd{
		roles.FrontEnd(drivers),
	}
}

func (o Options) frontEnds() []*program.FrontEnd {
	return slices.Concat(FrontEnds(o.Drivers), o.FrontEnds)
}
