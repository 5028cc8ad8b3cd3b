package relay

import (
	"context"
	"errors"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// Members is the relays' record of a group's members, as it was read.
type Members struct {
	coordinator.MembersRecord
	group   string
	version coordinator.Version
	counter int64
}

// Members reads the relays' record of a group's members. One that no relay has signed is empty.
func (s *Session) Members(ctx context.Context, group string) (*Members, error) {
	d, m := s.key.Deployment, &Members{group: group}
	var err error
	m.MembersRecord, m.version, m.counter, err = coordinator.ReadSigned[coordinator.MembersRecord](ctx, s.store, d.Members(group), s.signer.Public(), d.Place(s.record.ID, coordinator.KindMembers, "", group))
	if errors.Is(err, coordinator.ErrForged) {
		err = nil
	}
	return m, s.explain(err)
}

// Present reports whether a server's agent has a session.
func (s *Session) Present(ctx context.Context, server contract.ServerPath) (bool, error) {
	_, there, err := s.store.Stat(ctx, s.key.Deployment.Presence(server))
	return there, err
}

// SayMembers writes the members of a group. ErrVersion: another relay has written them meanwhile.
func (s *Session) SayMembers(ctx context.Context, before *Members, now coordinator.MembersRecord) error {
	d := s.key.Deployment
	now.Since = time.Now().UTC().Truncate(time.Second)
	at := d.Place(s.record.ID, coordinator.KindMembers, "", before.group)
	return s.write(ctx, d.Members(before.group), before.version, at, max(before.counter+1, time.Now().UnixMilli()), now)
}
