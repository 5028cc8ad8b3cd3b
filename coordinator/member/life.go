package member

import (
	"context"
	"errors"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A machine's life is a node named by its random id, which it creates before it becomes the server.
// Every write checks it: it distinguishes the deployment in which the machine enrolled from a later
// one of the same name (docs/coordination.md, "Incarnations"). Its version distinguishes the machine's
// agent from the ones before: what an agent that was killed has sent may arrive later.

func (m *Member) checkLife(f fence) store.Op {
	return store.Op{Path: m.deployment.Life(m.server, f.record.ID), Version: f.turn}
}

// takeTurn makes this agent the machine's: no write of an agent before it counts from now on. The
// journal's lock excludes another one that lives. ErrVersion: the life is gone, since another machine has
// replaced this one, or the deployment was destroyed; the server's record says which.
func (m *Member) takeTurn(ctx context.Context, id string) (store.Version, error) {
	path := m.deployment.Life(m.server, id)
	for {
		version, exists, err := m.store.Stat(ctx, path)
		if err == nil && !exists {
			err = store.ErrVersion
		}
		if err != nil {
			return 0, err
		}
		err = m.store.Commit(ctx, store.Op{Path: path, Version: version, Write: true})
		if err == nil {
			return version + 1, nil
		}
		if errors.Is(err, store.ErrRefused) && m.member.Load() != nil { // a life that an agent of an older release made
			return version, nil
		}
		if errors.Is(err, store.ErrNotFound) {
			return 0, store.ErrVersion
		}
		if !errors.Is(err, store.ErrVersion) { // or the answer was lost
			return 0, err
		}
	}
}

func (m *Member) beginLife(ctx context.Context, id string) error {
	path := m.deployment.Life(m.server, id)
	err := m.store.Create(ctx, []store.NewNode{{Path: path, Grants: m.ownGrants(store.MayRead | store.MayWrite)}})
	if errors.Is(err, store.ErrRights) { // an agent of an older release made it
		err = m.store.Create(ctx, []store.NewNode{{Path: path, Grants: m.ownGrants(store.MayRead)}})
	}
	return err
}

// checkIdentity returns ErrAnew unless the life that the machine has begun is in the deployment that
// it has joined, and that is whole: what it signs for another one counts as forged, and an apply that
// is not finished, and was restored from a snapshot, finds its nodes written. If the deployment is
// destroyed after this, the life is gone.
func (m *Member) checkIdentity(ctx context.Context, id string) error {
	now, err := m.newestIdentity(ctx)
	ready := false
	if err == nil && now.ID == m.known().identity.ID {
		if _, ready, err = m.store.Stat(ctx, m.deployment.Ready()); ready {
			return nil
		}
	}
	if format := (*protocol.FormatError)(nil); err == nil || errors.Is(err, ErrNotInPlan) || errors.As(err, &format) {
		err = ErrAnew
	}
	m.endLife(ctx, id)
	return err
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
