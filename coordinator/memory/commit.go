package memory

import (
	"errors"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/coordinator/store"
)

var errEphemeralParent = errors.New("an ephemeral node cannot have children")

// commit performs all operations or none. As in ZooKeeper's Multi, an operation sees the effects of
// those before it in the same commit.
func (s *session) commit(ops []store.Op) error {
	size := 0
	for _, op := range ops {
		if size += len(op.Data); size > MaxValue {
			return fail(opCommit, op.Path, tooLarge(size))
		}
		if err := check(op.Path); err != nil {
			return fail(opCommit, op.Path, err)
		}
	}
	written := map[store.Path]store.Version{} // how often, so far
	for _, op := range ops {
		right := store.MayRead
		if op.Write {
			right = store.MayWrite
		}
		n, err := s.node(op.Path, right)
		if err != nil {
			return fail(opCommit, op.Path, err)
		}
		if op.Version != store.AnyVersion && op.Version != n.version+written[op.Path] {
			return fail(opCommit, op.Path, store.ErrVersion)
		}
		if op.Write {
			if err := s.tree.full(op.Path, 0, len(op.Data)-len(n.data)); err != nil {
				return fail(opCommit, op.Path, err)
			}
			written[op.Path]++
		}
	}
	for _, op := range ops {
		if op.Write {
			s.tree.write(op.Path, s.tree.find(op.Path), op.Data)
		}
	}
	return nil
}

// deleteTree deletes a node and all below it that may be deleted. The root itself always stays.
func (s *session) deleteTree(path store.Path, n *node) error {
	if len(n.children) > 0 {
		if !s.may(n, store.MayRead) || !s.may(n, store.MayDeleteChildren) {
			return fail(opDeleteTree, path, store.ErrRefused)
		}
		var first error
		for _, name := range slices.Sorted(maps.Keys(n.children)) {
			child := path.Join(name)
			if err := s.deleteTree(child, s.tree.find(child)); err != nil && first == nil {
				first = err
			}
		}
		if first != nil {
			return first
		}
	}
	if path == "" {
		return nil
	}
	if !s.may(s.tree.find(path.Parent()), store.MayDeleteChildren) {
		return fail(opDeleteTree, path, store.ErrRefused)
	}
	s.tree.remove(path)
	return nil
}
