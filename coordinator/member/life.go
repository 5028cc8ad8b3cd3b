package member

import (
	"context"

	"github.com/hotc-dev/hotc/coordinator"
)

// A machine's life is a node by its random id, which it makes before it becomes the
// server. Every write checks it: it tells the deployment in which the machine enrolled
// from one that was made anew under the same name (docs/coordination.md,
// "Incarnations").

func (m *Member) checkLife(id string) coordinator.Op {
	return coordinator.Op{Path: m.deployment.Life(m.server, id)}
}

func (m *Member) beginLife(ctx context.Context, id string) error {
	return m.store.Create(ctx, []coordinator.NewNode{{Path: m.deployment.Life(m.server, id), Grants: m.ownGrants()}})
}

// mendLife makes the life of a machine that enrolled with an agent which made none yet.
// made says that the incarnation must be read once more: until the node stood, the
// deployment could be destroyed and made anew, and the node be that one's.
func (m *Member) mendLife(ctx context.Context, id string) (made bool, err error) {
	_, exists, err := m.store.Stat(ctx, m.deployment.Life(m.server, id))
	if err != nil || exists {
		return false, err
	}
	return true, m.beginLife(ctx, id)
}

// endLife deletes the life of the machine that this one has replaced, and which can
// write no more. Where that fails a node stays that harms nobody.
func (m *Member) endLife(ctx context.Context, id string) {
	if id != "" {
		_ = m.store.DeleteTree(ctx, m.deployment.Life(m.server, id))
	}
}
