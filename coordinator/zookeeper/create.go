package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// Create implements store.Session. Nodes are sent by depth in batches, so that within a level
// several are in flight; the list's last node is created last.
func (s *client) Create(ctx context.Context, nodes []store.NewNode) error {
	for _, n := range nodes {
		if len(n.Data) > MaxValue {
			return fail("create", n.Path, tooLarge(len(n.Data)))
		}
	}
	if err := ctx.Err(); err != nil {
		return fail("create", "", err)
	}
	sorted, last := byDepth(nodes)
	requests := make([]*zk.CreateRequest, len(sorted))
	for i, n := range sorted {
		requests[i] = &zk.CreateRequest{Path: s.at(n.Path), Data: bytesOf(n.Data), Acl: s.acl(n.Grants)}
	}
	cuts := batches(len(requests), func(i int) int { return createSize(requests[i]) })
	parents := parentBatches(requests, cuts)
	after := func(i int) int {
		if last && i == len(cuts)-1 {
			return i - 1
		}
		return parents[i]
	}
	return inOrder(ctx, len(cuts), after, func(ctx context.Context, i int) error {
		return s.createBatch(ctx, requests[cuts[i][0]:cuts[i][1]])
	})
}

// byDepth sorts nodes so that parents come before children. The last node stays
// the last, unless it is the parent of another.
func byDepth(nodes []store.NewNode) (sorted []store.NewNode, last bool) {
	rest := nodes
	if n := len(nodes); n > 0 {
		end := string(nodes[n-1].Path) + "/"
		last = !slices.ContainsFunc(nodes, func(other store.NewNode) bool {
			return strings.HasPrefix(string(other.Path), end)
		})
		if last {
			rest = nodes[:n-1]
		}
	}
	levels := make([][]store.NewNode, 1)
	for _, n := range rest {
		depth := n.Path.Depth()
		for len(levels) <= depth {
			levels = append(levels, nil)
		}
		levels[depth] = append(levels[depth], n)
	}
	sorted = make([]store.NewNode, 0, len(nodes))
	for _, level := range append(levels, nodes[len(rest):]) {
		sorted = append(sorted, level...)
	}
	return sorted, last
}

// parentBatches returns, for every batch, the last other batch with a parent of its nodes, or -1.
func parentBatches(requests []*zk.CreateRequest, cuts [][2]int) []int {
	batch := make(map[string]int, len(requests))
	parents := make([]int, len(cuts))
	for i, cut := range cuts {
		parents[i] = -1
		for _, r := range requests[cut[0]:cut[1]] {
			above := r.Path[:strings.LastIndexByte(r.Path, '/')]
			if p, ok := batch[above]; ok && p < i {
				parents[i] = max(parents[i], p)
			}
			batch[r.Path] = i
		}
	}
	return parents
}

// createSize is the approximate size of a creation in a request.
func createSize(r *zk.CreateRequest) int {
	size := 32 + len(r.Path) + len(r.Data)
	for _, entry := range r.Acl {
		size += 12 + len(entry.Scheme) + len(entry.ID)
	}
	return size
}

// createBatch creates those nodes that do not exist, and first the root if it is missing.
func (s *client) createBatch(ctx context.Context, requests []*zk.CreateRequest) error {
	rooted := false
	for len(requests) > 0 {
		ops := make([]any, len(requests))
		for i, r := range requests {
			ops[i] = r
		}
		i, err := s.multi(ctx, ops)
		if err == nil {
			return nil
		}
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			if requests, err = s.missing(ctx, requests); err != nil {
				return err
			}
		case errors.Is(err, zk.ErrNoNode) && !rooted:
			if err := s.makeRoot(ctx, requests[i].Path); err != nil {
				return fail("create", s.path(requests[i].Path), err)
			}
			rooted = true
		default:
			return fail("create", s.path(requests[i].Path), err)
		}
	}
	return nil
}

// makeRoot creates the root and its ancestors, open to everyone, unless they exist; the root itself
// only as the parent of another node.
func (s *client) makeRoot(ctx context.Context, of string) error {
	for i := 1; i <= len(s.root) && i < len(of); i++ {
		if i < len(s.root) && s.root[i] != '/' {
			continue
		}
		path := s.root[:i]
		stat, err := s.exists(ctx, path, false)
		if err == nil && stat == nil {
			err = s.make(ctx, path, nil, openACL)
		}
		switch {
		case errors.Is(err, zk.ErrNoAuth):
			// Not store.ErrRefused, which would be about the node to be created.
			return fmt.Errorf("ZooKeeper has no node %s, and does not let this user create it", path)
		case err != nil && !errors.Is(err, zk.ErrNodeExists):
			return err
		}
	}
	return nil
}

// missing returns those nodes that do not exist. An existing one with other rights or data is an
// error.
func (s *client) missing(ctx context.Context, requests []*zk.CreateRequest) ([]*zk.CreateRequest, error) {
	errs := make([]error, len(requests))
	several(mostScouts, len(requests), func(i int) {
		r := requests[i]
		data, err := s.data(ctx, r.Path)
		var list []zk.ACL
		if err == nil {
			_, list, err = s.accessList(ctx, r.Path)
		}
		switch {
		case err != nil:
		case !s.sameRights(list, r.Acl):
			err = store.ErrRights
		case !bytes.Equal(data, r.Data):
			err = store.ErrExists
		}
		errs[i] = err
	})
	var left []*zk.CreateRequest
	for i, r := range requests {
		switch {
		case errors.Is(errs[i], zk.ErrNoNode):
			left = append(left, r)
		case errs[i] != nil:
			return nil, fail("create", s.path(r.Path), errs[i])
		}
	}
	return left, nil
}
