package memory

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// client is a store.Session: a session with a tree, over a link.
type client struct{ link }

// link is the way to a tree: a session in this process, or a connection to another one.
type link interface {
	do(ctx context.Context, r request) (response, error)
	Watch(ctx context.Context, path store.Path) (<-chan struct{}, error)
	Announce(ctx context.Context, path store.Path, data []byte) error
	Close() error
}

func (s client) Create(ctx context.Context, nodes []store.NewNode) error {
	for _, n := range nodes {
		if len(n.Data) > MaxValue {
			return fail(opCreate, n.Path, tooLarge(len(n.Data)))
		}
	}
	nodes = slices.Clone(nodes)
	sort.SliceStable(nodes, func(i, k int) bool { return nodes[i].Path.Depth() < nodes[k].Path.Depth() }) // generic code would be 5 kB in the agent
	for len(nodes) > 0 {
		some, size := 0, 0
		for _, n := range nodes {
			more := len(n.Data) + len(n.Path)
			for _, g := range n.Grants {
				more += len(g.To.Name) + len(g.To.ID) + 64
			}
			if size += more + 64; some > 0 && size > maxCreate {
				break
			}
			some++
		}
		if _, err := s.do(ctx, request{Op: opCreate, Nodes: nodes[:some]}); err != nil {
			return err
		}
		nodes = nodes[some:]
	}
	return nil
}

func (s client) Read(ctx context.Context, path store.Path) (store.Node, error) {
	answer, err := s.do(ctx, request{Op: opRead, Path: path})
	return store.Node{Data: answer.Data, Version: answer.Version}, err
}

func (s client) Stat(ctx context.Context, path store.Path) (store.Version, bool, error) {
	answer, err := s.do(ctx, request{Op: opStat, Path: path})
	return answer.Version, answer.Exists, err
}

func (s client) Written(ctx context.Context, path store.Path) (time.Time, error) {
	answer, err := s.do(ctx, request{Op: opStat, Path: path})
	if err == nil && !answer.Exists {
		err = fail(opStat, path, store.ErrNotFound)
	}
	return answer.Written, err
}

func (s client) Children(ctx context.Context, path store.Path) ([]string, error) {
	answer, err := s.do(ctx, request{Op: opChildren, Path: path})
	return answer.Names, err
}

func (s client) Commit(ctx context.Context, ops ...store.Op) error {
	_, err := s.do(ctx, request{Op: opCommit, Ops: ops})
	return err
}

func (s client) DeleteTree(ctx context.Context, path store.Path) error {
	_, err := s.do(ctx, request{Op: opDeleteTree, Path: path})
	return err
}

func (s client) Rights(ctx context.Context, path store.Path) ([]store.Grant, error) {
	answer, err := s.do(ctx, request{Op: opRights, Path: path})
	return answer.Grants, err
}

func (s client) ChangeRights(ctx context.Context, path store.Path, change store.RightsChange) error {
	_, err := s.do(ctx, request{Op: opChangeRights, Path: path, Rights: &change})
	return err
}

func (s client) Authenticate(ctx context.Context, c store.Credential) error {
	_, err := s.do(ctx, request{Op: opAuthenticate, Credential: &c})
	return err
}

func (s client) MaxValue() int { return MaxValue }

func (s client) SetLimit(ctx context.Context, path store.Path, l store.Limit, owner store.Principal) error {
	_, err := s.do(ctx, request{Op: opSetLimit, Path: path, Limit: l, Owner: owner})
	return err
}

// Surroundings are no one's rights: there is nothing around the tree.
func (s client) Surroundings(context.Context) (store.Rights, error) { return 0, nil }

// Connection is up for as long as the session is: it ends with its tree's process.
func (s client) Connection() (store.Connection, <-chan struct{}) {
	return store.Connection{Up: true}, nil
}

// Among does nothing: nothing is polled here.
func (s client) Among(store.Path) {}
