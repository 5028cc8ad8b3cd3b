package memory

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/coordinator"
)

var errEphemeralParent = errors.New("an ephemeral node has no children")

// Commit implements coordinator.Store. As in ZooKeeper's Multi an operation sees
// what those before it in the same commit did.
func (s *session) Commit(ctx context.Context, ops ...coordinator.Op) error {
	size := 0
	for _, op := range ops {
		if size += len(op.Data); size > MaxValue {
			return fail("commit", op.Path, tooLarge(size))
		}
		if err := check(op.Path); err != nil {
			return fail("commit", op.Path, err)
		}
	}
	leave, err := s.enter(ctx, "")
	if err != nil {
		return fail("commit", firstPath(ops), err)
	}
	defer leave()
	written := map[coordinator.Path]coordinator.Version{} // how often, so far
	for _, op := range ops {
		right := coordinator.MayRead
		if op.Write {
			right = coordinator.MayWrite
		}
		n, err := s.node(op.Path, right)
		if err != nil {
			return fail("commit", op.Path, err)
		}
		if op.Version != coordinator.AnyVersion && op.Version != n.version+written[op.Path] {
			return fail("commit", op.Path, coordinator.ErrVersion)
		}
		if op.Write {
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

func firstPath(ops []coordinator.Op) coordinator.Path {
	if len(ops) == 0 {
		return ""
	}
	return ops[0].Path
}

// DeleteTree implements coordinator.Store. The root itself always stays.
func (s *session) DeleteTree(ctx context.Context, path coordinator.Path) error {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return fail("delete", path, err)
	}
	defer leave()
	n := s.tree.find(path)
	if n == nil {
		return nil
	}
	return s.deleteTree(path, n)
}

func (s *session) deleteTree(path coordinator.Path, n *node) error {
	if len(n.children) > 0 {
		if !s.may(n, coordinator.MayRead) || !s.may(n, coordinator.MayDeleteChildren) {
			return fail("delete", path, coordinator.ErrRefused)
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
	above, _ := split(path)
	if !s.may(s.tree.find(above), coordinator.MayDeleteChildren) {
		return fail("delete", path, coordinator.ErrRefused)
	}
	s.tree.remove(path)
	return nil
}
