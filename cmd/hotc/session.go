package main

import (
	"context"

	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// session is an operator's session with a deployment's coordinator.
type session struct {
	*operate.Operator
	target *target
}

// look reads how the deployment stands.
func (s *session) look(ctx context.Context) (*status.Status, error) {
	v, err := s.Status(ctx)
	return v, s.explain(ctx, err)
}

// lookForCycles looks a second time where the first look has cycles.
func (s *session) lookForCycles(ctx context.Context, v *status.Status) (*status.Status, error) {
	v, err := s.Settled(ctx, v)
	return v, s.explain(ctx, err)
}
