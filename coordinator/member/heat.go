package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/coordinator"
)

// Heat is what a relay has written of what Heat gives the server. Nothing is known of it
// where no relay has written yet. ErrForged, ErrOlder: also where nothing stands in the place
// of what this machine has seen.
func (m *Member) Heat(ctx context.Context) (coordinator.HeatValues, error) {
	const what = "what Heat gives"
	none := coordinator.HeatValues{}
	path := m.deployment.HeatValues(m.server)
	node, err := m.store.Read(ctx, path)
	if err != nil && !errors.Is(err, coordinator.ErrNotFound) {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	identity := m.known().identity
	var values coordinator.HeatValues
	counter := int64(0)
	if relay := m.relayKey(); len(node.Data) > len("{}") {
		if relay == "" {
			return none, coordinator.Forged(what, "a relay", errors.New("the deployment has none that may say it"))
		}
		if values, counter, err = coordinator.OpenIfAny[coordinator.HeatValues](path, node.Data, relay, m.deployment.Place(identity.ID, coordinator.KindHeatValues, m.server, "")); err != nil {
			return none, m.judge(ctx, err)
		}
		if counter != values.Number {
			return none, coordinator.Forged(what, "a relay", errors.New("it has two numbers"))
		}
	}
	if err := m.notOlder(coordinator.KindHeatValues, counter); err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	return values, nil
}

// FollowHeat calls changed whenever Heat may say something else, until ctx ends.
func (m *Member) FollowHeat(ctx context.Context, changed func()) error {
	return m.followPath(ctx, "what Heat gives", m.deployment.HeatValues(m.server), changed)
}
