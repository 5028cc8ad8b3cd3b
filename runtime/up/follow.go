package up

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// following shows what Heat and the roles do. An outage of either is reported once and waited out:
// what was begun continues without us.
type following struct {
	cloud      Cloud
	deployment Deployment
	view       View
	look       time.Duration
	name, id   string

	// mayGo decides whether Heat may continue with a resource that waits at its hook, and why.
	mayGo  func(heat.Event) (why string, may bool)
	paused heat.Paused

	last    string    // the last event shown
	at      time.Time // its time
	awaited bool      // an update was requested, and has not begun yet
	// failed are the resources that have failed in the stack's last action, by stack and name.
	failed map[[2]string]bool
	overs
	silent  bool // Heat does not answer, and that was reported
	deaf    bool // the same of the coordinator
	changed <-chan store.Path
	owed    bool // something has changed since the roles were last read
	now     *status.Status
	unheard int // polls of a complete stack that no relay has seen yet
	looked  time.Time
	took    time.Duration // duration of the last read of the roles
	// rebuilt are servers that Nova rebuilds in this update, and the incarnations that lose their disks.
	rebuilt map[contract.ServerPath]int
}

// rebuilds notes the servers that an update rebuilds where no relay makes Heat wait for their agents.
func (f *following) rebuilds(c Changes, now *status.Status) {
	f.rebuilt = map[contract.ServerPath]int{}
	for _, s := range now.Servers {
		if c.machines[s.Incarnation.Instance] && len(s.Roles) > 0 {
			f.rebuilt[s.Path] = s.Incarnation.Number
		}
	}
}

// back reports whether the agents of all rebuilt servers have joined again.
func (f *following) back() bool {
	for path, lost := range f.rebuilt {
		if s := f.now.ByPath[path]; s != nil && s.Incarnation.Number == lost {
			return false
		}
	}
	return true
}

// skip passes over the events that a stack already has, so that an update's first one is
// recognized. For a stack without resources, as after a rolled-back creation, Heat lists none when
// nested events are requested, until it has resources again.
func (f *following) skip(ctx context.Context, s *heat.Stack) error {
	events, err := f.cloud.Events(ctx, s.Name, s.ID, "", heat.MaxDepth)
	if err == nil && len(events) == 0 {
		events, err = f.cloud.Events(ctx, s.Name, s.ID, "", 0)
	}
	if err == nil && len(events) > 0 {
		f.see(events...)
		f.pass(events[len(events)-1])
	}
	return err
}

// see notes which resources wait at a hook, and which have failed.
func (f *following) see(events ...heat.Event) {
	if f.paused == nil {
		f.paused = heat.Paused{}
	}
	f.paused.See(events...)
	for _, e := range events {
		if f.failed == nil || e.OfStack() && e.Name == f.name && e.State.InProgress() && e.State.Action() != "ROLLBACK" {
			f.failed = map[[2]string]bool{}
		}
		f.failed[[2]string{e.StackID, e.Name}] = e.State.Failed()
	}
}

// letGo clears the hooks that Heat waits at, where it may.
func (f *following) letGo(ctx context.Context) error {
	if f.mayGo == nil {
		return nil
	}
	for _, e := range f.paused.All() {
		why, may := f.mayGo(e)
		if !may {
			continue
		}
		went, err := f.paused.Clear(ctx, f.cloud, e)
		if errors.Is(err, heat.ErrForeign) {
			f.view.Say("Heat is waiting at the hook of " + e.Path(f.name) + ": " + err.Error())
			continue
		}
		if err != nil {
			return err
		}
		if went {
			f.view.Say("Heat continues with " + e.Path(f.name) + why)
		}
	}
	return nil
}

// outdated is how much older an event must be than the last one to count as shown: Heat keeps a
// limited number, and lists all of them once the last one shown was dropped. Its engines' clocks
// may differ by less.
const outdated = time.Minute

