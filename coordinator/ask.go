package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/coordinator/seal"
)

// knock says that this machine is there, and is not let in.
func (m *Member) knock(ctx context.Context, key seal.Key) error {
	m.asks = true
	path := m.deployment.Knock(m.server)
	for {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return fmt.Errorf("ask to be let in as server %s: %w", m.server, err)
		}
		now := m.machine.Now().UTC()
		own := KnockRecord{Instance: m.machine.Instance, Key: key.Public(), Since: now, Seen: now}
		asking, changed := readKnocks(node.Data).with(own)
		if !changed {
			return nil
		}
		data, err := encode(asking)
		if err == nil {
			err = m.store.Commit(ctx, Op{Path: path, Version: node.Version, Write: true, Data: data})
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrVersion) {
			return fmt.Errorf("ask to be let in as server %s: %w", m.server, err)
		}
	}
}
