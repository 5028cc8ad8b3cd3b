package simulationtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// made is the definition of a generated role, or its hook: nothing but a version.
type made struct {
	Version int  `json:"version"`
	Hook    bool `json:"hook,omitempty"`
	Delete  bool `json:"delete,omitempty"` // that hook
}

// Updates are the changes of the live plan: one or two, each interrupted or not.
type Updates []Update

// Update is one change of the plan.
type Update struct {
	At time.Duration
	// Cut is the request at which the operator's program dies, to be run again at Again; 0 is none.
	Cut   int
	Again time.Duration
	// Back returns to the previous plan, Keeps keeps it, and Gives supplies other secrets. Grows adds
	// roles.
	Back, Keeps, Gives, Grows bool
}

// addUpdates changes the plan of some deployments. Agents are killed around that.
func (f *Faults) addUpdates(r *rand.Rand) {
	g := mishaps{r}
	if f.Destroy > 0 || !g.perhaps(0.4) {
		return
	}
	at := max(f.Apply, f.Again)
	for range 1 + g.IntN(2) {
		u := Update{At: at + g.within(90*time.Second), Back: g.perhaps(0.3)}
		if at = u.At; g.perhaps(0.4) {
			u.Cut, u.Again = 1+g.IntN(30), u.At+g.within(20*time.Second)
			at = u.Again
		}
		f.Updates = append(f.Updates, u)
	}
	for i := range f.Machines {
		m := &f.Machines[i]
		if len(m.Ends) > 0 || !g.perhaps(0.5) {
			continue
		}
		for range 1 + g.IntN(2) {
			e := End{Hook: 1 + g.IntN(5), Asked: g.perhaps(0.2), Power: g.perhaps(0.5), Down: g.within(5 * time.Second)}
			if after := f.Updates[0].At - m.Boot + g.within(20*time.Second); after > 0 && g.perhaps(0.4) {
				e.Hook, e.After = 0, after
			}
			m.Ends = append(m.Ends, e)
		}
	}
}

// changed is the plan with roles of that version where the dice say so.
func (w *world) changed(from contract.Plan, version int) contract.Plan {
	return withRoles(from, func(s *contract.Server, r *contract.Role) {
		if w.dice.roll("change", fmt.Sprint(version), string(s.Path), r.Name)%3 > 0 {
			r.Source, _ = json.Marshal(made{Version: version})
		}
	})
}

// withRoles is a plan with changed roles, each with a hook for its new version.
func withRoles(p contract.Plan, change func(*contract.Server, *contract.Role)) contract.Plan {
	p.Servers = slices.Clone(p.Servers)
	for i := range p.Servers {
		s := &p.Servers[i]
		s.Roles = slices.Clone(s.Roles)
		for k := range s.Roles {
			r := &s.Roles[k]
			change(s, r)
			var of made
			_ = json.Unmarshal(r.Source, &of)
			hook, _ := json.Marshal(made{Version: of.Version, Hook: true})
			r.Hooks = []contract.Task{{Name: contract.HookUpdate, At: r.At, Source: hook}}
		}
	}
	return p
}

// update changes the plan as planned.
func (w *world) update() error {
	plans := []contract.Plan{w.first()}
	for i := range w.Faults.Updates {
		u := &w.Faults.Updates[i]
		last := plans[len(plans)-1]
		if u.Grows {
			last = w.program.Plan
		}
		next := w.changed(last, i+1)
		if u.Keeps {
			next = last
		}
		if u.Back && len(plans) > 1 {
			next = withRoles(plans[len(plans)-2], func(*contract.Server, *contract.Role) {})
		}
		if !w.sleepUntil(u.At, nil) {
			return nil
		}
		if u.Gives {
			w.gives.Add(1)
		}
		change := w.beginChange()
		err := w.publish(&next, u.Cut)
		w.trace("changed: %v", err)
		if u.Cut > 0 && errors.Is(err, errDead) {
			if !w.sleepUntil(u.Again, nil) {
				return nil
			}
			err = w.publish(&next, 0)
			w.trace("changed again: %v", err)
		}
		if w.endChange(change, &next, err) {
			continue
		}
		if err != nil {
			return err
		}
		w.history.count("changes of the plan")
		w.published(&next)
		w.setLives(func(l *lives) { l.plan = &next })
		plans = append(plans, next)
	}
	return w.endRivalry()
}

