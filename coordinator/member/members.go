package member

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Members reads a relay's record of a group's members; empty if none was written. If it is invalid,
// missing or older than one that was seen, the last valid one is returned, or one that says that
// nothing is known.
func (m *Member) Members(ctx context.Context, group string) (protocol.MembersRecord, error) {
	node, err := m.store.Read(ctx, m.deployment.Members(group))
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrRefused) { // these while the plan is changed
		return protocol.MembersRecord{}, fmt.Errorf("read the members of the group %s: %w", group, err)
	}
	record, err := m.openMembers(ctx, group, node.Data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		if m.say != nil {
			m.say(err.Error())
		}
		if last, known := m.groups[group]; known {
			return last, nil
		}
		return protocol.MembersRecord{Unknown: true}, nil
	}
	m.groups[group] = record
	return record, nil
}

func (m *Member) openMembers(ctx context.Context, group string, data []byte) (protocol.MembersRecord, error) {
	what := "the member list of the group " + group
	if protocol.CountItems(data) > protocol.MostItems {
		return protocol.MembersRecord{}, protocol.Forged(what, "a relay", protocol.ErrTooMany)
	}
	place := m.deployment.Place(m.known().identity.ID, protocol.KindMembers, "", group)
	record, counter, err := protocol.OpenIfAny[protocol.MembersRecord](m.deployment.Members(group), data, m.relayKey(), place)
	if err == nil {
		err = m.notOlder(ctx, protocol.KindMembers+" "+group, counter)
	}
	if errors.Is(err, ErrOlder) {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return record, err
}

// relayKey is the key with which relays sign what Heat says; "", which verifies nothing, if none
// may.
func (m *Member) relayKey() sign.Public {
	if identity := m.known().identity; identity != nil && identity.Relay != nil && slices.Contains(identity.Relay.May, protocol.RelayHeat) {
		return identity.Relay.Key
	}
	return ""
}

// FollowMembers calls changed whenever a relay may have changed its record of a group's members,
// until ctx ends.
func (m *Member) FollowMembers(ctx context.Context, group string, changed func()) error {
	return m.followPath(ctx, "the member list of the group "+group, m.deployment.Members(group), changed)
}
