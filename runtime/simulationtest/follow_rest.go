package simulationtest

import (
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
)

// judgeFollowing checks a deployment at rest: each role that is done has run with what is newest,
// or names the failure that prevents it.
func (w *world) judgeFollowing(v *verdict) {
	if !w.program.Follow {
		return
	}
	now := v.cell
	waits := w.waiting(v)
	for _, s := range w.lastPlan().Servers {
		for _, r := range s.Roles {
			key, state := s.Path.Role(r.Name), v.role(s.Path, r.Name)
			if len(r.Follows) == 0 || waits[key] || w.stuck(v, s, r) {
				continue
			}
			switch is := reconcile.Decide(reconcile.Facts{Role: &r, Ran: state, Now: now}); {
			case is.Waits != "", is.State.Unfinished():
				w.history.violate("%s is not up to date at rest: %+v", key, is)
			case is.State == reconcile.Behind && !state.Behind.Covers(is.Newer, now):
				w.history.violate("%s is not up to date at rest, and its agent does not say why: %+v, %+v", key, is, state.Behind)
			case is.State == reconcile.Behind:
				w.history.count("followers that a failure keeps behind")
			default:
				w.history.count("followers up to date")
				w.judgeOrigins(v, s, r, now)
			}
		}
	}
}

func (w *world) lastPlan() *contract.Plan {
	if p := w.getLives().plan; p != nil {
		return p
	}
	return &w.program.Plan
}

// gone reports whether a server of the plan has no agent that would bring its roles up to date, or publish its facts
// after a loss.
func (w *world) gone(v *verdict, path contract.ServerPath) bool {
	s, is := v.servers[path]
	at := w.current(path)
	return is && (!finished(s) || at == nil || at.Machine.Once)
}

// stuck reports whether a role cannot be brought up to date, or has failed to be.
func (w *world) stuck(v *verdict, s contract.Server, r contract.Role) bool {
	state, at := v.role(s.Path, r.Name), w.current(s.Path)
	return state.Status != protocol.RoleDone || !finished(v.servers[s.Path]) || at == nil || at.Machine.Once ||
		state.Update != nil && state.Update.Status != protocol.RoleDone
}

// waiting are the roles that may wait at rest: their agent is gone, or waits for good with another
// role, or this holds of a role that they read from, directly or not. That a role has failed is no
// reason: no role waits for it.
func (w *world) waiting(v *verdict) map[contract.RoleKey]bool {
	waits := map[contract.RoleKey]bool{}
	for again := true; again; {
		again = false
		for _, s := range w.lastPlan().Servers {
			absent := w.gone(v, s.Path) || slices.ContainsFunc(s.Roles, func(r contract.Role) bool {
				u := v.role(s.Path, r.Name).Update
				return waits[s.Path.Role(r.Name)] && u != nil && u.Status == protocol.RoleRunning
			})
			for _, r := range s.Roles {
				key := s.Path.Role(r.Name)
				is := waits[key] || absent
				for _, in := range r.Inputs {
					for _, c := range in.Reads {
						writer, _, _ := strings.Cut(string(c), ":")
						is = is || waits[contract.RoleKey(writer)] || w.gone(v, contract.ServerPath(writer))
					}
				}
				again = again || is != waits[key]
				waits[key] = is
			}
		}
	}
	return waits
}

// judgeOrigins compares what a role's outputs are computed from with what it follows.
func (w *world) judgeOrigins(v *verdict, s contract.Server, r contract.Role, now func(contract.CellName) protocol.CellRecord) {
	if w.reusesNumber() {
		return
	}
	want := map[contract.Source]string{}
	for _, in := range r.Inputs {
		for _, c := range in.Reads {
			if in.Watch {
				for _, o := range origins(string(now(c).Value)) {
					maps.Copy(want, o.Of)
				}
			}
		}
	}
	for _, out := range r.Outputs {
		for _, o := range origins(string(now(out.Cell).Value)) {
			delete(o.Of, contract.Source(s.Path.Role(r.Name)))
			if !maps.Equal(o.Of, want) {
				w.history.violate("%s is made of %v at rest, and newest is %v", out.Cell, o.Of, want)
			}
		}
	}
}