func (f *following) pass(e heat.Event) {
	if f.last = e.ID; e.Time.After(f.at) {
		f.at = e.Time.Time
	}
}

// heats polls Heat: the events since the last poll, and the stack.
func (f *following) heats(ctx context.Context) (*heat.Stack, error) {
	s, err := f.cloud.StackAt(ctx, f.name, f.id) // before its events: what ended it is among them
	var events []heat.Event
	if err == nil {
		events, err = f.cloud.Events(ctx, f.name, f.id, f.last, heat.MaxDepth)
		if errors.Is(err, heat.ErrNotFound) {
			events, err = nil, nil
		}
	}
	switch {
	case errors.Is(err, heat.ErrUnreachable):
		if !f.silent {
			f.view.Say("Heat does not answer; what has started continues: " + err.Error())
		}
		f.silent = true
		return nil, nil
	case err != nil:
		return nil, err
	}
	if f.silent {
		f.view.Say("Heat answers again")
	}
	f.silent = false
	begins := false
	f.see(events...)
	for _, e := range events {
		if f.at.Sub(e.Time.Time) < outdated {
			f.view.Event(e)
			begins = begins || e.OfStack() && e.Name == f.name && e.State == "UPDATE_IN_PROGRESS"
		}
		f.pass(e)
	}
	if err := f.letGo(ctx); err != nil {
		return nil, err
	}
	if f.awaited && s.State.Action() != "DELETE" {
		f.awaited, f.ours = !begins, begins
		return nil, nil // the stack was read before the update had begun
	}
	return s, nil
}

// unwatched is how long roles are not read while nothing seems to change.
const unwatched = 5 * time.Second

// roles reads the roles, if something has changed.
func (f *following) roles(ctx context.Context) error {
	dirty := f.now == nil || time.Since(f.looked) >= unwatched
	for more := f.changed != nil; more; {
		select {
		case _, open := <-f.changed:
			dirty = true
			if !open {
				f.changed, more = nil, false
			}
		default:
			more = false
		}
	}
	if f.owed = f.owed || dirty; !f.owed || time.Since(f.looked) < store.Rest(f.took) {
		return nil
	}
	f.owed = false
	began := time.Now()
	v, err := f.deployment.Status(ctx)
	f.took = time.Since(began)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, ErrTakenOver) {
		return err
	}
	if err != nil {
		if !f.deaf {
			f.view.Say("the coordinator does not answer; running roles continue: " + err.Error())
		}
		f.deaf, f.looked = true, time.Now()
		return nil
	}
	if f.deaf {
		f.view.Say("the coordinator answers again")
	}
	f.deaf, f.looked = false, time.Now()
	if v != nil {
		f.now = v
		f.view.Roles(v)
	}
	if v != nil && f.changed == nil {
		f.changed, _ = f.deployment.Watch(ctx, v.Plan) // without it polls are further apart
	}
	return nil
}

