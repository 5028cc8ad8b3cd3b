// Package relay stands between Heat and a deployment (docs/relay.md): it sees what Heat waits
// for, in the software deployments of the emitted stack, and how the roles stand, in the
// coordinator, and ends Heat's waits accordingly.
//
// It keeps nothing that is not in one of the two: it may be killed and started elsewhere at
// any moment, and several do no harm, since each looks before it says anything, and what
// they say is the same. Each wait is ended by its id, so that what is said never reaches
// another than the one that was decided about, and Heat's answer tells whether that was
// changed meanwhile.
package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// Heat is what a relay asks of it.
type Heat interface {
	Stack(ctx context.Context, name string) (*heat.Stack, error)
	Deployments(ctx context.Context, server string) ([]heat.Deployment, error)
	EndDeployment(ctx context.Context, id string, end heat.DeploymentEnd) (*heat.Deployment, error)
	Definition(ctx context.Context, s *heat.Stack) (json.RawMessage, error)
	Resources(ctx context.Context, stackName, stackID string, depth int) ([]heat.Resource, error)
	Signals(ctx context.Context, stackName, stackID, handle string) (map[string]string, error)
	Signal(ctx context.Context, stackName, stackID, resource string, data any) error
	Events(ctx context.Context, stackName, stackID, marker string, depth int) ([]heat.Event, error)
	heat.Clearer
}

// Relay is one relay of one deployment.
type Relay struct {
	Heat  Heat
	Store coordinator.Store // opened as the key's identity
	Key   coordinator.RelayKey
	// Name tells the relays of a deployment apart.
	Name     string
	Presence coordinator.RelayPresence
	// Every is the time between looks at Heat; none asks it for more than Deployments, and now
	// and then for the stack, or for events.
	Every time.Duration
	// Away is how long an agent whose delete hooks are to run may do nothing; DefaultAway if 0.
	Away time.Duration
	// Say is told what a person wants to know, Told what Heat says, whenever that changes. Nil
	// is nobody.
	Say  func(string)
	Told func(coordinator.HeatRecord)
	// Going is told of servers that Heat takes away, beside Say. Nil is nobody.
	Going func(string)
	// Once ends Run when the stack is neither being created nor updated, and nothing waits.
	Once bool

	stack   *heat.Stack
	gone    bool      // it was there, and is not any more
	looked  time.Time // at the stack
	doubted time.Time // whether Heat still has what it waits for
	// answered is when machines were told last whether Heat has them.
	answered time.Time
	served   bool // Heat has answered as it should
	known    bool // and the last time all that it said was carried
	record   coordinator.HeatRecord
	told     coordinator.HeatRecord // what was written down last
	toldAt   time.Time
	anew     bool              // Heat was told of something since
	settles  int               // looks at a stack that was cancelled
	said     map[string]string // why something is not done, by what it is
	carried  carried           // to the servers
	waiting  map[string]bool   // the waits of which it was said that Heat waits
	// members are what was said last of the groups that roles follow, left who is gone by that.
	members map[string]*relay.Members
	left    map[string]map[contract.ServerPath]int
	// came is when machines came that Heat does not have, or not yet.
	came   map[contract.ServerPath]came
	helped helped
	going  going
}

// lookAtStack is how often the stack is asked for where only its id matters: one of the same
// name may have taken its place.
const lookAtStack = 20 * time.Second

var (
	// ErrFailed says that the stack has failed.
	ErrFailed = errors.New("the stack has failed")
	// ErrGone says that it was there, and is not any more.
	ErrGone = errors.New("the stack is gone: somebody has deleted it")
)

// Run relays until the context ends; with Once until all is settled. ErrFailed, ErrGone,
// relay.ErrWrongKey, coordinator.ErrForged, *coordinator.FormatError.
func (r *Relay) Run(ctx context.Context) error {
	if r.Say == nil {
		r.Say = func(string) {}
	}
	r.Away = cmp.Or(r.Away, DefaultAway)
	r.said = map[string]string{}
	missing := "the deployment is not there yet"
	for {
		session, err := relay.Join(ctx, r.Store, r.Key)
		if err == nil {
			missing = "the deployment is gone"
			err = r.with(ctx, session)
		}
		switch {
		case errors.Is(err, errSettled):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, relay.ErrChanged):
			continue
		case errors.Is(err, relay.ErrNotApplied):
			r.why("deployment", missing)
		default:
			return err
		}
		if err := coordinator.Pause(ctx, 2*r.Every); err != nil {
			return err
		}
	}
}

var errSettled = errors.New("all is settled")

