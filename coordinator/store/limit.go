package store

import "errors"

// Limit bounds a node and all below it; zero is unlimited.
type Limit struct {
	Nodes int64 `json:"nodes,omitempty"`
	Bytes int64 `json:"bytes,omitempty"` // of their data
}

// Exceeded reports whether there is more than the limit allows.
func (l Limit) Exceeded(nodes, bytes int64) bool {
	return l.Nodes != 0 && nodes > l.Nodes || l.Bytes != 0 && bytes > l.Bytes
}

// ErrFull says that a limit of the coordinator is reached.
var ErrFull = errors.New("the coordinator's quota is used up")
