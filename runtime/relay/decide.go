package relay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// wait is a software deployment of the stack by which Heat waits for roles.
type wait struct {
	heat.Deployment
	contract.HeatWait
	// superseded says that Heat waits by a newer one of the same name instead: nothing reads
	// this one any more, but Heat goes on only when it has ended.
	superseded bool
	// lacks is a value that Heat reads and nobody has written yet; "" if there is none.
	lacks string
}

// waitsOf finds a deployment's own among a stack's. Where Heat has two of one name, which
// are a resource and its replacement, an update has come over another one.
func waitsOf(name string, all []heat.Deployment) []wait {
	var out []wait
	for _, d := range all {
		w := wait{Deployment: d}
		if json.Unmarshal(d.Inputs["hotc"], &w.About) != nil || w.About.Format != contract.HeatWaitFormat || w.About.Deployment != name {
			continue
		}
		if json.Unmarshal(d.Inputs["servers"], &w.Servers) != nil {
			continue // it is not as the compiler writes it
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b wait) int {
		if c := strings.Compare(a.About.Stack+" "+a.About.Wait, b.About.Stack+" "+b.About.Wait); c != 0 {
			return c
		}
		return a.Created.Compare(b.Created.Time)
	})
	for i := range out[:max(0, len(out)-1)] {
		next := &out[i+1]
		shared := strings.Contains(out[i].About.Stack, contract.AnyMember) // by all members of a group that scales
		out[i].superseded = !shared && out[i].place() == next.place() && out[i].Created.Before(next.Created.Time)
	}
	return out
}

// inProgress says that Heat waits.
func (w wait) inProgress() bool { return w.Status == string(coordinator.HeatWaits) }

// verdict is what is to be said to a wait, and why.
type verdict struct {
	state  coordinator.HeatWaitState
	reason string
	// values are those to send along, by the id of their server in Heat.
	values []value
}

// value is an output that Heat reads.
type value struct {
	server, name string
	cell         contract.CellRef
}

// decide says how a wait stands. One that is superseded ends well, whatever its roles have
// come to: a failure would leave the stack in progress for ever.
func (w wait) decide(p *contract.Plan, servers map[contract.ServerPath]relay.Server, c *carried) verdict {
	if w.superseded {
		return verdict{state: coordinator.HeatDone, reason: "superseded: an update came over the one that waited"}
	}
	return decide(w.HeatWait, p, servers, c)
}

// decide says how the roles stand that a wait is about. It ends well when each server that
// the stack has now is the machine that has come, and all its roles are done as the plan now
// has them; it fails with the first of them that has failed.
func decide(w contract.HeatWait, p *contract.Plan, servers map[contract.ServerPath]relay.Server, c *carried) verdict {
	out := verdict{state: coordinator.HeatDone, reason: "all roles are done"}
	var failed time.Time
	said, here := map[[2]string]bool{}, map[contract.ServerPath]*contract.Server{}
	planned := planned(w.About, p)
	for _, named := range w.Servers {
		if said[[2]string{string(named.Server), named.ID}] {
			continue
		}
		said[[2]string{string(named.Server), named.ID}] = true
		server, why := find(named, p, servers)
		if server == nil {
			out.waitFor(why)
			continue
		}
		here[server.Path] = server
		now := servers[server.Path]
		if why := c.cannot(server.Path); why != "" {
			out.state, out.reason = coordinator.HeatFailed, why
			break
		}
		for i := range server.Roles {
			role := &server.Roles[i]
			if w.About.Role != "" && (role.Name != w.About.Role || role.Signal(w.About.Wait) == nil && planned) {
				continue
			}
			state, what, at := standing(role, server, now.State, c.owes(role, server.Path, now))
			switch {
			case state == coordinator.HeatWaits:
				out.waitFor(what)
			case state == coordinator.HeatFailed && (out.state != coordinator.HeatFailed || !at.IsZero() && (failed.IsZero() || at.Before(failed))):
				out.state, out.reason, failed = state, what, at
			}
			if planned {
				out.read(w.About, server, role)
			}
		}
	}
	if !planned && len(w.Servers) > 0 { // Heat reads by it what only the plan before could tell
		out.waitFor("the plan that was applied has nothing for " + w.About.Wait + ": an update of the stack is to come")
	}
	if missed := missed(w.About, here, servers); missed != "" {
		out.waitFor(missed)
	}
	if w.About.Role != "" && out.state == coordinator.HeatDone {
		out.reason = "role " + w.About.Role + " is done"
	}
	if out.state != coordinator.HeatDone {
		out.values = nil
	}
	return out
}