// runHook plays the hook of a role: some work, which may fail.
func (t tool) runHook(ctx context.Context, job *driver.Job, key contract.RoleKey, of made) (driver.Exit, error) {
	p := t.process
	if p.hookMark(key, "before the start of its hook") {
		return driver.Exit{}, errDead
	}
	if err := p.begin(ctx, job, of); err != nil {
		return driver.Exit{}, err
	}
	p.world.history.hooked(p, job.Role, of)
	if p.world.program.Follow {
		if err := t.renew(ctx, job, key, of); err != nil {
			return driver.Exit{Code: 1}, nil
		}
	}
	for _, point := range []string{"at the start of its hook", "in its hook", "at the end of its hook"} {
		if p.hookMark(key, point) {
			return driver.Exit{Signal: syscall.SIGKILL}, nil
		}
		if ctx.Err() != nil {
			return driver.Exit{Signal: syscall.SIGTERM}, nil
		}
		if point == "in its hook" {
			p.world.sleep(p.world.workOf(key, of.Version), p.dead, ctx.Done())
			p.world.history.overtaken(key, of.Version)
		}
	}
	if p.world.dice.roll("fails", string(key), fmt.Sprint(of.Version))%8 == 0 {
		return driver.Exit{Code: 4}, nil
	}
	return driver.Exit{}, nil
}

// hookMark is a point in a hook's life at which the process may end.
func (p *process) hookMark(key contract.RoleKey, point string) (died bool) {
	return p.pass(&p.hookMarks, p.end.Hook, key, point)
}

// hooked records that a hook was started: once for a change of the plan, and never for the version
// that the role has last run as, or was updated to.
func (h *history) hooked(p *process, r contract.Role, of made) {
	key := fmt.Sprintf("%v %s", p.machine, r.Name)
	h.mu.Lock()
	last := h.versions[key]
	h.versions[key] = append(last, of.Version)
	h.mu.Unlock()
	h.world.trace("%v: the hook of %s starts for version %d", p, r.Name, of.Version)
	h.count("hooks")
	h.runsOnce(p, p.machine.Machine.Server.Role(r.Name), r.Idempotent)
	h.superseded(p, p.machine.Machine.Server.Role(r.Name), of.Version)
	switch {
	case len(last) == 0:
		h.violate("the hook of %s of %v runs, and the role never did", r.Name, p)
	case last[len(last)-1] == of.Version && !p.world.program.Follow:
		h.violate("the hook of %s of %v runs again for version %d", r.Name, p, of.Version)
	}
}

// judgeUpdates checks a deployment at rest whose plan was changed: what has run on a finished
// server is what the plan says, or its hook has failed.
func (w *world) judgeUpdates(v *verdict) {
	last := w.getLives().plan
	if last == nil {
		return
	}
	waits := w.waiting(v)
	for _, s := range last.Servers {
		there := v.servers[s.Path]
		if !finished(there) || !v.alive(s.Path) || w.current(s.Path) == nil || w.current(s.Path).Machine.Once {
			continue
		}
		for _, r := range s.Roles {
			state := v.role(s.Path, r.Name)
			if state.Status != protocol.RoleDone || waits[s.Path.Role(r.Name)] {
				continue
			}
			if state.Made == "" || r.OutOfDate(state.Made) {
				w.history.violate("%s.%s is done, and not what its plan says", s.Path, r.Name)
			}
			if u := state.Update; u != nil && u.Status != protocol.RoleDone && (u.Status != protocol.RoleFailed || u.Cause == nil) {
				w.history.violate("the hook of %s.%s is %s at rest, cause %v", s.Path, r.Name, u.Status, u.Cause)
			}
		}
		for _, q := range there.Requests {
			if !slices.ContainsFunc(there.Answers, func(a protocol.Answer) bool { return a.ID == q.ID && a.Final() }) && q.Incarnation == there.Incarnation.Number && !waits[s.Path.Role(q.Role)] {
				w.history.violate("%s was asked for %s of %s, and has not answered", s.Path, q.Name, q.Role)
			}
		}
	}
}
