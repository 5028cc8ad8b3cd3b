package agent

import (
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A record of another machine, of another incarnation of this one, or an older one than was seen,
// takes no machine away.
func TestOnlyThisIncarnationGoes(t *testing.T) {
	for _, c := range []struct {
		record protocol.HeatValues
		err    error
		want   bool
	}{
		{record: protocol.HeatValues{Number: 2, Instance: "i", Going: 3}, want: true},
		{record: protocol.HeatValues{Number: 2, Instance: "another", Going: 3}},
		{record: protocol.HeatValues{Number: 2, Instance: "i", Going: 2}},
		{record: protocol.HeatValues{Number: 2, Instance: "i", Going: 4}},
		{record: protocol.HeatValues{Number: 2, Instance: "i"}},
		{record: protocol.HeatValues{Number: 2, Instance: "i", Going: 3}, err: fmt.Errorf("%w", member.ErrOlder)},
		{record: protocol.HeatValues{Number: 2, Instance: "i", Going: 3}, err: fmt.Errorf("%w", protocol.ErrForged)},
	} {
		h := newHeatValues(nil, "i")
		h.take(c.record, c.err)
		if got := h.going(3); got != c.want {
			t.Errorf("%+v, %v: %v", c.record, c.err, got)
		}
	}
}