// with relays as long as the plan stays what it is.
func (r *Relay) with(ctx context.Context, s *relay.Session) error {
	ctx, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop(nil)
	mistake.GoIn(&watching, func() {
		if err := s.Watch(ctx); err != nil {
			stop(err)
		}
	})
	if err := s.Announce(ctx, r.Name, r.Presence); err != nil {
		return err
	}
	r.members, r.left, r.came = map[string]*relay.Members{}, map[string]map[contract.ServerPath]int{}, map[contract.ServerPath]came{}
	values, err := s.Values(ctx)
	if err != nil {
		return err
	}
	r.carried = carried{Values: values}
	var seen []wait
	refused := false
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.Changed():
			if refused || !r.decided(seen, s) {
				r.tell(ctx, s, seen)
				continue // nothing to say to Heat
			}
			r.endKnown(ctx, s, seen)
		case <-next.C:
		}
		var err error
		seen, err = r.round(ctx, s)
		if r.settled(seen, err) {
			return r.outcome()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.Once && r.gone {
			return ErrGone
		}
		refused = errors.Is(err, heat.ErrForbidden)
		if refused && (r.Once || !r.served) {
			return err
		}
		r.served = r.served || err == nil
		next.Reset(r.Every)
		if refused {
			next.Reset(refusedRest * r.Every)
		}
	}
}

// refusedRest is how much longer a relay rests that Heat or Keystone refuses: credentials that
// were good may be again, when a role was given back or Keystone knows its keys; and who asks
// on and on with a wrong password is locked out.
const refusedRest = 30

// decided says whether one of Heat's waits is to be ended, as things stand.
func (r *Relay) decided(seen []wait, s *relay.Session) bool {
	servers := r.servers(s)
	for _, w := range seen {
		if w.inProgress() && w.decide(s.Plan, servers, &r.carried).state != coordinator.HeatWaits {
			return true
		}
	}
	return false
}

// round looks at Heat, ends the waits that are to be ended, and says how it stands.
func (r *Relay) round(ctx context.Context, s *relay.Session) ([]wait, error) {
	var seen []wait
	r.known = false
	before := s.Servers()
	told, err := error(nil), r.recallMembers(ctx, s)
	if err == nil {
		seen, err = r.look(ctx, s.Plan.Signal == contract.AgentsSignal)
	}
	if err == nil {
		err = r.answerNext(ctx, s, before, seen)
	}
	if err == nil {
		err = r.attendHooks(ctx, s)
	}
	if err == nil {
		told = r.carry(ctx, s, seen)
		err = r.tellMembers(ctx, s, seen)
		seen = slices.DeleteFunc(seen, func(w wait) bool { return w.About.Here })
	}
	if err == nil && told == nil {
		if err = r.doubt(ctx, s, seen); err == nil {
			err = r.end(ctx, s, seen, coordinator.HeatDone, coordinator.HeatFailed)
		}
		if err == nil {
			if err = r.help(ctx, s); s.Plan.Signal != contract.AgentsSignal {
				err = nil // a relay's credentials need not be good for handles
			}
		}
		r.known = err == nil
	}
	if told != nil && !errors.Is(told, relay.ErrStale) && !ended(ctx, s, told) { // what was stale is looked at again
		r.why("values", told.Error())
	}
	r.record.Trouble = ""
	if err != nil && !ended(ctx, s, err) {
		r.record.Trouble = trouble(err)
		r.why("Heat", "Heat: "+r.record.Trouble)
	}
	r.tell(ctx, s, seen)
	return seen, err
}

// ended says that an error is only the relay's end, or the deployment's, of which Run says something.
func ended(ctx context.Context, s *relay.Session, err error) bool {
	return s.Ended(ctx, err) || ctx.Err() != nil
}

func trouble(err error) string {
	if d, is := source.AsDiagnostic(err); is {
		return d.Message
	}
	return err.Error()
}

