package simulationtest

import (
	"context"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// Announce implements store.Session. The cluster keeps the node for the session: until the
// process ends in order, a while after it died, and while its machine is cut off for no longer than
// a session lives.
func (s *session) Announce(ctx context.Context, path store.Path, data []byte) error {
	a := &presence{session: s, path: path, data: data}
	err := s.ask(ctx, "announce", path, func(string) error { return a.stand(ctx) }, nil)
	if err != nil {
		a.fall()
		return err
	}
	if s.process != nil {
		s.process.joins()
	}
	go a.keep(ctx)
	return nil
}

// presence is an ephemeral node of a session.
type presence struct {
	session *session
	path    store.Path
	data    []byte
	inner   store.Session
}

// stand creates the node, unless another's exists that may not be replaced.
func (a *presence) stand(ctx context.Context) error {
	if a.inner != nil {
		return nil
	}
	a.inner = a.session.cluster.openTree(a.session.identities()...)
	err := a.inner.Announce(context.Background(), a.path, a.data)
	if err != nil {
		a.fall()
	}
	c := a.session.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer(a.session)
	return err
}

// fall deletes the node. The session that held it ends with it.
func (a *presence) fall() {
	if a.inner != nil {
		a.inner.Close()
		a.inner = nil
	}
}

// keep holds the node while the process lives.
func (a *presence) keep(ctx context.Context) {
	s := a.session
	defer a.fall()
	for {
		timer := time.NewTimer(a.untilCut())
		select {
		case <-timer.C:
			a.cutOff(ctx)
			continue
		case <-ctx.Done():
		case <-s.closed:
		case <-s.dead:
		}
		timer.Stop()
		break
	}
	if isClosed(s.dead) || s.cut() > 0 {
		// The session is not closed: it has to expire.
		select {
		case <-time.After(sessionTimeout):
		case <-s.cluster.over:
		}
	}
}

// untilCut is how long until the machine has been cut off for too long.
func (a *presence) untilCut() time.Duration {
	now, m := a.session.cluster.now(), a.session.machine()
	next := time.Hour
	for _, l := range a.session.cluster.faults.Losses {
		if now <= l.At {
			next = min(next, l.At-now+1)
		}
	}
	if m == nil {
		return next
	}
	for _, c := range m.Cut {
		if expiry := c.From + sessionTimeout; expiry < c.To && now <= expiry {
			return min(next, expiry-now+1)
		}
	}
	return next
}

// cutOff is a session that has expired: the node is deleted, and created again when the machine is
// back and no other node exists.
func (a *presence) cutOff(ctx context.Context) {
	s := a.session
	if s.cut() == 0 {
		return
	}
	a.fall()
	for {
		if s.travel(ctx, s.way(s.identify("announce", a.path), "again")) != nil {
			return
		}
		_, stands, err := s.store().Stat(context.Background(), a.path)
		if err == nil && !stands && a.stand(ctx) == nil {
			return
		}
		if s.sleep(ctx, time.Second) != nil {
			return
		}
	}
}
