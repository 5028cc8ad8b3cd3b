package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator"
)

// missingPause is how long an announcement that could not be made again waits
// before it is tried again: no watch of the node tells that its parent is back.
const missingPause = time.Second

// announcement is a node that one store keeps in place.
type announcement struct {
	store *store
	at    string
	data  []byte
}

// Announce implements coordinator.Store. An ephemeral node of another session is
// replaced once, at the start, where the parent's rights allow it: it may be what
// an agent's last process left, and would stand until that session expires.
// Otherwise, and whenever it is replaced itself later, the announcement waits until
// the other has gone; so two agents of one name do not delete each other's for ever.
func (s *store) Announce(ctx context.Context, path coordinator.Path, data []byte) error {
	if len(data) > MaxValue {
		return fail("announce", path, tooLarge(len(data)))
	}
	within, end := context.WithCancel(ctx)
	tokens, err := s.Watch(within, path)
	if err != nil {
		end()
		return err
	}
	a := &announcement{s, s.at(path), bytesOf(data)}
	for stands := false; !stands; {
		if _, more := <-tokens; !more {
			err = coordinator.ErrClosed
			if ctx.Err() != nil {
				err = s.link.gaveUp(ctx.Err(), nil)
			}
		} else {
			stands, err = a.put(ctx, true)
		}
		if err != nil {
			end()
			s.start(a.withdraw) // the answer may have been lost
			return fail("announce", path, err)
		}
	}
	s.start(func() {
		defer end()
		a.keep(ctx, tokens)
		a.withdraw()
	})
	return nil
}

// keep puts the node back, on every token and while that fails, until the tokens end.
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

// put makes the node unless it stands. It reports false where one of another
// session stands that it may not or shall not replace.
func (a *announcement) put(ctx context.Context, replace bool) (stands bool, err error) {
	for look := !replace; ; look = true {
		if look {
			stands, gone, err := a.inspect(ctx, replace)
			if err != nil || !gone {
				return stands, err
			}
		}
		session, err := ask(ctx, a.store, write, func(c *zk.Conn) (int64, error) {
			_, err := c.Create(a.at, a.data, zk.FlagEphemeral, acl(nil, a.store.owner()))
			return c.SessionID(), err
		})
		if err == nil {
			a.store.remember(session)
			return true, nil
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			return false, err
		}
	}
}

// inspect looks at the node. It reports whether ours stands, or none does; one of
// another session that may be replaced is deleted.
func (a *announcement) inspect(ctx context.Context, replace bool) (stands, gone bool, err error) {
	s := a.store
	stat, err := s.exists(ctx, a.at, false)
	switch {
	case err != nil:
		return false, false, err
	case stat == nil:
		return false, true, nil
	case stat.EphemeralOwner == s.link.conn.SessionID():
		s.remember(stat.EphemeralOwner) // the answer to its creation was lost
		return true, false, nil
	case stat.EphemeralOwner == 0:
		return false, false, coordinator.ErrExists
	case !replace && !s.remembers(stat.EphemeralOwner):
		return false, false, nil
	}
	// Should somebody be in between, the node has another creation: then its version
	// is most likely the same, and it is replaced as the first one would have been.
	_, err = ask(ctx, s, write, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(a.at, stat.Version) })
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return false, false, nil
	case err == nil, errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion):
		return false, true, nil
	}
	return false, false, err
}

// remember notes a session of this store that owned a node.
func (s *store) remember(session int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[session] = struct{}{}
}

func (s *store) remembers(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sessions[session]
	return ok
}

// withdraw takes the node away if it is this store's.
func (a *announcement) withdraw() {
	s := a.store
	stat, err := s.exists(s.link.alive, a.at, false)
	if err != nil || stat == nil || !s.remembers(stat.EphemeralOwner) && stat.EphemeralOwner != s.link.conn.SessionID() {
		return
	}
	_, _ = ask(s.link.alive, s, write, func(c *zk.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(a.at, stat.Version)
	})
}
