package operate

import (
	"context"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/status"
)

const (
	// swarm is the shortest time between two reads: changes come in bursts.
	swarm = 250 * time.Millisecond
	// clocks is how often a status is shown again where only its clocks have changed.
	clocks = 5 * time.Second
)

// WatchStatus shows a status, and again whenever something has changed, until every server has
// finished; ticking also shows it periodically, for the clocks in it. It returns the last one.
func (o *Operator) WatchStatus(ctx context.Context, v *status.Status, ticking bool, show func(*status.Status) error) (*status.Status, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := o.WatchServers(ctx, v.Plan)
	if err != nil {
		return nil, err
	}
	var tick <-chan time.Time
	if ticking {
		ticker := time.NewTicker(clocks)
		defer ticker.Stop()
		tick = ticker.C
	}
	var seen status.Looks
	for {
		var soon <-chan time.Time
		if seen.See(v, time.Now()) {
			soon = time.After(status.BetweenLooks)
		}
		if err := show(v); err != nil || v.Finished() {
			return v, err
		}
		if err := nextChange(ctx, changes, soon, tick); err != nil {
			return nil, err
		}
		now, err := o.StatusOf(ctx, v.Plan)
		if err == nil && now.Stands != v.Stands { // another plan was applied
			if now, err = o.Status(ctx); err == nil {
				return o.WatchStatus(ctx, now, ticking, show)
			}
		}
		if err != nil {
			return nil, err
		}
		v = now
	}
}

// nextChange waits for a change and the burst around it to pass.
func nextChange(ctx context.Context, changes <-chan coordinator.Path, soon, tick <-chan time.Time) error {
	select {
	case _, open := <-changes:
		if !open {
			return ErrInterrupted
		}
	case <-soon:
		return nil
	case <-tick:
		return nil
	case <-ctx.Done():
		return ErrInterrupted
	}
	quiet := time.NewTimer(swarm)
	defer quiet.Stop()
	for {
		select {
		case _, open := <-changes:
			if !open {
				return ErrInterrupted
			}
		case <-quiet.C:
			return nil
		}
	}
}
