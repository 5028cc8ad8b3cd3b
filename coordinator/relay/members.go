package relay

import (
	"context"
	"errors"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Members is the relays' record of a group's members, as it was read.
type Members struct {
	protocol.MembersRecord
	group   string
	version store.Version
	counter int64
}

// Members reads the relays' record of a group's members. One that no relay has signed is empty.
func (s *Session) Members(ctx context.Context, group string) (*Members, error) {
	d, m := s.key.Deployment, &Members{group: group}
	var err error
	m.MembersRecord, m.version, m.counter, err = protocol.ReadSigned[protocol.MembersRecord](ctx, s.store, d.Members(group), s.signer.Public(), d.Place(s.record.ID, protocol.KindMembers, "", group))
	if errors.Is(err, protocol.ErrForged) {
		err = nil
	}
	return m, s.explain(err)
}

// Present reports whether a server's agent has a session.
func (s *Session) Present(ctx context.Context, server contract.ServerPath) (bool, error) {
	_, there, err := s.store.Stat(ctx, s.key.Deployment.Presence(server))
	return there, err
}

// Appeared is when a server's agent announced itself, by the coordinator's clock; one without a
// clock only tells whether it is there.
func (s *Session) Appeared(ctx context.Context, server contract.ServerPath) (at time.Time, there bool, err error) {
	if there, err = s.Present(ctx, server); err != nil || !there {
		return time.Time{}, false, err
	}
	at, err = s.store.Written(ctx, s.key.Deployment.Presence(server))
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, false, nil
	}
	return at, err == nil, err
}

// SayMembers writes the members of a group. ErrVersion: another relay has written them meanwhile.
func (s *Session) SayMembers(ctx context.Context, before *Members, now protocol.MembersRecord) error {
	d := s.key.Deployment
	now.Since = time.Now().UTC().Truncate(time.Second)
	at := d.Place(s.record.ID, protocol.KindMembers, "", before.group)
	number := protocol.NextNumber(max(before.counter, s.record.Counter), protocol.KindMembers+" "+before.group, s.states()...)
	return s.write(ctx, d.Members(before.group), before.version, at, number, now)
}
