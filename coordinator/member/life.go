package member

import (
	"context"

	"github.com/hotc-dev/hotc/coordinator"
)

// A machine's life is a node named by its random id, which it creates before it becomes the server.
// Every write checks it: it distinguishes the deployment in which the machine enrolled from a later
// one of the same name (docs/coordination.md, "Incarnations").

func (m *Member) checkLife(id string) coordinator.Op {
	return coordinator.Op{Path: m.deployment.Life(m.server, id)}
}

func (m *Member) beginLife(ctx context.Context, id string) error {
	return m.store.Create(ctx, []coordinator.NewNode{{Path: m.deployment.Life(m.server, id), Grants: m.ownGrants()}})
}

// mendLife creates the life of a machine that enrolled with an old agent, which did not. made says
// that the incarnation must be read again: before the node existed, the deployment could have been
// destroyed and applied again, and the node belong to the new one.
func (m *Member) mendLife(ctx context.Context, id string) (made bool, err error) {
	_, exists, err := m.store.Stat(ctx, m.deployment.Life(m.server, id))
	if err != nil || exists {
		return false, err
	}
	return true, m.beginLife(ctx, id)
}

// endLife deletes the life of the machine that this one has replaced, which can no longer write. If
// that fails, the leftover node is harmless.
func (m *Member) endLife(ctx context.Context, id string) {
	if id != "" {
		_ = m.store.DeleteTree(ctx, m.deployment.Life(m.server, id))
	}
}