// planned says that the plan has what Heat waits for: the whole of it, or a role that tells Heat
// something by that very wait.
func planned(about contract.HeatWaitAbout, p *contract.Plan) bool {
	return about.Role == "" || slices.ContainsFunc(p.Servers, func(s contract.Server) bool {
		return slices.ContainsFunc(s.Roles, func(r contract.Role) bool { return r.Signal(about.Wait) != nil })
	})
}

// waitFor notes what is waited for first; a failure is not waited out.
func (v *verdict) waitFor(what string) {
	if v.state == coordinator.HeatDone {
		v.state, v.reason = coordinator.HeatWaits, what
	}
}

// find is the server of the plan that one of Heat's is; nil, and what is waited for, if none
// is that machine yet.
func find(named contract.HeatServer, p *contract.Plan, servers map[contract.ServerPath]relay.Server) (*contract.Server, string) {
	known := false
	for i := range p.Servers {
		s := &p.Servers[i]
		if s.Path != named.Server && (s.Slot == nil || s.Slot.Shared != named.Server) {
			continue
		}
		known = true
		if now := servers[s.Path]; named.ID != "" && now.Instance == named.ID {
			if now.Unreadable != "" {
				return nil, now.Unreadable
			}
			return s, ""
		}
	}
	if !known {
		return nil, fmt.Sprintf("server %s is not in the plan that was applied", named.Server)
	}
	return nil, fmt.Sprintf("server %s (%s): its agent has not come", named.Server, named.ID)
}

// standing is how a role stands: HeatDone, HeatFailed with the chain of causes and when that
// was, or HeatWaits. owed is the change of Heat's with which it has to run, if there is one: it will
// not where its agent has seen that, and says why.
func standing(r *contract.Role, s *contract.Server, now coordinator.ServerState, owed int64) (coordinator.HeatWaitState, string, time.Time) {
	key := string(s.Path.Role(r.Name))
	is := now.Role(r.Name)
	switch updated := is.Update; {
	case is.Status == coordinator.RoleFailed, is.Status == coordinator.RoleSkipped:
		return coordinator.HeatFailed, failure("", key, is.Cause), is.Ended
	case is.Status != coordinator.RoleDone:
		return coordinator.HeatWaits, "role " + key + ": " + string(cmp.Or(is.Status, coordinator.RolePending)), time.Time{}
	case owed > 0 && is.Behind != nil && is.Behind.Heat >= owed:
		return coordinator.HeatFailed, "role " + key + " is not brought up to date: " + chain(key, is.Behind.Cause), time.Time{}
	case owed > 0:
		return coordinator.HeatWaits, "role " + key + ": to be updated", time.Time{}
	case updated != nil && updated.Status == coordinator.RoleFailed:
		return coordinator.HeatFailed, failure("the hook update failed: ", key, updated.Cause), updated.Ended
	case updated != nil && updated.Status != coordinator.RoleDone, is.Made != r.Definition() && !is.ByHand:
		return coordinator.HeatWaits, "role " + key + ": to be updated", time.Time{}
	}
	return coordinator.HeatDone, "", time.Time{}
}

// failure is the reason of a role that has failed, with what runs it again: an update of the stack alone
// does not.
func failure(what, role string, c *coordinator.Cause) string {
	root := cmp.Or(string(c.Root().Role), role)
	return signal.ShortReason(what + chain(role, c) + "; once the cause is fixed: hotc retry " + root)
}

// chain is a chain of causes in a line, as Heat shows it.
func chain(role string, c *coordinator.Cause) string {
	if c == nil {
		return role + ": its agent gives no reason"
	}
	return signal.ShortReason(coordinator.Shorten(c).String())
}

// read notes what Heat reads of a role through a wait. What the stack's outputs read comes
// with the wait of the whole stack.
func (v *verdict) read(about contract.HeatWaitAbout, s *contract.Server, r *contract.Role) {
	through := r.Signal(about.Wait)
	for _, o := range r.Outputs {
		id := string(s.Path)
		switch {
		case about.Role != "" && slices.Contains(through.Outputs, o.Name):
			id = through.ID
		case about.Role != "" || about.Stack != "" || !o.Heat:
			continue
		}
		v.values = append(v.values, value{id, o.ForHeat(), contract.CellRef{Cell: o.Cell, Server: s.Path}})
	}
}