// until polls both until done.
func (f *following) until(ctx context.Context, done func(*heat.Stack) (bool, error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer func() { f.changed = nil }()
	f.owed = true // nothing was watched since the last polls
	for n := 0; ; n++ {
		if err := f.roles(ctx); err != nil {
			return err
		}
		if n%rolesLooks == 0 {
			s, err := f.heats(ctx)
			if err == nil && s != nil {
				err = f.takenOver(s, f.name, f.view.Say)
			}
			if errors.Is(err, heat.ErrNotFound) {
				err = deletedBy(f.name, "DELETE_COMPLETE")
			}
			if err != nil {
				return err
			}
			if s != nil && !f.unsettled(s) {
				if ended, err := done(s); ended || err != nil {
					return err
				}
			}
		}
		if err := store.Pause(ctx, f.look/rolesLooks); err != nil {
			return err
		}
	}
}

// rolesLooks is how often roles are polled per poll of Heat: the coordinator announces changes,
// Heat has to be asked.
const rolesLooks = 4

// stackEnds follows until Heat's action has ended.
func (f *following) stackEnds(ctx context.Context) (last *heat.Stack, err error) {
	err = f.until(ctx, func(s *heat.Stack) (bool, error) {
		last = s
		return !s.State.InProgress(), nil
	})
	return last, err
}

// toTheEnd follows until Heat's action has ended and nothing more is expected of roles.
func (f *following) toTheEnd(ctx context.Context) (*Result, error) {
	r := &Result{}
	err := f.until(ctx, func(s *heat.Stack) (bool, error) {
		r.Stack = s
		if s.State.InProgress() {
			return false, nil
		}
		f.owed, f.took = true, 0 // the last read may be older than what was signalled to Heat
		if err := f.roles(ctx); err != nil || f.now == nil {
			return false, err
		}
		if s.State.Complete() && !f.back() {
			return false, nil
		}
		if s.State.Complete() && finished(f.now) && !f.now.HeatHasHeard() {
			f.unheard++ // the relay, which ends with this, is about to find that
			return f.unheard > mostUnheard, nil
		}
		return !s.State.Complete() || finished(f.now), nil
	})
	if err != nil {
		return nil, err
	}
	r.Status = f.now
	if r.Stack.State.Failed() {
		all, err := f.cloud.Resources(ctx, f.name, f.id, heat.MaxDepth)
		if err != nil && !errors.Is(err, heat.ErrUnreachable) {
			return r, err
		}
		r.Failed = failures(all, f.failed)
	}
	return r, nil
}

// finished reports whether nothing more is expected of the roles of a complete stack. A server that
// Heat may not have made, as nobody has reported how large its group is, is none: Heat would have
// waited for it.
func finished(v *status.Status) bool {
	return !slices.ContainsFunc(v.Servers, func(s *status.Server) bool {
		return !s.Finished() && (s.Perhaps == "" || s.Came() || v.Plan.Signal == contract.NobodySignals)
	})
}

// mostUnheard is how many polls a relay has to find that Heat has received everything.
const mostUnheard = 5

// rolesEnd follows until some roles have ended, or wait in vain.
func (f *following) rolesEnd(ctx context.Context, roles []contract.RoleKey) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer func() { f.changed = nil }()
	for {
		f.now = nil // always read: the request has only just been written
		if err := f.roles(ctx); err != nil {
			return err
		}
		if f.now != nil && !slices.ContainsFunc(roles, func(key contract.RoleKey) bool { return open(f.now, key) }) {
			return nil
		}
		if err := store.Pause(ctx, f.look); err != nil {
			return err
		}
	}
}

// open reports whether a role is at work, or will be, before Heat has updated the stack.
func open(v *status.Status, key contract.RoleKey) bool {
	r := v.RoleOf(key)
	if r == nil || !r.Server.Alive || r.Status == protocol.RoleDone || r.Status == protocol.RoleSkipped {
		return false
	}
	if r.Status == protocol.RoleFailed {
		return r.Asked(protocol.Retry, "") // and has not begun
	}
	return !inVain(v, r, map[*status.Role]bool{})
}

// inVain reports whether a role waits for what only Heat's update brings: a value of Heat's, or a
// server; or for a role that does.
func inVain(v *status.Status, r *status.Role, seen map[*status.Role]bool) bool {
	if seen[r] {
		return false
	}
	seen[r] = true
	if len(r.Blocked) == 0 && r.Status == protocol.RolePending { // its turn has not come
		return slices.ContainsFunc(r.Server.Roles[:r.Index], func(earlier *status.Role) bool {
			return earlier.Status != protocol.RoleDone && inVain(v, earlier, seen)
		})
	}
	return slices.ContainsFunc(r.Blocked, func(w protocol.Wait) bool {
		c := v.Cells[w.Cell]
		s, from := v.ByPath[c.Server], v.Role(c.Server, c.Role)
		_, heats := w.Cell.HeatKey()
		return heats || s != nil && !s.Came() || from != nil && inVain(v, from, seen)
	})
}
