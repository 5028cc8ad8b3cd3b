package memory

import (
	"context"
	"errors"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator"
)

// announcement is a node that stands as long as somebody keeps it there.
type announcement struct {
	session *session
	path    coordinator.Path
	data    []byte
}

// missingPause is how long a keeper lets pass before it looks again for a parent
// that was deleted: no watch of the node itself tells that it is back.
const missingPause = 250 * time.Millisecond

// Announce implements coordinator.Store. An ephemeral node of somebody else is
// replaced once, at the start, where the parent's rights allow it: it may be left
// over from a session that is about to end. Otherwise, and whenever it is
// replaced itself later, the announcement waits until the other has gone.
func (s *session) Announce(ctx context.Context, path coordinator.Path, data []byte) error {
	if len(data) > MaxValue {
		return fail("announce", path, tooLarge(len(data)))
	}
	within, end := context.WithCancel(ctx)
	tokens, err := s.Watch(within, path)
	if err != nil {
		end()
		return fail("announce", path, errors.Unwrap(err))
	}
	a := &announcement{s, path, data}
	for stands := false; !stands; {
		if _, more := <-tokens; !more {
			end()
			return fail("announce", path, s.ended(ctx))
		}
		if stands, err = a.put(ctx, true); err != nil {
			end()
			return fail("announce", path, err)
		}
	}
	s.running.Go(func() {
		defer mistake.Ends()
		defer end()
		defer a.withdraw()
		a.keep(ctx, tokens)
	})
	return nil
}

// ended says why a channel was closed.
func (s *session) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return coordinator.ErrClosed
}

// keep puts the node back until the tokens end.
func (a *announcement) keep(ctx context.Context, tokens <-chan struct{}) {
	pause := time.NewTimer(missingPause)
	defer pause.Stop()
	for {
		select {
		case _, more := <-tokens:
			if !more {
				return
			}
		case <-pause.C:
		}
		if _, err := a.put(ctx, false); err != nil {
			pause.Reset(missingPause)
		}
	}
}

// put makes the node unless it stands. It reports false where one of somebody
// else stands that it may not or shall not replace.
func (a *announcement) put(ctx context.Context, replace bool) (stands bool, err error) {
	s := a.session
	leave, err := s.enter(ctx, a.path)
	if err != nil {
		return false, err
	}
	defer leave()
	above, _ := split(a.path)
	if there := s.tree.find(a.path); there != nil {
		switch {
		case there.owner == a:
			return true, nil
		case there.owner == nil:
			return false, coordinator.ErrExists
		case !replace || !s.may(s.tree.find(above), coordinator.MayDeleteChildren):
			return false, nil
		}
		s.tree.remove(a.path)
	}
	if err := s.mayCreate(a.path); err != nil {
		return false, err
	}
	n := s.newNode(a.data, nil)
	n.owner = a
	s.tree.add(a.path, n)
	return true, nil
}

// withdraw takes the node away if it is still this one's.
func (a *announcement) withdraw() {
	t := a.session.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.find(a.path); n != nil && n.owner == a {
		t.remove(a.path)
	}
}
