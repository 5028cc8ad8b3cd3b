package up

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// Cloud is the part of Heat's API in use: a *heat.Client.
type Cloud interface {
	Stack(ctx context.Context, name string) (*heat.Stack, error)
	StackAt(ctx context.Context, name, id string) (*heat.Stack, error)
	Create(ctx context.Context, name string, t *heat.Template, o heat.StackOptions) (id string, err error)
	Update(ctx context.Context, s *heat.Stack, t *heat.Template, o heat.StackOptions) error
	Preview(ctx context.Context, s *heat.Stack, t *heat.Template, o heat.StackOptions, nested bool) (*heat.Changes, error)
	Definition(ctx context.Context, s *heat.Stack) (json.RawMessage, error)
	Files(ctx context.Context, s *heat.Stack) (map[string]string, error)
	Delete(ctx context.Context, s *heat.Stack) error
	Resources(ctx context.Context, stackName, stackID string, depth int) ([]heat.Resource, error)
	Signals(ctx context.Context, stackName, stackID, handle string) (map[string]string, error)
	Events(ctx context.Context, stackName, stackID, marker string, depth int) ([]heat.Event, error)
	heat.Clearer
}

// Deployment is the deployment on its coordinator.
type Deployment interface {
	// Hold makes this command the only one that changes the deployment and its stack, or finds that
	// it still is: nobody is while there is no deployment to lock. Another one that is, is a
	// *deploy.HeldError; that one which has taken over is an ErrTakenOver, too.
	Hold(ctx context.Context) (held bool, err error)
	// Rehearse says what publishing the plan would do.
	Rehearse(ctx context.Context) (deploy.Outcome, []deploy.RoleChange, error)
	Publish(ctx context.Context) error
	// Status is its status; nil where there is none.
	Status(ctx context.Context) (*status.Status, error)
	// Watch announces every change of what the servers of its plan report.
	Watch(ctx context.Context, p *contract.Plan) (<-chan store.Path, error)
	// Again runs failed roles again, and those that failed because of them.
	Again(ctx context.Context, v *status.Status) ([]contract.RoleKey, error)
	// Part runs the delete hooks of some roles, and fails with the first that does.
	Part(ctx context.Context, roles []contract.RoleKey) error
	// Hooks runs the delete hooks.
	Hooks(ctx context.Context, v *status.Status) error
	// Destroy removes it from the coordinator.
	Destroy(ctx context.Context) error
}

// View is informed of what happens, and asks the operator.
type View interface {
	Say(text string)
	Event(e heat.Event)
	// Known is the status of the roles before anything is done, Roles from then on.
	Known(v *status.Status)
	Roles(v *status.Status)
	// Confirm asks whether to make the changes; an error declines.
	Confirm(c Changes) error
}

// Up is one run of `hotc up`.
type Up struct {
	Cloud      Cloud
	Deployment Deployment
	View       View
	Name       string
	Template   *heat.Template
	Options    heat.StackOptions
	// Plan is what Deployment publishes.
	Plan *contract.Plan
	// Values are those that environments supply for the root's parameters; nil is one that Heat
	// does not receive.
	Values map[string]json.RawMessage
	// Key signs the stack's tags: the deployment's secret.
	Key []byte
	// Relay signals the roles' progress to Heat until its context ends; nil where none is needed.
	Relay func(ctx context.Context) error
	// Renew has the relay give Heat the newest values for the stack's outputs; nil where there is
	// no relay.
	Renew func(ctx context.Context)
	// TakesOver says that the relay ends the waits that an update supersedes.
	TakesOver bool
	// SkipHooks runs no delete hooks, and waits for none.
	SkipHooks bool
	// Look is the time between two polls of Heat.
	Look time.Duration

	held      bool // the deployment is locked for this command
	late      bool // Heat had a stack that was not there a moment before
	tag       string
	outcome   deploy.Outcome
	unhealthy bool // some resource is
	changes   []deploy.RoleChange
	stack     *heat.Stack // nil if there is none
	now       *status.Status
}

// Result is the final status, when nothing more happens.
type Result struct {
	Stack  *heat.Stack
	Status *status.Status
	// Failed are the failed resources with their reasons.
	Failed []Failure
	// Did is what was done, Changes what an update was to change.
	Did     Step
	Changes Changes
}

// OK reports whether everything is as the template declares.
func (r *Result) OK() bool {
	return r.Stack.State.Complete() && r.Stack.State.Action() != "ROLLBACK" && !status.AnyFailed(r.Status.Servers)
}

