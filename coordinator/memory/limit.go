package memory

import (
	"maps"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// bound is a limit that somebody has set.
type bound struct {
	limit store.Limit
	owner store.Access
}

// setLimit bounds a node, or removes the bound. Its owner is whom the grants name, as that of a node.
func (s *session) setLimit(path store.Path, l store.Limit, grants []store.Grant) error {
	own := store.NewAccess(s.principals, grants)
	there, is := s.tree.limits[path]
	switch {
	case l == (store.Limit{}) && is && !there.owner.Allows(s.principals, store.MayDeleteChildren):
		return store.ErrRefused
	case l == (store.Limit{}):
		delete(s.tree.limits, path)
		return nil
	case is && !maps.Equal(there.owner.May, own.May):
		return store.ErrRights
	case is && !there.owner.Allows(s.principals, store.MayWrite):
		return store.ErrRefused
	}
	s.tree.limits[path] = bound{l, own}
	return nil
}

// full is ErrFull if a change at a path would exceed the deepest limit above it.
func (t *Tree) full(path store.Path, nodes, bytes int) error {
	if len(t.limits) == 0 || nodes <= 0 && bytes <= 0 {
		return nil
	}
	at := path
	for ; ; at = at.Parent() {
		if _, is := t.limits[at]; is {
			break
		}
		if at == "" {
			return nil
		}
	}
	count, size := int64(nodes), int64(bytes)
	for p, n := range t.nodes {
		if at == "" || p == at || strings.HasPrefix(string(p), string(at)+"/") {
			count, size = count+1, size+int64(len(n.data))
		}
	}
	if t.limits[at].limit.Exceeded(count, size) {
		return store.ErrFull
	}
	return nil
}
