package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// announcement is a store.Announcement: a node that one store keeps in place.
type announcement struct {
	store *client
	at    string
	data  []byte
}

func (s *client) Announce(ctx context.Context, path store.Path, data []byte) error {
	if len(data) > MaxValue {
		return fail("announce", path, tooLarge(len(data)))
	}
	err := store.Keep(ctx, s, path, &announcement{s, s.at(path), bytesOf(data)}, s.start)
	if err != nil && err == ctx.Err() {
		err = s.link.gaveUp(err, nil)
	}
	if err != nil {
		return fail("announce", path, err)
	}
	return nil
}

func (a *announcement) Put(ctx context.Context, replace bool) (exists bool, err error) {
	for look := !replace; ; look = true {
		if look {
			exists, gone, err := a.inspect(ctx, replace)
			if err != nil || !gone {
				return exists, err
			}
		}
		session, err := ask(ctx, a.store, write, func(c *zk.Conn) (int64, error) {
			_, err := c.Create(a.at, a.data, zk.FlagEphemeral, a.store.acl(nil))
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

// inspect reports whether our node exists, or none does; one of another session that may be
// replaced is deleted.
func (a *announcement) inspect(ctx context.Context, replace bool) (exists, gone bool, err error) {
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
		return false, false, store.ErrExists
	case !replace && !s.remembers(stat.EphemeralOwner):
		return false, false, nil
	}
	// If the node was created again meanwhile, its version is most likely the same, and it is
	// deleted as the first one would have been.
	err = s.remove(ctx, a.at, stat.Version)
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return false, false, nil
	case err == nil, errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion):
		return false, true, nil
	}
	return false, false, err
}

// remember notes a session of this store that owned a node.
func (s *client) remember(session int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[session] = struct{}{}
}

func (s *client) remembers(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sessions[session]
	return ok
}

func (a *announcement) Withdraw() {
	s := a.store
	stat, err := s.exists(s.link.alive, a.at, false)
	if err != nil || stat == nil || !s.remembers(stat.EphemeralOwner) && stat.EphemeralOwner != s.link.conn.SessionID() {
		return
	}
	_ = s.remove(s.link.alive, a.at, stat.Version)
}
