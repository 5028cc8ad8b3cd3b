package member

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/sign"
)

// Members reads a relay's record of a group's members; empty if there is none. If the record is
// invalid, the last valid one is returned.
func (m *Member) Members(ctx context.Context, group string) (coordinator.MembersRecord, error) {
	node, err := m.store.Read(ctx, m.deployment.Members(group))
	if errors.Is(err, coordinator.ErrNotFound) || errors.Is(err, coordinator.ErrRefused) {
		return coordinator.MembersRecord{}, nil // the plan is being changed
	}
	if err != nil {
		return coordinator.MembersRecord{}, fmt.Errorf("read the members of the group %s: %w", group, err)
	}
	record, err := m.openMembers(group, node.Data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		if m.say != nil {
			m.say(err.Error())
		}
		return m.groups[group], nil
	}
	if m.groups == nil {
		m.groups = map[string]coordinator.MembersRecord{}
	}
	m.groups[group] = record
	return record, nil
}

func (m *Member) openMembers(group string, data []byte) (coordinator.MembersRecord, error) {
	var none coordinator.MembersRecord
	if coordinator.CountItems(data) > coordinator.MostItems {
		return none, coordinator.Forged("the member list of the group "+group, "a relay", coordinator.ErrTooMany)
	}
	place := m.deployment.Place(m.known().identity.ID, coordinator.KindMembers, "", group)
	record, counter, err := coordinator.OpenIfAny[coordinator.MembersRecord](m.deployment.Members(group), data, m.relayKey(), place)
	if err == nil && counter > 0 {
		err = m.notOlder(coordinator.KindMembers+" "+group, counter)
	}
	return record, err
}

// relayKey is the key with which relays sign what Heat says; "", which verifies nothing, if none
// may.
func (m *Member) relayKey() sign.Public {
	if identity := m.known().identity; identity != nil && identity.Relay != nil && slices.Contains(identity.Relay.May, coordinator.RelayHeat) {
		return identity.Relay.Key
	}
	return ""
}

// FollowMembers calls changed whenever a relay may have changed its record of a group's members,
// until ctx ends.
func (m *Member) FollowMembers(ctx context.Context, group string, changed func()) error {
	return m.followPath(ctx, "the member list of the group "+group, m.deployment.Members(group), changed)
}
