package zookeeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// errGrew says that a node got children while its tree was being deleted.
var errGrew = errors.New("a node has new children")

// DeleteTree implements store.Session. The store's root itself always stays.
func (s *client) DeleteTree(ctx context.Context, path store.Path) error {
	for {
		paths, closed, err := s.below(ctx, s.at(path))
		if err != nil {
			return err
		}
		if path == "" && len(paths) > 0 {
			paths = paths[1:]
		}
		slices.Reverse(paths) // children before parents
		left := &leftovers{closed: closed}
		cuts := batches(len(paths), func(i int) int { return 32 + len(paths[i]) })
		err = inOrder(ctx, len(cuts), deeperBatches(paths, cuts), func(ctx context.Context, i int) error {
			return s.deleteBatch(ctx, paths[cuts[i][0]:cuts[i][1]], left)
		})
		if err == nil && left.first != "" {
			err = fail("delete", s.path(left.first), zk.ErrNoAuth)
		}
		if !errors.Is(err, errGrew) {
			return err
		}
	}
}

// deeperBatches returns, for every batch, the last one with deeper nodes than its least deep one:
// paths are sorted by depth, the deepest first.
func deeperBatches(paths []string, cuts [][2]int) func(int) int {
	depth := func(i int) int { return strings.Count(paths[i], "/") }
	return func(i int) int {
		least := depth(cuts[i][1] - 1)
		for k := i - 1; k >= 0; k-- {
			if depth(cuts[k][0]) > least {
				return k
			}
		}
		return -1
	}
}

// below lists a node and all below it, level by level, and returns which of them may not be listed:
// those may still be empty, and be deleted.
func (s *client) below(ctx context.Context, root string) (all []string, closed map[string]bool, err error) {
	stat, err := s.exists(ctx, root, false)
	if err != nil {
		return nil, nil, fail("delete", s.path(root), err)
	}
	if stat == nil {
		return nil, nil, nil
	}
	all, closed = []string{root}, map[string]bool{}
	for level := all; len(level) > 0; {
		next := make([][]string, len(level))
		errs := make([]error, len(level))
		several(mostScouts, len(level), func(i int) {
			names, err := s.names(ctx, level[i])
			if errors.Is(err, zk.ErrNoNode) {
				err = nil
			}
			errs[i] = err
			for _, name := range names {
				next[i] = append(next[i], level[i]+"/"+name)
			}
		})
		for i, err := range errs {
			if errors.Is(err, zk.ErrNoAuth) {
				closed[level[i]] = true
			} else if err != nil {
				return nil, nil, fail("delete", s.path(level[i]), err)
			}
		}
		level = slices.Concat(next...)
		all = append(all, level...)
	}
	return all, closed, nil
}

// leftovers are the nodes that cannot be deleted because they have children and may not be listed,
// or are above such nodes.
type leftovers struct {
	closed map[string]bool
	mu     sync.Mutex
	first  string
	above  map[string]bool
}

// keeps reports whether a node with children is one of them.
func (l *leftovers) keeps(at string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed[at] && !l.above[at] {
		return false
	}
	if l.first == "" {
		l.first, l.above = at, map[string]bool{}
	}
	l.above[at[:strings.LastIndexByte(at, '/')]] = true
	return true
}

// deleteBatch deletes nodes. When one of them is not as expected, each is deleted
// on its own.
func (s *client) deleteBatch(ctx context.Context, paths []string, left *leftovers) error {
	ops := make([]any, len(paths))
	for i, at := range paths {
		ops[i] = &zk.DeleteRequest{Path: at, Version: -1}
	}
	i, err := s.multi(ctx, ops)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotEmpty):
	default:
		return fail("delete", s.path(paths[i]), err)
	}
	for _, at := range paths {
		switch err := s.remove(ctx, at, -1); {
		case err == nil, errors.Is(err, zk.ErrNoNode):
		case errors.Is(err, zk.ErrNotEmpty) && left.keeps(at):
		case errors.Is(err, zk.ErrNotEmpty):
			return errGrew
		default:
			return fail("delete", s.path(at), err)
		}
	}
	return nil
}
