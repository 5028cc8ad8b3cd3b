package relay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
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
	planned := planned(w.About, p)
	here := map[contract.ServerPath]*contract.Server{}
	for _, named := range w.Servers {
		server, why := find(named, p, servers)
		if server == nil {
			out.waitFor(why)
			continue
		}
		here[server.Path] = server
	}
	sight, follows := sightOf(w.About, here, servers, c), ""
	for _, path := range slices.Sorted(maps.Keys(here)) {
		server, now := here[path], servers[path]
		if why := c.cannot(path); why != "" {
			out.state, out.reason = protocol.HeatFailed, why
			break
		}
		for i := range server.Roles {
			role := &server.Roles[i]
			if w.About.Role != "" && (role.Name != w.About.Role || role.Signal(w.About.Wait) == nil && planned) {
				continue
			}
			is := statusOf(role, path, now.State, sight)
			if is.state == protocol.HeatFailed && c.outdated(p, path, role.Name, servers) {
				is = roleStatus{state: protocol.HeatWaits, what: "role " + string(path.Role(role.Name)) + ": runs again after it has failed"}
			}
			switch {
			case is.state == protocol.HeatWaits && is.follows:
				follows = cmp.Or(follows, is.what) // what it waits for says more
			case is.state == protocol.HeatWaits:
				out.waitFor(is.what)
			case is.state == protocol.HeatFailed && (out.state != protocol.HeatFailed || !is.at.IsZero() && (failed.IsZero() || is.at.Before(failed))):
				out.state, out.reason, failed = is.state, is.what, is.at
			}
			if planned {
				out.read(w.About, server, role)
			}
		}
	}
	if !planned && len(w.Servers) > 0 { // Heat reads what only the previous plan had
		out.waitFor("the applied plan has nothing for " + w.About.Wait + ": waiting for an update of the stack")
	}
	if follows != "" {
		out.waitFor(follows)
	}
	if w.About.Role != "" && out.state == protocol.HeatDone {
		out.reason = "role " + w.About.Role + " is done"
	}
	if out.state != protocol.HeatDone {
		out.values = nil
	}
	return out
}

// Says is the status of a wait, and why, of servers that Heat gives no values.
func Says(w contract.HeatWait, p *contract.Plan, servers map[contract.ServerPath]relay.Server) (protocol.HeatWaitState, string) {
	v := decide(w, p, servers, nil)
	return v.state, v.reason
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

// roleStatus is the status of a role as a wait sees it: HeatFailed with the chain of causes and the
// time, HeatWaits, perhaps until it has run with what it follows of others, or HeatDone.
type roleStatus struct {
	state   protocol.HeatWaitState
	what    string
	at      time.Time
	follows bool
}

// statusOf is the status of a role. What keeps it behind its agent reports, which alone sees that.
func statusOf(r *contract.Role, server contract.ServerPath, now protocol.ServerState, s *sight) roleStatus {
	key, is := string(server.Role(r.Name)), now.Role(r.Name)
	cells := s.of(r, server, is)
	v := reconcile.Decide(reconcile.Facts{Role: r, Ran: is, Now: cells})
	switch {
	case v.State == reconcile.Failed && is.Status == protocol.RoleDone:
		return roleStatus{state: protocol.HeatFailed, what: failure("the update hook failed: ", key, v.Cause), at: is.Update.Ended}
	case v.State == reconcile.Failed:
		return roleStatus{state: protocol.HeatFailed, what: failure("", key, v.Cause), at: is.Ended}
	case is.Status != protocol.RoleDone:
		return roleStatus{state: protocol.HeatWaits, what: "role " + key + ": " + string(cmp.Or(is.Status, protocol.RolePending))}
	case !v.Redefined && len(v.Newer) > 0 && is.Behind.Covers(v.Newer, cells):
		return roleStatus{state: protocol.HeatFailed, what: "role " + key + " is not brought up to date: " + chain(key, is.Behind.Cause)}
	case !v.Redefined && (v.State == reconcile.Current || v.State == reconcile.Unreached):
		return roleStatus{state: protocol.HeatDone}
	}
	why := s.because(r, is, v)
	return roleStatus{state: protocol.HeatWaits, what: "role " + key + ": to be updated" + why, follows: why != ""}
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
