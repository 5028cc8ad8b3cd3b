package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/operate"
	"github.com/hotc-dev/hotc/runtime/up"
)

// cloudDeployment is the deployment of `hotc up` and `down` on its coordinator: it does in one
// session what the separate commands do.
type cloudDeployment struct {
	command string // whose it is
	target  *target
	io      streams
	apply   application
	say     func(string)
	yes     bool // do not ask before roles that have published outputs run again

	session   *session
	lock      *deploy.Lock
	plan      *contract.Plan
	published string // the digest of the plan that this command has published
}

func (d *cloudDeployment) open(ctx context.Context) (*session, error) {
	if d.session == nil {
		s, err := d.target.open(ctx)
		if err != nil {
			return nil, err
		}
		d.session = s
	}
	return d.session, nil
}

func (d *cloudDeployment) close() {
	if d.lock != nil {
		d.lock.Release()
	}
	if d.session != nil {
		d.session.Close()
	}
}

// Hold locks the deployment, or checks that it still is locked for this command.
func (d *cloudDeployment) Hold(ctx context.Context) (held bool, err error) {
	s, err := d.open(ctx)
	if err != nil {
		return false, err
	}
	var other *deploy.HeldError
	if d.lock != nil {
		within, stop := s.Within(ctx)
		defer stop()
		if err = d.lock.Check(within); errors.As(err, &other) {
			return false, fmt.Errorf("%w: %w", up.ErrTakenOver, err)
		}
		return err == nil, s.explain(ctx, err)
	}
	d.lock, err = s.lock(ctx, d.command)
	switch {
	case errors.Is(err, deploy.ErrNotApplied):
		return false, nil
	case err == nil, errors.As(err, &other):
		return err == nil, err
	}
	if d.apply.up {
		if _, _, says := d.Rehearse(ctx); says != nil { // what is wrong with the deployment itself
			return false, says
		}
	}
	return false, s.explain(ctx, err)
}

// Rehearse is `hotc apply --dry-run`.
func (d *cloudDeployment) Rehearse(ctx context.Context) (deploy.Outcome, []deploy.RoleChange, error) {
	d.apply.dryRun = true
	done, err := d.apply.run(ctx, d.io)
	if err != nil {
		return "", nil, err
	}
	if done.published.Outcome != deploy.Unchanged {
		d.published = "" // another command has changed it since: this one starts over
	}
	return done.published.Outcome, done.published.Changes, nil
}

// Publish is `hotc apply`.
func (d *cloudDeployment) Publish(ctx context.Context) error {
	d.apply.dryRun, d.plan, d.apply.lock = false, nil, d.lock
	done, err := d.apply.run(ctx, d.io)
	if err != nil && d.lock != nil {
		if _, lost := d.Hold(ctx); errors.Is(lost, up.ErrTakenOver) {
			return lost
		}
	}
	if err == nil {
		d.published = done.published.Record.Plan
	}
	if err == nil && done.published.Outcome != deploy.Unchanged {
		d.say(fmt.Sprintf("The plan is on the coordinator: %s, %s", source.Counted(done.Servers, "server"), source.Counted(done.Roles, "role")))
	}
	return err
}

// Status is the deployment's status; nil if there is no complete one.
func (d *cloudDeployment) Status(ctx context.Context) (v *status.Status, err error) {
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	if d.plan == nil {
		v, err = s.Status(ctx)
	} else {
		v, err = s.StatusOf(ctx, d.plan)
	}
	if errors.Is(err, deploy.ErrNotApplied) || errors.Is(err, deploy.ErrUnfinished) {
		return nil, nil
	}
	if err != nil {
		d.plan = nil // it may have changed
		return nil, s.explain(ctx, err)
	}
	d.plan = v.Plan
	if d.lock != nil {
		if _, err := d.Hold(ctx); err != nil {
			return nil, err
		}
	}
	if d.published != "" && v.Stands != d.published {
		return nil, up.ErrTakenOver
	}
	return v, nil
}

// Watch sends on every change in the servers' reports.
func (d *cloudDeployment) Watch(ctx context.Context, p *contract.Plan) (<-chan store.Path, error) {
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.WatchServers(ctx, p)
}

// Again is `hotc retry` of every role that has failed by itself.
func (d *cloudDeployment) Again(ctx context.Context, v *status.Status) ([]contract.RoleKey, error) {
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	again, err := (&operate.Retry{Operator: s.Operator, Settle: s.target.settling(d.io, d.yes)}).RunAll(ctx, v, d.say)
	return again, s.explain(ctx, err)
}

// outputs are the stack's outputs as the roles have published them; none if that is unknown.
func (d *cloudDeployment) outputs(ctx context.Context) map[string]operate.Output {
	if d.plan == nil || len(d.plan.Outputs) == 0 {
		return nil
	}
	s, err := d.open(ctx)
	if err != nil {
		return nil
	}
	within, stop := s.Within(ctx)
	defer stop()
	e, all := s.Evaluate(within, d.plan), map[string]operate.Output{}
	if e.Learn() != nil {
		return nil
	}
	for _, o := range d.plan.Outputs {
		if now, err := e.Stack(o); err == nil {
			all[o.Name] = now
		}
	}
	return all
}

// Part runs the delete hooks of roles whose servers Heat deletes.
func (d *cloudDeployment) Part(ctx context.Context, roles []contract.RoleKey) error {
	s, err := d.open(ctx)
	if err != nil {
		return err
	}
	return s.explain(ctx, s.DeleteHooks(ctx, roles, func(text string) { d.say(strings.TrimSuffix(text, ".")) }))
}

func (d *cloudDeployment) Hooks(ctx context.Context, v *status.Status) error {
	s, err := d.open(ctx)
	if err != nil {
		return err
	}
	hint := "--skip-hooks continues without the delete hooks"
	h, err := s.deleteHooks(ctx, v, func(text string) { d.say(strings.TrimSuffix(text, ".")) })
	if h != nil {
		hint = "the server runs its own copy of the hook: fix the hook, update the server with \"hotc up\" or \"hotc apply\", and run the same command again; " + hint
	}
	return source.WithHint(s.explain(ctx, err), hint)
}

// Destroy is `hotc destroy`.
func (d *cloudDeployment) Destroy(ctx context.Context) error {
	s, err := d.open(ctx)
	if err != nil {
		return err
	}
	if err = s.mayDestroy(ctx); err == nil {
		_, err = s.destroy(ctx)
	}
	return s.explain(ctx, err)
}

// noDeployment is for a template without roles, which has nothing on the coordinator.
type noDeployment struct{}

// Hold locks nothing: of two commands, Heat follows the later one.
func (noDeployment) Hold(context.Context) (bool, error) { return false, nil }
func (noDeployment) Rehearse(context.Context) (deploy.Outcome, []deploy.RoleChange, error) {
	return deploy.Unchanged, nil, nil
}
func (noDeployment) Publish(context.Context) error                  { return nil }
func (noDeployment) Status(context.Context) (*status.Status, error) { return &status.Status{}, nil }
func (noDeployment) Watch(context.Context, *contract.Plan) (<-chan store.Path, error) {
	return nil, nil
}
func (noDeployment) Again(context.Context, *status.Status) ([]contract.RoleKey, error) {
	return nil, nil
}
func (noDeployment) Part(context.Context, []contract.RoleKey) error { return nil }
func (noDeployment) Hooks(context.Context, *status.Status) error    { return nil }
func (noDeployment) Destroy(context.Context) error                  { return nil }