// tagPrefix begins the tags of stacks requested by `hotc up`.
const tagPrefix = "hotc-"

// Run takes the next step, and follows it to its end.
func (u *Up) Run(ctx context.Context) (*Result, error) {
	digest, err := u.Template.Digest(u.Key, u.Options)
	if err != nil {
		return nil, err
	}
	u.tag = tagPrefix + digest[:24]
	for {
		if u.held, err = u.Deployment.Hold(ctx); err != nil {
			return nil, u.explain(err)
		}
		facts, err := u.look(ctx)
		if err != nil {
			return nil, u.explain(err)
		}
		switch step := Next(facts); step {
		case AwaitEnd:
			u.View.Say("Heat is deleting a stack of this name: waiting until it is gone")
			if err := u.awaitEnd(ctx); err != nil {
				return nil, err
			}
		case Refuse:
			return nil, refusal(u.stack)
		default:
			r, err := u.do(ctx, step)
			if errors.Is(err, errStartOver) {
				continue
			}
			return r, u.explain(err)
		}
	}
}

// explain says who else changes the stack.
func (u *Up) explain(err error) error {
	held, locked := errors.AsType[*deploy.HeldError](err)
	switch {
	case errors.Is(err, ErrTakenOver):
		failure := source.Fail(source.StackFailed, "another \"hotc up\" has taken over (or \"hotc apply\"): the stack "+u.Name+" now follows that command",
			"what had started runs to completion, nothing else of this change will run; \"hotc status\" shows the progress")
		if locked && held.Command != "" {
			failure.Notes = append(failure.Notes, source.Note{Message: "it is " + terminal.Line(held.Holder.String())})
		}
		return failure
	case locked:
		return Locked(u.Name, held)
	}
	return err
}

// Locked says which command has to end first, and what to do.
func Locked(name string, held *deploy.HeldError) error {
	return source.Fail(source.OperationFailed, "the stack "+name+" is being changed by "+terminal.Line(held.Holder.String()),
		"nothing was changed. Wait until that has ended (\"hotc status --watch\" shows the progress), or take over: the same command with --take-over. If its machine is gone, the stack is free when its session with the coordinator ends, within half a minute")
}

func refusal(s *heat.Stack) error {
	if s.State.Action() == "DELETE" {
		return source.Fail(source.StackFailed, "Heat could not delete the stack "+s.Name+": "+s.Reason, "retry with \"hotc down\"; then it can be created again")
	}
	return source.Fail(source.StackFailed, "the stack "+s.Name+" is suspended", "run \"openstack stack resume "+s.Name+"\" first")
}

// look finds the facts.
func (u *Up) look(ctx context.Context) (Facts, error) {
	var err error
	if u.stack, err = u.Cloud.Stack(ctx, u.Name); err != nil && !errors.Is(err, heat.ErrNotFound) {
		return Facts{}, err
	}
	if u.outcome, u.changes, err = u.Deployment.Rehearse(ctx); err != nil {
		return Facts{}, err
	}
	if u.now, err = u.Deployment.Status(ctx); err != nil {
		return Facts{}, err
	}
	f := Facts{Publish: u.outcome}
	if u.outcome == deploy.Unchanged && len(u.changes) > 0 { // an operator changes roles' values
		f.Publish = deploy.Updated
	}
	if u.stack != nil {
		if u.unhealthy, err = u.hasUnhealthy(ctx); err != nil {
			return Facts{}, err
		}
		f.Stack, f.Asked = u.stack.State, u.asked()
	}
	if u.now != nil {
		f.Failed = status.AnyFailed(u.now.Servers)
		u.View.Known(u.now)
	}
	return f, nil
}

// hasUnhealthy reports whether a resource of a complete stack was found, or marked, unhealthy:
// submitting the same template again lets Heat replace it (heat/engine/resource.py,
// Resource._needs_update).
func (u *Up) hasUnhealthy(ctx context.Context) (bool, error) {
	if !u.stack.State.Complete() {
		return false, nil
	}
	all, err := u.Cloud.Resources(ctx, u.stack.Name, u.stack.ID, heat.MaxDepth)
	return slices.ContainsFunc(all, func(r heat.Resource) bool { return r.State == "CHECK_FAILED" }), err
}

