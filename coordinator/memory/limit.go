package memory

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// bound is a limit that somebody has set.
type bound struct {
	limit store.Limit
	owner store.Principal
}

// setLimit bounds a node, or removes the bound.
func (s *session) setLimit(path store.Path, l store.Limit, owner store.Principal) error {
	there, is := s.tree.limits[path]
	switch {
	case is && l != store.Limit{} && there.owner != owner:
		return store.ErrRights
	case is && there.owner != store.Everyone && !slices.Contains(s.principals, there.owner):
		return store.ErrRefused
	case l == store.Limit{}:
		delete(s.tree.limits, path)
	default:
		s.tree.limits[path] = bound{l, owner}
	}
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
