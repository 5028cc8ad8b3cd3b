// Package relay connects Heat and a deployment (docs/relay.md): it reads what Heat waits for, from
// the software deployments of the emitted stack, and the status of the roles, from the coordinator,
// and ends Heat's waits accordingly.
//
// It has no state of its own: it may be killed and started elsewhere at any moment, and several do
// no harm, since each reads before it writes, and all write the same. Each wait is ended by its id,
// so an answer never reaches another wait, and Heat's reply tells whether the wait has changed
// meanwhile.
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
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// Heat is what a relay needs of Heat's API.
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
	Store store.Session // opened as the key's identity
	Key   protocol.RelayKey
	// Name tells the relays of a deployment apart.
	Name     string
	Presence protocol.RelayPresence
	// Every is the time between rounds; each queries only Deployments, and now and then the stack,
	// or events.
	Every time.Duration
	// Away is how long an agent whose delete hooks have to run may do nothing; DefaultAway if 0.
	Away time.Duration
	// Say gets log messages, Told what Heat says, whenever that changes. Both may be nil.
	Say  func(string)
	Told func(protocol.HeatRecord)
	// Going also gets the messages about servers that Heat deletes. It may be nil.
	Going func(string)
	// Ask asks for a round at once; what it sends is closed after the round. It may be nil.
	Ask <-chan chan struct{}
	// Once ends Run when the stack is neither being created nor updated, and nothing waits.
	Once bool

	stack   *heat.Stack
	gone    bool      // it existed, and no longer does
	looked  time.Time // at the stack
	doubted time.Time // see doubt
	// answered is when machines were last told whether Heat has them.
	answered time.Time
	served   bool // Heat has answered successfully
	known    bool // the last round succeeded completely
	record   protocol.HeatRecord
	told     protocol.HeatRecord // the last record written
	toldAt   time.Time
	anew     bool              // Heat was signalled since
	settles  int               // rounds since the stack was cancelled
	said     map[string]string // the last message, by subject
	carried  passedValues      // to the servers
	waiting  map[string]bool   // the waits that were already logged
	// members are the last records of the followed groups, left the members that are gone by these.
	members map[string]*relay.Members
	left    map[string]map[contract.ServerPath]int
	// came is when machines joined that Heat does not have, or not yet.
	came   map[contract.ServerPath]came
	helped helped
	going  going
	// launches are those of machines that Heat has named in its waits.
	launches   map[launch]*launched
	launchedIn string // the stack that they are in
	// again are servers whose failed roles have to run again, and for which update (again.go).
	again map[contract.ServerPath]string
	// renewed says for which values the stack's outputs were last compared.
	renewed string
}

// lookAtStack is how often the stack is read if only its id matters: another of the same name may
// have replaced it.
const lookAtStack = 20 * time.Second

var (
	// ErrFailed says that the stack has failed.
	ErrFailed = errors.New("the stack has failed")
	// ErrGone says that it no longer exists.
	ErrGone = errors.New("the stack was deleted")
)

// Run relays until the context ends; with Once until all is settled. ErrFailed, ErrGone,
// relay.ErrWrongKey, protocol.ErrForged, *protocol.FormatError.
func (r *Relay) Run(ctx context.Context) error {
	if r.Say == nil {
		r.Say = func(string) {}
	}
	r.Away = cmp.Or(r.Away, DefaultAway)
	r.said = map[string]string{}
	missing := "the deployment does not exist yet"
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
		if err := store.Pause(ctx, 2*r.Every); err != nil {
			return err
		}
	}
}

var errSettled = errors.New("all is settled")

// with relays until the plan changes.
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
	r.carried = passedValues{Values: values}
	var seen []wait
	refused, asked := false, chan struct{}(nil)
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
		case asked = <-r.Ask:
		}
		var err error
		seen, err = r.round(ctx, s)
		if asked != nil {
			close(asked)
			asked = nil
		}
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

// refusedRest is how much longer a relay waits that Heat or Keystone refuses: credentials may
// become valid again, when a role is granted again or Keystone has its keys; but repeated attempts
// with a wrong password lock the user out.
const refusedRest = 30

// decided reports whether one of Heat's waits has to be ended now.
func (r *Relay) decided(seen []wait, s *relay.Session) bool {
	servers := r.servers(s)
	for _, w := range seen {
		if w.inProgress() && w.decide(s.Plan, servers, &r.carried).state != protocol.HeatWaits {
			return true
		}
	}
	return false
}