// asked reports whether Heat was last asked for this very template with these parameters, and has
// nothing to fix. The tag outlives a plain update of some parameters.
func (u *Up) asked() bool {
	if u.unhealthy || !slices.Contains(u.stack.Tags, u.tag) {
		return false
	}
	others, _, _, err := u.supplied()
	return err == nil && len(others) == 0
}

// do takes a step and follows it to its end.
func (u *Up) do(ctx context.Context, step Step) (*Result, error) {
	f := &following{cloud: u.Cloud, deployment: u.Deployment, view: u.View, look: u.Look, name: u.Name, overs: overs{given: u.othersGave}}
	f.mayGo = func(e heat.Event) (string, bool) { return u.mayGo(f.now, e) }
	if u.stack != nil {
		if err := f.skip(ctx, u.stack); err != nil {
			return nil, err
		}
	}
	if step == Mend || step == Update {
		if err := u.keep(ctx); err != nil {
			return nil, err
		}
	}
	var changes Changes
	if step == Update {
		var err error
		if changes, err = u.foresee(ctx); err != nil {
			return nil, err
		}
		if err := u.refuseBare(changes.Bare); err != nil {
			return nil, err
		}
		if err := u.View.Confirm(changes); err != nil {
			return nil, err
		}
	}
	if len(changes.First) > 0 {
		if err := u.Deployment.Part(ctx, changes.First); err != nil {
			return nil, err
		}
	}
	if err := u.Deployment.Publish(ctx); err != nil {
		return nil, err
	}
	if !u.held {
		if err := u.holdNew(ctx); err != nil {
			return nil, err
		}
	}
	defer u.relay(ctx)()
	if step == Mend || step == Update {
		if err := u.again(ctx, f); err != nil {
			return nil, err
		}
	}
	if u.now != nil && !u.TakesOver {
		f.rebuilds(changes, u.now)
	}
	u.Options.Tags = u.tags()
	switch {
	case step == Create:
		u.View.Say("Heat creates the stack " + u.Name)
		id, err := u.create(ctx)
		if refused, is := errors.AsType[*heat.Error](err); is && refused.Status/100 == 4 && !errors.Is(err, heat.ErrExists) && u.outcome == deploy.Created {
			u.View.Say("There is no stack: its new deployment is removed again")
			if err := u.Deployment.Destroy(ctx); err != nil {
				u.View.Say("the deployment stays on the coordinator: " + err.Error())
			}
		}
		if err != nil {
			return nil, err
		}
		f.id = id
	case step == Mend, step == Update && changes.Heat:
		if err := u.update(ctx, f); err != nil {
			return nil, err
		}
	default:
		f.id = u.stack.ID
		switch {
		case u.stack.State.InProgress():
			u.View.Say("Heat is already working on it (" + string(u.stack.State) + ")")
		case step == Follow && u.outcome == deploy.Unchanged:
			u.View.Say("Nothing to change: the stack is " + string(u.stack.State))
		}
	}
	f.tag = u.tag // from here on: what Heat did before does not matter
	r, err := f.toTheEnd(ctx)
	for n := 0; n < mostAgain; n++ {
		if err == nil && f.ours && r.Stack.CancelledWithin() {
			u.View.Say("Heat has cancelled a nested stack's update by itself, as it may when one update overtakes another: submitting the template again")
		} else if held, lost := u.heldThough(ctx, err); held {
			u.View.Say("A command that no longer holds the stack has changed it: submitting the template again")
		} else {
			err = cmp.Or(lost, err)
			break
		}
		if u.stack, err = u.Cloud.StackAt(ctx, u.Name, f.id); err == nil {
			err = u.update(ctx, f)
		}
		if err != nil {
			return nil, err
		}
		r, err = f.toTheEnd(ctx)
	}
	if err == nil {
		err = cancelledBy(u.Name, r.Stack)
	}
	if r != nil {
		r.Did, r.Changes = step, changes
	}
	if err == nil && u.Renew != nil && r.OK() {
		within, stop := context.WithTimeout(ctx, mostUnheard*u.Look)
		defer stop()
		u.Renew(within)
	}
	return r, err
}

// errStartOver says that the facts have changed before this command was the only one.
var errStartOver = errors.New("start over")

// holdNew locks a deployment that did not exist before. Another command may have come in between.
func (u *Up) holdNew(ctx context.Context) (err error) {
	if u.held, err = u.Deployment.Hold(ctx); err != nil || !u.held {
		return err
	}
	if outcome, _, err := u.Deployment.Rehearse(ctx); err != nil || outcome != deploy.Unchanged {
		return cmp.Or(err, errStartOver)
	}
	return nil
}

