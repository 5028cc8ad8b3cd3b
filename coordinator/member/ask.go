package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// askApproval says that this machine is there, and is not let in.
func (m *Member) askApproval(ctx context.Context, key seal.Key) error {
	m.asks = true
	path := m.deployment.ApprovalRequests(m.server)
	for {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return fmt.Errorf("ask to be let in as server %s: %w", m.server, err)
		}
		now := m.machine.Now().UTC()
		own := coordinator.ApprovalRequest{Instance: m.machine.Instance, Key: key.Public(), Since: now, Seen: now}
		asking, changed := coordinator.ParseApprovalRequests(node.Data).With(own)
		if !changed {
			return nil
		}
		data, err := coordinator.Encode(asking)
		if err == nil {
			err = m.store.Commit(ctx, coordinator.Op{Path: path, Version: node.Version, Write: true, Data: data})
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, coordinator.ErrVersion) {
			return fmt.Errorf("ask to be let in as server %s: %w", m.server, err)
		}
	}
}
