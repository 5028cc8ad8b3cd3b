package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Heat returns the values that Heat supplies to the server, as a relay wrote them; empty if none
// has. ErrForged; ErrOlder, also if the record that this machine has seen is gone.
func (m *Member) Heat(ctx context.Context) (protocol.HeatValues, error) {
	const what = "the record of Heat's values"
	none := protocol.HeatValues{}
	path := m.deployment.HeatValues(m.server)
	node, err := m.store.Read(ctx, path)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	identity := m.known().identity
	var values protocol.HeatValues
	counter := int64(0)
	if relay := m.relayKey(); len(node.Data) > len("{}") {
		if relay == "" {
			return none, protocol.Forged(what, "a relay", errors.New("no relay of the deployment may sign it"))
		}
		if values, counter, err = protocol.OpenIfAny[protocol.HeatValues](path, node.Data, relay, m.deployment.Place(identity.ID, protocol.KindHeatValues, m.server, "")); err != nil {
			return none, m.explainForged(ctx, err)
		}
		if counter != values.Number {
			return none, protocol.Forged(what, "a relay", errors.New("its two numbers differ"))
		}
	}
	if err := m.notOlder(ctx, protocol.KindHeatValues, counter); err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	return values, nil
}

// FollowHeat calls changed whenever Heat's values may have changed, until ctx ends.
func (m *Member) FollowHeat(ctx context.Context, changed func()) error {
	return m.followPath(ctx, "Heat's values", m.deployment.HeatValues(m.server), changed)
}
