// Package operate is what an operator does with a live deployment: read its status, send requests
// to its agents and wait for their answers, run hooks in the order of who reads from whom. It
// prints nothing; errors are the coordinator's and those of this package.
package operate

import (
	"context"
	"errors"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Operator is an operator's session with a deployment's coordinator.
type Operator struct {
	store.Session
	Deployment protocol.Deployment
	Secret     protocol.Secret
	Timeout    time.Duration // of one exchange with the coordinator
	Size       status.Size
	// Away is how long an agent whose hook is to run may be away before it counts as gone.
	Away time.Duration
	// Command is a hotc command for the same deployment, for hints.
	Command func(words ...string) string
}

// ErrInterrupted is a wait that was interrupted from outside.
var ErrInterrupted = errors.New("interrupted")

// Within bounds one exchange with the coordinator.
func (o *Operator) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, o.Timeout)
}

// Long bounds creating or deleting many nodes, which takes longer than one exchange.
func (o *Operator) Long(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 20*o.Timeout)
}

// Status reads the deployment's status.
func (o *Operator) Status(ctx context.Context) (*status.Status, error) {
	within, stop := o.Within(ctx)
	defer stop()
	p, err := deploy.ReadPlan(within, o, o.Deployment, o.Secret)
	if err != nil {
		return nil, err
	}
	return o.StatusOf(ctx, p)
}

// StatusOf is Status with a plan read earlier.
func (o *Operator) StatusOf(ctx context.Context, p *contract.Plan) (*status.Status, error) {
	within, stop := o.Within(ctx)
	defer stop()
	return status.Look(within, o.Session, o.Deployment, o.Secret, p, o.Size)
}

// WatchServers announces every change of what the servers of a plan report, of their agents'
// presence, of what relays say of groups' members, and of the plan.
func (o *Operator) WatchServers(ctx context.Context, p *contract.Plan) (<-chan store.Path, error) {
	paths := []store.Path{o.Deployment.Root()}
	for group := range p.Groups() {
		paths = append(paths, o.Deployment.Members(group))
	}
	for _, s := range p.Servers {
		paths = append(paths, o.Deployment.Server(s.Path), o.Deployment.State(s.Path), o.Deployment.Presence(s.Path), o.Deployment.Answers(s.Path))
	}
	return store.WatchAll(ctx, o.Session, paths...)
}

// Removed are the servers that were removed from the deployment.
func (o *Operator) Removed(ctx context.Context, p *contract.Plan) ([]deploy.Removed, error) {
	return reading(ctx, o, p, func(ctx context.Context, r *deploy.Reader) ([]deploy.Removed, error) { return r.Removed(ctx, p) })
}
