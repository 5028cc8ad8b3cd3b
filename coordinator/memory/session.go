package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/hotc-dev/hotc/coordinator"
)

// session is one session with a tree.
type session struct {
	tree *Tree

	// alive ends at Close; end ends it.
	alive context.Context
	end   context.CancelFunc
	// running are the goroutines that Close waits for.
	running sync.WaitGroup

	// The identities are guarded by the tree's mutex.
	identities map[identity]struct{}
	first      identity // what nodes without grants belong to
}

// Open starts a session under some identities.
func (t *Tree) Open(creds ...coordinator.Credential) coordinator.Store {
	alive, end := context.WithCancel(context.Background())
	s := &session{tree: t, alive: alive, end: end, identities: map[identity]struct{}{anyone: {}}, first: anyone}
	for _, c := range creds {
		s.identify(c)
	}
	return s
}

func (s *session) identify(c coordinator.Credential) {
	id := identify(c)
	s.identities[id] = struct{}{}
	if s.first == anyone {
		s.first = id
	}
}

// enter locks the tree for an operation that may still begin.
func (s *session) enter(ctx context.Context, path coordinator.Path) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(path); err != nil {
		return nil, err
	}
	s.tree.mu.Lock()
	if s.alive.Err() != nil {
		s.tree.mu.Unlock()
		return nil, coordinator.ErrClosed
	}
	return s.tree.mu.Unlock, nil
}

// may reports whether one of the session's identities has a right.
func (s *session) may(n *node, right coordinator.Rights) bool {
	for id := range s.identities {
		if n.may[id]&right != 0 {
			return true
		}
	}
	return false
}

// node finds a node on which the session has a right.
func (s *session) node(path coordinator.Path, right coordinator.Rights) (*node, error) {
	n := s.tree.find(path)
	if n == nil {
		return nil, coordinator.ErrNotFound
	}
	if !s.may(n, right) {
		return nil, coordinator.ErrRefused
	}
	return n, nil
}

func fail(op string, path coordinator.Path, err error) error {
	return &coordinator.PathError{Op: op, Path: path, Err: err}
}

// Create implements coordinator.Store.
func (s *session) Create(ctx context.Context, nodes []coordinator.NewNode) error {
	for _, n := range nodes {
		if len(n.Data) > MaxValue {
			return fail("create", n.Path, tooLarge(len(n.Data)))
		}
	}
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b coordinator.NewNode) int {
		return cmp.Compare(depth(a.Path), depth(b.Path))
	})
	for _, n := range sorted {
		if err := s.create(ctx, n); err != nil {
			return fail("create", n.Path, err)
		}
	}
	return nil
}

func (s *session) create(ctx context.Context, n coordinator.NewNode) error {
	leave, err := s.enter(ctx, n.Path)
	if err != nil {
		return err
	}
	defer leave()
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
		case !s.may(there, coordinator.MayRead):
			return coordinator.ErrRefused
		case !maps.Equal(there.may, made.may):
			return coordinator.ErrRights
		case !bytes.Equal(there.data, n.Data):
			return coordinator.ErrExists
		}
		return nil
	}
	s.tree.add(n.Path, made)
	return nil
}

// mayCreate reports why a node may not be created, if so.
func (s *session) mayCreate(path coordinator.Path) error {
	above, _ := split(path)
	parent, err := s.node(above, coordinator.MayCreateChildren)
	if err != nil {
		return err
	}
	if parent.owner != nil {
		return errEphemeralParent
	}
	return nil
}

func (s *session) newNode(data []byte, grants []coordinator.Grant) *node {
	may := map[identity]coordinator.Rights{}
	for _, g := range grants {
		if g.May != 0 {
			may[identify(g.To)] |= g.May
		}
	}
	if len(grants) == 0 {
		may[s.first] = coordinator.MayAll
	}
	return &node{data: bytes.Clone(data), may: may, children: map[string]struct{}{}}
}

// Read implements coordinator.Store.
func (s *session) Read(ctx context.Context, path coordinator.Path) (coordinator.Node, error) {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return coordinator.Node{}, fail("read", path, err)
	}
	defer leave()
	n, err := s.node(path, coordinator.MayRead)
	if err != nil {
		return coordinator.Node{}, fail("read", path, err)
	}
	return coordinator.Node{Data: bytes.Clone(n.data), Version: n.version}, nil
}

