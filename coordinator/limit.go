package coordinator

import (
	"context"
	"errors"
)

// Limit bounds what stands at a node and below; a zero is not a bound.
type Limit struct {
	Nodes int64 `json:"nodes,omitempty"`
	Bytes int64 `json:"bytes,omitempty"` // of their data
}

// Limiter is a Store whose coordinator can bound what stands below a node, whoever writes
// it: what would exceed that is refused (ErrFull). Of two bounds, one below the other, the
// deeper one counts alone.
type Limiter interface {
	// SetLimit bounds a node, whether or not it is there yet; the zero Limit takes a bound
	// away. The bound itself belongs to the grants' users: others cannot change it. One that is
	// somebody else's is ErrRights.
	SetLimit(ctx context.Context, path Path, l Limit, grants ...Grant) error
	// Limit is what SetLimit has set.
	Limit(ctx context.Context, path Path) (Limit, error)
	// Surroundings is what everybody may do outside of the root: right below what the
	// coordinator calls its own root.
	Surroundings(ctx context.Context) (Rights, error)
}

// ErrFull says that a bound of the coordinator is reached.
var ErrFull = errors.New("the coordinator's quota is used up")
