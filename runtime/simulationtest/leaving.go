package simulationtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/driver"
	heatapi "github.com/hotc-dev/hotc/runtime/heat"
)

// Members that leave may have delete hooks: Heat then keeps the machine until a relay lets it
// continue. A hook runs at most once on a machine; it runs wherever an agent can run it; and Heat
// does not wait for ever, whoever is killed.

// addDeleteHooks gives the members of most groups delete hooks.
func (p *Program) addDeleteHooks(r *rand.Rand) {
	if (mishaps{r}).perhaps(0.3) {
		return
	}
	source, _ := json.Marshal(made{Delete: true})
	for i := range p.Joining.Members {
		role := &p.Plan.Servers[i].Roles[0]
		role.Hooks = append(role.Hooks, contract.Task{Name: contract.HookDelete, At: role.At, Source: source})
	}
}

// hasDeleteHook reports whether Heat waits before it deletes a machine.
func (w *world) hasDeleteHook(m *machine) bool {
	s := w.program.server(m.Server)
	return w.program.Joining != nil && protocol.HasDeleteHook(s.Server)
}

// leavings are the machines that Heat is about to delete.
type leavings struct {
	mu      sync.Mutex
	events  []heatapi.Event
	waiting map[string]*leaving // by the event's id
	ended   map[*machine]time.Duration
	hooks   map[*machine]int
}

type leaving struct {
	machine *machine
	began   time.Duration
	goOn    chan struct{}
}

// awaitHooks is Heat that waits before it deletes a machine.
func (w *world) awaitHooks(m *machine) {
	l := &leaving{machine: m, began: w.cluster.now(), goOn: make(chan struct{})}
	w.leavings.mu.Lock()
	id := fmt.Sprint("event ", len(w.leavings.events))
	w.leavings.waiting[id] = l
	w.leavings.events = append(w.leavings.events, heatapi.Event{ID: id, Name: m.String(), Physical: m.Instance, State: "DELETE_IN_PROGRESS",
		Reason: "DELETE paused until Hook pre-delete is cleared", StackName: stackName, StackID: stackID})
	w.leavings.mu.Unlock()
	w.trace("Heat waits with %v", m)
	select {
	case <-l.goOn:
	case <-w.ctx.Done():
	}
}

// Events implements relay.Heat.
func (m members) Events(_ context.Context, _, _, marker string, _ int) ([]heatapi.Event, error) {
	w := m.world
	if within(w.Faults.HeatDown, w.cluster.now()) {
		return nil, heatapi.ErrUnreachable
	}
	w.leavings.mu.Lock()
	defer w.leavings.mu.Unlock()
	from := slices.IndexFunc(w.leavings.events, func(e heatapi.Event) bool { return e.ID == marker })
	return slices.Clone(w.leavings.events[from+1:]), nil
}

// Properties implements relay.Heat.
func (m members) Properties(context.Context, heatapi.Event) (json.RawMessage, error) {
	return json.RawMessage(`{"user_data":"/etc/hotc/boot.json"}`), nil
}

// ClearHook implements relay.Heat: the machine is deleted then.
func (m members) ClearHook(_ context.Context, e heatapi.Event, _ string) error {
	w := m.world
	if within(w.Faults.HeatDown, w.cluster.now()) {
		return heatapi.ErrUnreachable
	}
	w.leavings.mu.Lock()
	l := w.leavings.waiting[e.ID]
	delete(w.leavings.waiting, e.ID)
	w.leavings.mu.Unlock()
	if l == nil {
		return heatapi.ErrNotFound // another relay was faster
	}
	w.history.count("machines that Heat has waited with")
	w.judgeLeaving(l)
	close(l.goOn)
	return nil
}

// judgeLeaving checks a machine that Heat may now delete: its hook has run if its agent could.
func (w *world) judgeLeaving(l *leaving) {
	m, now := l.machine, w.cluster.now()
	w.leavings.mu.Lock()
	ended, known := w.leavings.ended[m]
	ran := w.leavings.hooks[m]
	w.leavings.mu.Unlock()
	p := m.last.Load()
	idle := p != nil && !p.isEnded() && now-p.started > unknown && known && l.began-ended > unknown
	cut := slices.ContainsFunc(m.Cut, func(s Span) bool { return s.From < now && s.To > l.began-unknown })
	if ran == 0 && idle && !cut && m.Twice == 0 && w.current(m.Server) == m {
		w.history.violate("Heat deletes %v, and its delete hook has not run", m)
	}
	if ran > 0 {
		w.history.count("delete hooks that have run")
	}
}

// runDelete plays a delete hook.
func (t tool) runDelete(ctx context.Context, job *driver.Job, key contract.RoleKey) (driver.Exit, error) {
	p := t.process
	if p.hookMark(key, "before the start of its delete hook") {
		return driver.Exit{}, errDead
	}
	if err := job.Started(ctx); err != nil {
		return driver.Exit{}, err
	}
	w := p.world
	w.leavings.mu.Lock()
	w.leavings.hooks[p.machine]++
	again := w.leavings.hooks[p.machine] > 1
	w.leavings.mu.Unlock()
	w.trace("%v: the delete hook of %s starts", p, key)
	if again {
		w.history.violate("%v runs the delete hook of %s again", p, key)
	}
	w.sleep(w.dice.between(0, 20*time.Second, "delete", p.machine), p.dead, ctx.Done())
	switch {
	case p.hookMark(key, "in its delete hook"):
		return driver.Exit{Signal: syscall.SIGKILL}, nil
	case ctx.Err() != nil:
		return driver.Exit{Signal: syscall.SIGTERM}, nil
	case w.dice.chance(0.2, "its delete hook fails", p.machine):
		return driver.Exit{Code: 5}, nil
	}
	return driver.Exit{}, nil
}

// roleEnded records when the role of a member has ended on a machine.
func (w *world) roleEnded(m *machine) {
	w.leavings.mu.Lock()
	defer w.leavings.mu.Unlock()
	w.leavings.ended[m] = w.cluster.now()
}

// waitsWith are the machines that Heat waits to delete.
func (w *world) waitsWith() (all []*machine) {
	w.leavings.mu.Lock()
	defer w.leavings.mu.Unlock()
	for _, l := range w.leavings.waiting {
		all = append(all, l.machine)
	}
	return all
}