// heldThough reports whether this command still is the only one that may change the stack, though
// Heat was asked for another template: the request of a command which has lost it may have come late.
func (u *Up) heldThough(ctx context.Context, err error) (held bool, lost error) {
	if !errors.Is(err, errOtherTag) {
		return false, nil
	}
	return u.Deployment.Hold(ctx)
}

// othersGave are the parameters whose values in a stack differ from this run's.
func (u *Up) othersGave(s *heat.Stack) []string {
	is := *u
	is.stack = s
	others, _, _, _ := is.supplied()
	return others
}

// relay relays until the returned function is called.
func (u *Up) relay(ctx context.Context) (end func()) {
	if u.Relay == nil {
		return func() {}
	}
	return store.Beside(ctx, func(ctx context.Context) {
		if err := u.Relay(ctx); err != nil && ctx.Err() == nil {
			u.View.Say("nothing reports to Heat how the roles end: " + err.Error())
		}
	})
}

// tags are the stack's own and ours.
func (u *Up) tags() []string {
	var tags []string
	if u.stack != nil {
		for _, tag := range u.stack.Tags {
			if !strings.HasPrefix(tag, tagPrefix) {
				tags = append(tags, tag)
			}
		}
	}
	return append(append(tags, u.tag), u.fingerprints()...)
}

// create requests the stack. A request whose answer was lost may have arrived: the stack's tag
// tells.
func (u *Up) create(ctx context.Context) (id string, err error) {
	if _, err := u.Deployment.Hold(ctx); err != nil {
		return "", err
	}
	id, err = u.Cloud.Create(ctx, u.Name, u.Template, u.Options)
	if !errors.Is(err, heat.ErrUnreachable) && !errors.Is(err, heat.ErrExists) {
		return id, err
	}
	s, missing := u.Cloud.Stack(ctx, u.Name)
	if missing == nil && !slices.Contains(s.Tags, u.tag) && u.held && !u.late {
		u.late = true // a command that has lost the stack to this one had asked for it before
		return "", errStartOver
	}
	if missing != nil || !slices.Contains(s.Tags, u.tag) {
		return "", err
	}
	return s.ID, nil
}

// update submits the template to Heat. Each of Heat's waits that it supersedes needs a signal of
// its own: a relay sends it; where agents signal Heat, Heat has to finish first.
func (u *Up) update(ctx context.Context, f *following) error {
	f.id = u.stack.ID
	switch {
	case u.stack.State.InProgress() && u.TakesOver:
		u.View.Say("Heat is busy with another operation (" + string(u.stack.State) + "): this update takes over")
	case u.stack.State.InProgress():
		u.View.Say("Heat is busy with another operation (" + string(u.stack.State) + "): this update follows")
		if _, err := f.stackEnds(ctx); err != nil {
			return err
		}
	}
	if err := u.heard(ctx); err != nil {
		return err
	}
	if _, err := u.Deployment.Hold(ctx); err != nil {
		return err
	}
	u.View.Say("Heat updates the stack " + u.Name)
	f.awaited, f.updated, f.settling = true, time.Time{}, 0
	return u.Cloud.Update(ctx, u.stack, u.Template, u.Options)
}

// again runs the roles again that had failed before the plan was published, and waits for their
// end: Heat, once it knows of a failure, considers nothing else.
func (u *Up) again(ctx context.Context, f *following) error {
	if u.now == nil || !status.AnyFailed(u.now.Servers) {
		return nil
	}
	roles, err := u.Deployment.Again(ctx, u.now)
	if err != nil || len(roles) == 0 {
		return err
	}
	u.View.Say("These roles run again: " + lists.Join(roles))
	return f.rolesEnd(ctx, roles)
}

// awaitEnd waits until Heat has deleted the stack.
func (u *Up) awaitEnd(ctx context.Context) error {
	for {
		s, err := u.Cloud.StackAt(ctx, u.stack.Name, u.stack.ID)
		switch {
		case errors.Is(err, heat.ErrNotFound):
			return nil
		case err != nil && !errors.Is(err, heat.ErrUnreachable):
			return err
		case err == nil && !s.State.InProgress():
			return nil
		}
		if err := store.Pause(ctx, u.Look); err != nil {
			return err
		}
	}
}
