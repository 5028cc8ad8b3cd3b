package memory

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// session is one session with a tree.
type session struct {
	tree *Tree

	// alive ends at Close; end ends it.
	alive context.Context
	end   context.CancelFunc
	// running are the goroutines that Close waits for.
	running sync.WaitGroup

	// principals are guarded by the tree's mutex.
	principals store.Principals
}

// Open starts a session under some principals.
func (t *Tree) Open(creds ...store.Credential) store.Session {
	return client{t.open(creds...)}
}

func (t *Tree) open(creds ...store.Credential) *session {
	alive, end := context.WithCancel(context.Background())
	s := &session{tree: t, alive: alive, end: end}
	for _, c := range creds {
		s.principals = s.principals.Add(c.Principal())
	}
	return s
}

// enter locks the tree for an operation, unless the session or the context has ended.
func (s *session) enter(ctx context.Context, path store.Path) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(path); err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	if s.alive.Err() != nil {
		s.tree.mu.Unlock()
		return nil, store.ErrClosed
	}
	return s.tree.mu.Unlock, nil
}

func (s *session) may(n *node, right store.Rights) bool { return n.access.Allows(s.principals, right) }

// node finds a node on which the session has a right.
func (s *session) node(path store.Path, right store.Rights) (*node, error) {
	n := s.tree.find(path)
	if n == nil {
		return nil, store.ErrNotFound
	}
	if !s.may(n, right) {
		return nil, store.ErrRefused
	}
	return n, nil
}

func fail(op operation, path store.Path, err error) error {
	return &store.PathError{Op: string(op), Path: path, Err: err}
}

// errNoRequest says that a message is not a valid request.
var errNoRequest = errors.New("not a request")

// do answers a request.
func (s *session) do(ctx context.Context, r request) (response, error) {
	leave, err := s.enter(ctx, r.Path)
	if err != nil {
		return response{}, fail(r.Op, r.Path, err)
	}
	defer leave()
	answer, err := s.answer(r)
	if err != nil && !errors.As(err, new(*store.PathError)) {
		err = fail(r.Op, r.Path, err)
	}
	return answer, err
}

func (s *session) answer(r request) (a response, err error) {
	switch r.Op {
	case opAuthenticate:
		if r.Credential == nil {
			return a, errNoRequest
		}
		s.principals = s.principals.Add(r.Credential.Principal())
	case opCreate:
		for _, n := range r.Nodes {
			if err := s.create(n); err != nil {
				return a, fail(r.Op, n.Path, err)
			}
		}
	case opRead:
		var n *node
		if n, err = s.node(r.Path, store.MayRead); err == nil {
			a.Data, a.Version = bytes.Clone(n.data), n.version
		}
	case opStat:
		if n := s.tree.find(r.Path); n != nil {
			a.Version, a.Exists, a.Written = n.version, true, n.written
		}
	case opChildren:
		var n *node
		if n, err = s.node(r.Path, store.MayRead); err == nil {
			a.Names = slices.Sorted(maps.Keys(n.children))
		}
	case opCommit:
		err = s.commit(r.Ops)
	case opDeleteTree:
		if n := s.tree.find(r.Path); n != nil {
			err = s.deleteTree(r.Path, n)
		}
	case opSetLimit:
		err = s.setLimit(r.Path, r.Limit, r.Owner)
	case opRights:
		a.Grants, err = s.rights(r.Path)
	case opChangeRights:
		if r.Rights == nil || r.Rights.From != nil && len(r.Rights.Grants) != 1 {
			return a, errNoRequest
		}
		err = s.changeRights(r.Path, *r.Rights)
	default:
		err = errNoRequest
	}
	return a, err
}

func (s *session) create(n store.NewNode) error {
	if len(n.Data) > MaxValue {
		return tooLarge(len(n.Data))
	}
	if err := check(n.Path); err != nil {
		return err
	}
	made := s.newNode(n.Data, n.Grants)
	if n.Path == "" && s.tree.untouched() {
		s.tree.root = made
		return nil
	}
	if n.Path != "" {
		if err := s.mayCreate(n.Path); err != nil {
			return err
		}
	}
	if there := s.tree.find(n.Path); there != nil {
		switch {
		case !s.may(there, store.MayRead):
			return store.ErrRefused
		case !maps.Equal(there.access.May, made.access.May):
			return store.ErrRights
		case !bytes.Equal(there.data, n.Data):
			return store.ErrExists
		}
		return nil
	}
	if err := s.tree.full(n.Path, 1, len(n.Data)); err != nil {
		return err
	}
	s.tree.add(n.Path, made)
	return nil
}

// mayCreate returns why a node may not be created, if so.
func (s *session) mayCreate(path store.Path) error {
	parent, err := s.node(path.Parent(), store.MayCreateChildren)
	if err != nil {
		return err
	}
	if parent.owner != nil {
		return errEphemeralParent
	}
	return nil
}

func (s *session) newNode(data []byte, grants []store.Grant) *node {
	return &node{data: bytes.Clone(data), written: time.Now(), access: store.NewAccess(s.principals, grants), children: map[string]struct{}{}}
}

// rights are the grants on a node.
func (s *session) rights(path store.Path) ([]store.Grant, error) {
	n := s.tree.find(path)
	if n == nil || path == "" && s.tree.untouched() {
		return nil, store.ErrNotFound
	}
	return n.access.Grants(s.principals)
}

func (s *session) changeRights(path store.Path, c store.RightsChange) error {
	n := s.tree.find(path)
	if n == nil {
		return store.ErrNotFound
	}
	after, err := n.access.Change(s.principals, c)
	if err == nil && c.Guard != nil {
		if g := s.tree.find(c.Guard.Path); g == nil || g.version != c.Guard.Version {
			return store.ErrVersion
		}
	}
	n.access = after
	return err
}

func (s *session) Close() error {
	s.tree.mu.Lock()
	s.end()
	s.tree.mu.Unlock()
	s.running.Wait()
	return nil
}