// look asks Heat what it waits for; state says that the stack's counts.
func (r *Relay) look(ctx context.Context, state bool) ([]wait, error) {
	name := string(r.Key.Deployment)
	if r.stack == nil || r.Once || state || time.Since(r.looked) > lookAtStack {
		stack, err := r.Heat.Stack(ctx, name)
		if errors.Is(err, heat.ErrNotFound) {
			r.gone = r.stack != nil || r.gone
			r.stack, r.record.Stack = nil, ""
			when := " yet"
			if r.gone {
				when = " any more"
			}
			r.why("stack", "there is no stack "+name+" in the project"+when)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		r.stack, r.record.Stack, r.looked = stack, stack.ID, time.Now()
	}
	all, err := r.Heat.Deployments(ctx, r.stack.ID)
	if err != nil {
		return nil, err
	}
	return waitsOf(name, all), nil
}

// endKnown ends what is to end well as Heat was seen last, which spares Heat's answer the time
// of another look. A wait says the same as long as it is in progress: Heat comes to what an
// update wants of it when it has ended. So only another relay could have made it a newer one.
// What fails is looked at before: the wait may be superseded.
func (r *Relay) endKnown(ctx context.Context, s *relay.Session, seen []wait) {
	if !r.known {
		return
	}
	if alone, err := s.Alone(ctx); err == nil && alone {
		_ = r.end(ctx, s, seen, coordinator.HeatDone) // the look that follows meets the same error
	}
}

// end ends the waits that are to be ended in one of the states.
func (r *Relay) end(ctx context.Context, s *relay.Session, seen []wait, in ...coordinator.HeatWaitState) error {
	servers := r.servers(s)
	for i := range seen {
		w := &seen[i]
		if !w.inProgress() {
			continue
		}
		v := w.decide(s.Plan, servers, &r.carried)
		if !slices.Contains(in, v.state) {
			continue
		}
		end, _, err := r.answer(ctx, s, v)
		if err != nil {
			return err
		}
		if end.Status == string(coordinator.HeatWaits) {
			w.lacks = end.Reason
			continue
		}
		now, err := r.Heat.EndDeployment(ctx, w.ID, end)
		if errors.Is(err, heat.ErrNotFound) {
			continue // its stack was deleted
		}
		if err != nil {
			return err
		}
		if now.Config != w.Config { // it waits for something else by now
			again := heat.DeploymentEnd{Status: string(coordinator.HeatWaits), Reason: "it waits for what has changed"}
			if _, err := r.Heat.EndDeployment(ctx, w.ID, again); err != nil {
				return err
			}
			continue
		}
		w.Status, w.Reason = end.Status, end.Reason
		r.anew = true
		r.Say(fmt.Sprintf("Heat was told of %s: %s: %s", w.place(), end.Status, end.Reason))
	}
	return nil
}

// answer is what Heat is told, and the values that it reads, by server.
func (r *Relay) answer(ctx context.Context, s *relay.Session, v verdict) (end heat.DeploymentEnd, data map[string]map[string]json.RawMessage, err error) {
	failed := func(reason string) heat.DeploymentEnd {
		return heat.DeploymentEnd{Status: string(coordinator.HeatFailed), Reason: reason}
	}
	end, data = heat.DeploymentEnd{Status: string(v.state), Reason: v.reason}, map[string]map[string]json.RawMessage{}
	size := 0
	for _, x := range v.values {
		text, err := s.Value(ctx, x.cell)
		if err != nil {
			if ended(ctx, s, err) {
				return end, nil, err
			}
			if errors.Is(err, relay.ErrNotWritten) { // an output that is new, which the hook update writes
				return heat.DeploymentEnd{Status: string(coordinator.HeatWaits), Reason: string(x.cell.Cell) + " " + err.Error()}, nil, nil
			}
			return failed(signal.ShortReason(err.Error())), nil, nil
		}
		if data[x.server] == nil {
			data[x.server] = map[string]json.RawMessage{}
		}
		data[x.server][x.name] = text
		size += len(text) + len(x.server) + len(x.name) + 16
	}
	if size > signal.MaxBody-4096 {
		return failed(fmt.Sprintf("all roles are done, but the values for the stack have %d bytes; Heat takes %d", size, signal.MaxBody)), nil, nil
	}
	if len(data) > 0 {
		end.Outputs = map[string]any{"data": data}
	}
	return end, data, nil
}

// place names a wait: its resource, with the path of its stack.
func (w wait) place() string {
	if w.About.Stack == "" {
		return w.About.Wait
	}
	return w.About.Stack + "/" + w.About.Wait
}

// settled says that nothing more is to be waited for.
func (r *Relay) settled(seen []wait, err error) bool {
	if !r.Once || err != nil || r.stack == nil || r.stack.State.InProgress() {
		return false
	}
	for _, w := range seen {
		if w.inProgress() {
			return false
		}
	}
	if r.stack.Cancelled() || r.stack.CancelledWithin() {
		r.settles++
		return r.settles > heat.Settled
	}
	return true
}

func (r *Relay) outcome() error {
	if r.stack.State.Failed() {
		return fmt.Errorf("%w: %s: %s", ErrFailed, r.stack.State, r.stack.Reason)
	}
	return errSettled
}
