package store

import (
	"context"
	"errors"
)

// Limit bounds a node and all below it; zero is unlimited.
type Limit struct {
	Nodes int64 `json:"nodes,omitempty"`
	Bytes int64 `json:"bytes,omitempty"` // of their data
}

// Limiter is a Session whose coordinator can set a quota on a subtree, whoever writes it: writes that
// would exceed it are refused (ErrFull). Of two nested limits only the deeper one counts.
type Limiter interface {
	// SetLimit bounds a node, whether or not it exists yet; the zero Limit removes the bound. The
	// bound belongs to the grants' users: others cannot change it. ErrRights: it is another user's.
	SetLimit(ctx context.Context, path Path, l Limit, grants ...Grant) error
	// Limit returns what SetLimit has set.
	Limit(ctx context.Context, path Path) (Limit, error)
	// Surroundings are everyone's rights outside of the ROOT: on the coordinator's own root node.
	Surroundings(ctx context.Context) (Rights, error)
}

// ErrFull says that a limit of the coordinator is reached.
var ErrFull = errors.New("the coordinator's quota is used up")
