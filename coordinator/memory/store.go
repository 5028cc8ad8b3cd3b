package memory

import (
	"context"
	"slices"
	"sort"

	"github.com/hotc-dev/hotc/coordinator"
)

// store is a coordinator.Store: a session with a tree, over a link.
type store struct{ link }

// link is the way to a tree: a session in this process, or a connection to another one.
type link interface {
	do(ctx context.Context, r request) (response, error)
	Watch(ctx context.Context, path coordinator.Path) (<-chan struct{}, error)
	Announce(ctx context.Context, path coordinator.Path, data []byte) error
	Close() error
}

func (s store) Create(ctx context.Context, nodes []coordinator.NewNode) error {
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
				more += len(g.To.User) + len(g.To.Password) + 64
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

func (s store) Read(ctx context.Context, path coordinator.Path) (coordinator.Node, error) {
	answer, err := s.do(ctx, request{Op: opRead, Path: path})
	return coordinator.Node{Data: answer.Data, Version: answer.Version}, err
}

func (s store) Stat(ctx context.Context, path coordinator.Path) (coordinator.Version, bool, error) {
	answer, err := s.do(ctx, request{Op: opStat, Path: path})
	return answer.Version, answer.Exists, err
}

func (s store) Children(ctx context.Context, path coordinator.Path) ([]string, error) {
	answer, err := s.do(ctx, request{Op: opChildren, Path: path})
	return answer.Names, err
}

func (s store) Commit(ctx context.Context, ops ...coordinator.Op) error {
	_, err := s.do(ctx, request{Op: opCommit, Ops: ops})
	return err
}

func (s store) DeleteTree(ctx context.Context, path coordinator.Path) error {
	_, err := s.do(ctx, request{Op: opDeleteTree, Path: path})
	return err
}

func (s store) Rights(ctx context.Context, path coordinator.Path, known ...coordinator.Credential) ([]coordinator.Grant, error) {
	answer, err := s.do(ctx, request{Op: opRights, Path: path, Known: known})
	return answer.Grants, err
}

func (s store) ChangeRights(ctx context.Context, path coordinator.Path, change coordinator.RightsChange) error {
	_, err := s.do(ctx, request{Op: opChangeRights, Path: path, Rights: &change})
	return err
}

func (s store) Authenticate(ctx context.Context, c coordinator.Credential) error {
	_, err := s.do(ctx, request{Op: opAuthenticate, Credential: &c})
	return err
}

func (s store) MaxValue() int { return MaxValue }
