package relay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// wait is a software deployment of the stack by which Heat waits for roles.
type wait struct {
	heat.Deployment
	contract.HeatWait
	// superseded says that Heat waits on a newer one of the same name instead: nothing reads this
	// one any more, but Heat continues only when it has ended.
	superseded bool
	// lacks is a value that Heat reads and that was not written yet; "" if there is none.
	lacks string
}

// waitsOf finds a deployment's own waits among a stack's. If Heat has two of one name, a resource
// and its replacement, an update has overtaken another.
func waitsOf(name string, all []heat.Deployment) []wait {
	var out []wait
	for _, d := range all {
		w := wait{Deployment: d}
		if json.Unmarshal(d.Inputs["hotc"], &w.About) != nil || w.About.Format != contract.HeatWaitFormat || w.About.Deployment != name {
			continue
		}
		if json.Unmarshal(d.Inputs["servers"], &w.Servers) != nil {
			continue // not written by the compiler
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
		shared := strings.Contains(out[i].About.Stack, contract.AnyMember) // by all members of a scaling group
		out[i].superseded = !shared && out[i].place() == next.place() && out[i].Created.Before(next.Created.Time)
	}
	return out
}

// inProgress reports whether Heat waits.
func (w wait) inProgress() bool { return w.Status == string(protocol.HeatWaits) }

// verdict is how to end a wait, and why.
type verdict struct {
	state  protocol.HeatWaitState
	reason string
	// values are the values to send along, as an output of this name.
	values []value
	output string
}

// value is an output that Heat reads.
type value struct {
	server, name string
	cell         contract.CellRef
}

// decide computes the status of a wait. A superseded one succeeds, whatever the status of its
// roles: a failure would leave the stack in progress forever.
func (w wait) decide(p *contract.Plan, servers map[contract.ServerPath]relay.Server, c *passedValues) verdict {
	if w.superseded {
		return verdict{state: protocol.HeatDone, reason: "superseded: another update has overtaken the one that waited"}
	}
	return decide(w.HeatWait, p, servers, c)
}

// decide computes the status of a wait from that of its roles. It succeeds when each of the stack's
// current servers is the machine that has joined, and all its roles are done as in the current
// plan; it fails with the first role that has failed.
func decide(w contract.HeatWait, p *contract.Plan, servers map[contract.ServerPath]relay.Server, c *passedValues) verdict {
	out := verdict{state: protocol.HeatDone, reason: "all roles are done", output: contract.StackValues}
	if w.About.Role != "" {
		out.output = contract.RoleValues
	}
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
			out.state, out.reason = protocol.HeatFailed, why
			break
		}
		for i := range server.Roles {
			role := &server.Roles[i]
			if w.About.Role != "" && (role.Name != w.About.Role || role.Signal(w.About.Wait) == nil && planned) {
				continue
			}
			state, what, at := statusOf(role, server, now.State, c.owes(role, server.Path, now))
			if state == protocol.HeatFailed && c.outdated(server.Path, role.Name, servers) {
				state, what = protocol.HeatWaits, "role "+string(server.Path.Role(role.Name))+": runs again after it has failed"
			}
			switch {
			case state == protocol.HeatWaits:
				out.waitFor(what)
			case state == protocol.HeatFailed && (out.state != protocol.HeatFailed || !at.IsZero() && (failed.IsZero() || at.Before(failed))):
				out.state, out.reason, failed = state, what, at
			}
			if planned {
				out.read(w.About, server, role)
			}
		}
	}
	if !planned && len(w.Servers) > 0 { // Heat reads what only the previous plan had
		out.waitFor("the applied plan has nothing for " + w.About.Wait + ": waiting for an update of the stack")
	}
	if missed := missed(w.About, here, servers); missed != "" {
		out.waitFor(missed)
	}
	if w.About.Role != "" && out.state == protocol.HeatDone {
		out.reason = "role " + w.About.Role + " is done"
	}
	if out.state != protocol.HeatDone {
		out.values = nil
	}
	return out
}

// planned reports whether the plan has what Heat waits for: all roles, or one that signals this
// wait.
func planned(about contract.HeatWaitAbout, p *contract.Plan) bool {
	return about.Role == "" || slices.ContainsFunc(p.Servers, func(s contract.Server) bool {
		return slices.ContainsFunc(s.Roles, func(r contract.Role) bool { return r.Signal(about.Wait) != nil })
	})
}

// waitFor notes the first reason to wait; a failure has precedence.
func (v *verdict) waitFor(what string) {
	if v.state == protocol.HeatDone {
		v.state, v.reason = protocol.HeatWaits, what
	}
}

// find is the server of the plan for one of Heat's; nil, with the reason to wait, if none is that
// machine yet.
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
		return nil, fmt.Sprintf("server %s is not in the applied plan", named.Server)
	}
	return nil, fmt.Sprintf("server %s (%s): its agent has not joined", named.Server, named.ID)
}

// statusOf is the status of a role: HeatDone, HeatFailed with the chain of causes and the time, or
// HeatWaits. owed is the change of Heat's values for which it has to run, if any: it will not if
// its agent has seen the change and reports why not.
func statusOf(r *contract.Role, s *contract.Server, now protocol.ServerState, owed int64) (protocol.HeatWaitState, string, time.Time) {
	key := string(s.Path.Role(r.Name))
	is := now.Role(r.Name)
	switch updated := is.Update; {
	case is.Status == protocol.RoleFailed, is.Status == protocol.RoleSkipped:
		return protocol.HeatFailed, failure("", key, is.Cause), is.Ended
	case is.Status != protocol.RoleDone:
		return protocol.HeatWaits, "role " + key + ": " + string(cmp.Or(is.Status, protocol.RolePending)), time.Time{}
	case owed > 0 && is.Behind != nil && is.Behind.Heat >= owed:
		return protocol.HeatFailed, "role " + key + " is not brought up to date: " + chain(key, is.Behind.Cause), time.Time{}
	case owed > 0:
		return protocol.HeatWaits, "role " + key + ": to be updated", time.Time{}
	case updated != nil && updated.Status == protocol.RoleFailed:
		return protocol.HeatFailed, failure("the update hook failed: ", key, updated.Cause), updated.Ended
	case updated != nil && updated.Status != protocol.RoleDone, r.OutOfDate(is.Made):
		return protocol.HeatWaits, "role " + key + ": to be updated", time.Time{}
	}
	return protocol.HeatDone, "", time.Time{}
}

// failure is the reason of a failed role, with the command that runs it again.
func failure(what, role string, c *protocol.Cause) string {
	root := cmp.Or(string(c.Root().Role), role)
	return signal.ShortReason(what + chain(role, c) + "; once the cause is fixed: hotc retry NAME " + root)
}

// chain is a chain of causes in one line, as Heat shows it.
func chain(role string, c *protocol.Cause) string {
	if c == nil {
		return role + ": its agent gave no reason"
	}
	return signal.ShortReason(protocol.Shorten(c).String())
}

// read notes the outputs of a role that Heat reads through a wait. Those for the stack's outputs
// are sent with the wait of the whole stack.
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