// round queries Heat, ends the waits that have to be ended, and reports the status.
func (r *Relay) round(ctx context.Context, s *relay.Session) ([]wait, error) {
	var seen, all []wait
	r.known = false
	before := s.Servers()
	told, beside, err := error(nil), error(nil), r.recallMembers(ctx, s)
	if err == nil {
		seen, err = r.look(ctx, s.Plan.Signal == contract.AgentsSignal)
	}
	if err == nil {
		err = r.seeLaunches(ctx, s, seen)
	}
	if err == nil { // the waits of others end even if these two fail, here and in each round
		beside = errors.Join(r.answerNext(ctx, s, before, seen), r.attendHooks(ctx, s))
		told = r.passValues(ctx, s, seen)
		err = r.tellMembers(ctx, s, seen)
		all = seen
		seen = lists.Only(all, func(w wait) bool { return !w.About.Here })
	}
	if err == nil && told == nil {
		states := []protocol.HeatWaitState{protocol.HeatDone, protocol.HeatFailed}
		doubt := r.doubt(ctx, s, seen)
		if doubt != nil {
			states = states[:1] // a failure may only end the newest wait
		}
		if err = r.end(ctx, s, seen, states...); err == nil {
			err = doubt
		}
		if err == nil {
			err = r.renewOutputs(ctx, s, all)
		}
		if err == nil {
			if err = r.help(ctx, s); s.Plan.Signal != contract.AgentsSignal {
				err = nil // a relay's credentials need not be valid for handles
			}
		}
		r.known = err == nil
	}
	if told != nil && !errors.Is(told, relay.ErrStale) && !ended(ctx, s, told) { // stale values are read again
		r.why("values", told.Error())
	}
	r.record.Trouble = ""
	if wrong := cmp.Or(err, beside); wrong != nil && !ended(ctx, s, wrong) {
		r.record.Trouble = trouble(wrong)
		r.why("Heat", "Heat: "+r.record.Trouble)
	}
	r.tell(ctx, s, seen)
	return seen, err
}

// ended reports whether an error is only due to the end of the relay or the deployment, which Run reports.
func ended(ctx context.Context, s *relay.Session, err error) bool {
	return s.Ended(ctx, err) || ctx.Err() != nil
}

func trouble(err error) string {
	if d, is := source.AsDiagnostic(err); is {
		return d.Message
	}
	return err.Error()
}

// look queries what Heat waits for; state says that the stack's state is needed.
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

// endKnown ends successful waits from the last query of Heat, which saves the time of another. A
// wait does not change while it is in progress: Heat applies an update to it after it has ended. So
// only another relay could have made it a newer one. Failing waits are queried again first: they
// may be superseded.
func (r *Relay) endKnown(ctx context.Context, s *relay.Session, seen []wait) {
	if !r.known {
		return
	}
	if alone, err := s.Alone(ctx); err == nil && alone {
		_ = r.end(ctx, s, seen, protocol.HeatDone) // the following round gets the same error
	}
}

// end ends the waits that have to end in one of the states.
func (r *Relay) end(ctx context.Context, s *relay.Session, seen []wait, in ...protocol.HeatWaitState) error {
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
		if end.Status == string(protocol.HeatWaits) {
			w.lacks = end.Reason
			continue
		}
		if v.state == protocol.HeatFailed {
			if err := r.noteTold(ctx, s, *w); err != nil {
				return err
			}
		}
		now, err := r.Heat.EndDeployment(ctx, w.ID, end)
		if errors.Is(err, heat.ErrNotFound) {
			continue // its stack was deleted
		}
		if err != nil {
			return err
		}
		if now.Config != w.Config { // it waits for something else meanwhile
			again := heat.DeploymentEnd{Status: string(protocol.HeatWaits), Reason: "it waits for a newer change"}
			if _, err := r.Heat.EndDeployment(ctx, w.ID, again); err != nil {
				return err
			}
			continue
		}
		w.Status, w.Reason = end.Status, end.Reason
		r.anew = true
		r.Say(fmt.Sprintf("signalled %s to Heat: %s: %s", w.place(), end.Status, end.Reason))
	}
	return nil
}

// answer is how to end a wait, and the values that Heat reads, by server.
func (r *Relay) answer(ctx context.Context, s *relay.Session, v verdict) (end heat.DeploymentEnd, data map[string]map[string]json.RawMessage, err error) {
	failed := func(reason string) heat.DeploymentEnd {
		return heat.DeploymentEnd{Status: string(protocol.HeatFailed), Reason: reason}
	}
	end, data = heat.DeploymentEnd{Status: string(v.state), Reason: v.reason}, map[string]map[string]json.RawMessage{}
	size := 0
	for _, x := range v.values {
		text, err := s.Value(ctx, x.cell)
		if err != nil {
			if ended(ctx, s, err) {
				return end, nil, err
			}
			if errors.Is(err, relay.ErrNotWritten) { // a new output, which the update hook will write
				return heat.DeploymentEnd{Status: string(protocol.HeatWaits), Reason: string(x.cell.Cell) + " " + err.Error()}, nil, nil
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
		return failed(fmt.Sprintf("all roles are done, but the values for the stack have %d bytes; Heat accepts %d", size, signal.MaxBody)), nil, nil
	}
	if len(data) > 0 {
		end.Outputs = map[string]any{v.output: data}
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

// settled reports whether there is nothing more to wait for.
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
