package member

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/sign"
)

// Members is what a relay has said of a group's members; nothing, where none has. Where what
// stands there cannot be believed, what could be before still holds.
func (m *Member) Members(ctx context.Context, group string) (coordinator.MembersRecord, error) {
	node, err := m.store.Read(ctx, m.deployment.Members(group))
	if errors.Is(err, coordinator.ErrNotFound) || errors.Is(err, coordinator.ErrRefused) {
		return coordinator.MembersRecord{}, nil // the plan is being changed
	}
	if err != nil {
		return coordinator.MembersRecord{}, fmt.Errorf("read who is in the group %s: %w", group, err)
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
		return none, coordinator.Forged("who is in the group "+group, "a relay", coordinator.ErrTooMany)
	}
	place := m.deployment.Place(m.known().identity.ID, coordinator.KindMembers, "", group)
	record, counter, err := coordinator.OpenIfAny[coordinator.MembersRecord](m.deployment.Members(group), data, m.relayKey(), place)
	if err == nil && counter > 0 {
		err = m.notOlder(coordinator.KindMembers+" "+group, counter)
	}
	return record, err
}

// relayKey is the key by which relays sign what Heat has said; where none may, one that has signed
// nothing.
func (m *Member) relayKey() sign.Public {
	if identity := m.known().identity; identity != nil && identity.Relay != nil && slices.Contains(identity.Relay.May, coordinator.RelayHeat) {
		return identity.Relay.Key
	}
	return ""
}

// FollowMembers calls changed whenever a relay may have said something else of a group's
// members, until ctx ends.
func (m *Member) FollowMembers(ctx context.Context, group string, changed func()) error {
	return m.followPath(ctx, "who is in the group "+group, m.deployment.Members(group), changed)
}
