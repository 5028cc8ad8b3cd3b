package main

import (
	"context"
	"time"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// look reads how a deployment stands.
func (s *session) look(ctx context.Context) (*status.Status, error) {
	within, stop := s.within(ctx)
	defer stop()
	p, err := coordinator.ReadPlan(within, s, s.deployment, s.secret)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return s.lookAgain(ctx, p)
}

// lookAgain is look with a plan that was read before.
func (s *session) lookAgain(ctx context.Context, p *plan.Plan) (*status.Status, error) {
	within, stop := s.within(ctx)
	defer stop()
	v, err := status.Look(within, s, s.deployment, s.secret, p, hot.DecidedSize)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return v, nil
}

// lookForCycles looks a second time where the first look has cycles.
func (s *session) lookForCycles(ctx context.Context, v *status.Status) (*status.Status, error) {
	var seen status.Looks
	if !seen.See(v, time.Now()) {
		return v, nil
	}
	select {
	case <-time.After(status.BetweenLooks):
	case <-ctx.Done():
		return nil, interrupted()
	}
	now, err := s.lookAgain(ctx, v.Plan)
	if err == nil {
		seen.See(now, time.Now())
	}
	return now, err
}