// Stat implements coordinator.Store.
func (s *session) Stat(ctx context.Context, path coordinator.Path) (coordinator.Version, bool, error) {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return 0, false, fail("stat", path, err)
	}
	defer leave()
	n := s.tree.find(path)
	if n == nil {
		return 0, false, nil
	}
	return n.version, true, nil
}

// Children implements coordinator.Store.
func (s *session) Children(ctx context.Context, path coordinator.Path) ([]string, error) {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return nil, fail("list", path, err)
	}
	defer leave()
	n, err := s.node(path, coordinator.MayRead)
	if err != nil {
		return nil, fail("list", path, err)
	}
	return slices.Sorted(maps.Keys(n.children)), nil
}

// Rights implements coordinator.Store.
func (s *session) Rights(ctx context.Context, path coordinator.Path, known ...coordinator.Credential) ([]coordinator.Grant, error) {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return nil, fail("ask for the rights of", path, err)
	}
	defer leave()
	n, err := s.node(path, coordinator.MayRead|coordinator.MayHandOver)
	if path == "" && s.tree.untouched() {
		err = coordinator.ErrNotFound
	}
	if err != nil {
		return nil, fail("ask for the rights of", path, err)
	}
	if !s.may(n, coordinator.MayHandOver) {
		known = nil
	}
	var grants []coordinator.Grant
	for id, may := range n.may {
		to := coordinator.Credential{User: id.user}
		for _, c := range known {
			if identify(c) == id {
				to = c
			}
		}
		grants = append(grants, coordinator.Grant{To: to, May: may})
	}
	return coordinator.SortGrants(grants), nil
}

// ChangeRights implements coordinator.Store.
func (s *session) ChangeRights(ctx context.Context, path coordinator.Path, c coordinator.RightsChange) error {
	leave, err := s.enter(ctx, path)
	if err != nil {
		return fail("change the rights of", path, err)
	}
	defer leave()
	n := s.tree.find(path)
	if n == nil {
		return fail("change the rights of", path, coordinator.ErrNotFound)
	}
	may, err := s.changed(n, c)
	if err != nil {
		return fail("change the rights of", path, err)
	}
	if !maps.Equal(may, n.may) {
		n.may = may
		n.changes++
	}
	return nil
}

// changed are a node's rights after a change.
func (s *session) changed(n *node, c coordinator.RightsChange) (map[identity]coordinator.Rights, error) {
	may := maps.Clone(n.may)
	switch {
	case c.From != nil && s.handedOver(n, *c.From, c.Grants[0]):
		return may, nil
	case c.From != nil:
		id := identify(*c.From)
		if _, mine := s.identities[id]; !mine || n.may[id]&coordinator.MayHandOver == 0 || n.changes > 0 {
			return nil, coordinator.ErrRefused
		}
		delete(may, id)
	case !s.may(n, coordinator.MayHandOver):
		return nil, coordinator.ErrRefused
	case c.Guard != nil:
		if g := s.tree.find(c.Guard.Path); g == nil || g.version != c.Guard.Version {
			return nil, coordinator.ErrVersion
		}
		return s.newNode(nil, c.Grants).may, nil
	}
	for _, g := range c.Grants {
		may[identify(g.To)] |= g.May
	}
	return may, nil
}

// handedOver reports whether exactly this was done before, and nothing else.
func (s *session) handedOver(n *node, from coordinator.Credential, to coordinator.Grant) bool {
	id := identify(to.To)
	_, mine := s.identities[id]
	_, still := n.may[identify(from)]
	return mine && !still && n.changes == 1 && n.may[id] == to.May && to.May&coordinator.MayRead != 0
}

// Authenticate implements coordinator.Store.
func (s *session) Authenticate(ctx context.Context, c coordinator.Credential) error {
	leave, err := s.enter(ctx, "")
	if err != nil {
		return fail("authenticate", "", err)
	}
	defer leave()
	s.identify(c)
	return nil
}

// MaxValue implements coordinator.Store.
func (s *session) MaxValue() int { return MaxValue }

// Close implements coordinator.Store.
func (s *session) Close() error {
	s.tree.mu.Lock()
	s.end()
	s.tree.mu.Unlock()
	s.running.Wait()
	return nil
}
