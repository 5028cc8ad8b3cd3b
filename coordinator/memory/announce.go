package memory

import (
	"context"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// announcement is a store.Announcement: a node that exists as long as its session keeps it.
type announcement struct {
	session *session
	path    store.Path
	data    []byte
}

func (s *session) Announce(ctx context.Context, path store.Path, data []byte) error {
	if len(data) > MaxValue {
		return fail(opAnnounce, path, tooLarge(len(data)))
	}
	start := func(run func()) bool {
		mistake.GoIn(&s.running, run)
		return true
	}
	if err := store.Keep(ctx, client{s}, path, &announcement{s, path, data}, start); err != nil {
		return fail(opAnnounce, path, err)
	}
	return nil
}

func (a *announcement) Put(ctx context.Context, replace bool) (exists bool, err error) {
	s := a.session
	leave, err := s.enter(ctx, a.path)
	if err != nil {
		return false, err
	}
	defer leave()
	if there := s.tree.find(a.path); there != nil {
		switch {
		case there.owner == a:
			return true, nil
		case there.owner == nil:
			return false, store.ErrExists
		case !replace || !s.may(s.tree.find(a.path.Parent()), store.MayDeleteChildren):
			return false, nil
		}
		s.tree.remove(a.path)
	}
	if err := s.mayCreate(a.path); err != nil {
		return false, err
	}
	if err := s.tree.full(a.path, 1, len(a.data)); err != nil {
		return false, err
	}
	n := s.newNode(a.data, nil)
	n.owner = a
	s.tree.add(a.path, n)
	return true, nil
}

func (a *announcement) Withdraw() {
	t := a.session.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.find(a.path); n != nil && n.owner == a {
		t.remove(a.path)
	}
}
