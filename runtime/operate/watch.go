package operate

import (
	"context"
	"time"

	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
)

const (
	// swarm is the shortest time between two reads: changes come in bursts.
	swarm = 250 * time.Millisecond
	// clocks is how often a status is shown again where only its clocks have changed.
	clocks = 5 * time.Second
)

// WatchStatus shows a status, and again whenever something has changed, until every server has
// finished and Heat, which ask queries, is not known to be at work; ticking also shows it
// periodically, for the clocks in it. It returns the last one.
func (o *Operator) WatchStatus(ctx context.Context, v *status.Status, ticking bool, ask func(context.Context) status.Stack, show func(*status.Status) error) (*status.Status, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := o.WatchServers(ctx, v.Plan)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(clocks)
	defer ticker.Stop()
	var seen status.Looks
	var said status.Stack
	for ticked := false; ; {
		if v.Stack = ask(ctx); ctx.Err() != nil {
			return nil, ErrInterrupted
		}
		var soon, tick <-chan time.Time
		if seen.See(v, time.Now()) {
			soon = time.After(status.BetweenLooks)
		}
		if !ticked || ticking || v.Stack != said {
			if err := show(v); err != nil {
				return v, err
			}
		}
		if said = v.Stack; v.Finished() {
			return v, nil
		}
		if ticking || v.Stack.InProgress() {
			tick = ticker.C
		}
		if ticked, err = nextChange(ctx, changes, soon, tick); err != nil {
			return nil, err
		}
		now, err := o.StatusOf(ctx, v.Plan)
		if err == nil && now.Stands != v.Stands { // another plan was applied
			if now, err = o.Status(ctx); err == nil {
				return o.WatchStatus(ctx, now, ticking, ask, show)
			}
		}
		if err != nil {
			return nil, err
		}
		v = now
	}
}

// nextChange waits for a change and the burst around it to pass; ticked says that only time has passed.
func nextChange(ctx context.Context, changes <-chan store.Path, soon, tick <-chan time.Time) (ticked bool, err error) {
	select {
	case _, open := <-changes:
		if !open {
			return false, ErrInterrupted
		}
	case <-soon:
		return false, nil
	case <-tick:
		return true, nil
	case <-ctx.Done():
		return false, ErrInterrupted
	}
	quiet := time.NewTimer(swarm)
	defer quiet.Stop()
	for {
		select {
		case _, open := <-changes:
			if !open {
				return false, ErrInterrupted
			}
		case <-quiet.C:
			return false, nil
		}
	}
}
