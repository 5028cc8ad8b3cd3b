// Package status computes the status of a deployment from its plan and the agents' reports. It
// finds dependency cycles at run time, and explains what blocks a role, down to the root cause. It
// does not print.
package status

import (
	"context"
	"iter"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Status is a deployment's plan together with its progress.
type Status struct {
	Ready    bool
	Restored bool // it replaces one that the coordinator had lost
	Servers  []*Server
	ByPath   map[contract.ServerPath]*Server
	Cells    map[contract.CellName]contract.Cell
	Secrets  map[contract.CellName]Secret
	Plan     *contract.Plan
	Stands   string  // the digest of the live plan, which may differ
	Cycles   []Cycle // that two snapshots agree on
	// Relays is the number of connected relays, Heat what one last learnt from Heat.
	Relays int
	Heat   protocol.HeatRecord
	// Stack is what Heat said when it was asked for this status.
	Stack Stack
	// Unrelayed are servers that have joined since a relay was last there.
	Unrelayed []contract.ServerPath
}

// Secret is a secret that an operator has supplied, or has to.
type Secret struct {
	name  string
	given deploy.Supplied
}

// SuppliedTo reports whether a reader can open it.
func (x Secret) SuppliedTo(reader contract.ServerPath) bool {
	return !x.given.Since.IsZero() && !slices.Contains(x.given.Lacking, reader)
}

// Server is one server of the deployment.
type Server struct {
	deploy.ServerSnapshot
	Roles []*Role // in the order they run
	// Missing is why Heat did not create the server, Perhaps why it may not have, where that is
	// unknown; both are empty for one that joined, or has to.
	Missing, Perhaps string
	// Left says that it joined, and that Heat has removed its machine from its group since.
	Left bool
	plan *contract.Server
}

// Role is one role: pending if its agent has reported nothing.
type Role struct {
	protocol.RoleState
	Server *Server
	Index  int            // on its server
	Plan   *contract.Role // its part of the plan
	// Verdict is what it owes.
	Verdict reconcile.Verdict
	// gone says that the server of the awaited cell has no agent; "" if it has one.
	gone string
	// passes is a cell that a change of the plan reaches first, if it only passes through this role.
	passes contract.CellName
}

// Came reports whether an agent ever joined.
func (s *Server) Came() bool { return s.Incarnation.Number > 0 }

// Absent reports whether the stack does not have the server now.
func (s *Server) Absent() bool { return s.Left || s.Missing != "" }

// Lost reports whether an agent joined, has not finished, and has no session now.
func (s *Server) Lost() bool {
	return s.Came() && !s.Left && !s.Alive && !s.hasEnded()
}

// Gone reports whether a server has finished and its agent, which normally keeps running, has no
// session now: it was deleted, is switched off, or frozen.
func (s *Server) Gone() bool {
	return s.Came() && !s.Left && !s.Alive && s.hasEnded()
}

// hasEnded reports whether the server's roles have ended. A role that a changed plan added while the
// agent was away has not, whatever the agent said last.
func (s *Server) hasEnded() bool {
	return s.State.Phase == protocol.PhaseFailed ||
		s.State.Phase == protocol.PhaseDone && !slices.ContainsFunc(s.Roles, func(r *Role) bool { return r.Status == protocol.RolePending })
}

// failed reports whether a role of the server, or its last update, has failed, by itself or because
// of another.
func (s *Server) failed() bool {
	return !s.Left && (s.State.Phase == protocol.PhaseFailed || slices.ContainsFunc(s.Roles, func(r *Role) bool {
		return r.Status == protocol.RoleFailed || r.Status == protocol.RoleSkipped || r.Outdated()
	}))
}

// AnyFailed reports whether one of the servers has failed.
func AnyFailed(servers []*Server) bool {
	return slices.ContainsFunc(servers, (*Server).failed)
}

// Finished reports whether nothing more is expected of the server.
func (s *Server) Finished() bool {
	if s.Absent() {
		return true
	}
	return s.hasEnded() && !slices.ContainsFunc(s.Roles, func(r *Role) bool { return r.Verdict.State.Unfinished() })
}

// Key names a role in its deployment.
func (r *Role) Key() contract.RoleKey {
	return r.Server.Path.Role(r.Name)
}

// IsBlocked reports whether a role, or its update, waits for a value, perhaps before its tool is started.
func (r *Role) IsBlocked() bool {
	updating := r.Update != nil && r.Update.Status == protocol.RoleRunning
	return (updating || r.Status == protocol.RoleRunning || r.Status == protocol.RolePending) && len(r.Blocked) > 0
}

// holdsUp reports whether a role has failed, or cannot finish at present.
func (r *Role) holdsUp() bool {
	return r.Status == protocol.RoleFailed || !r.Server.Came() || r.Server.Lost()
}

// Word is the role's status in one word.
func (r *Role) Word() string {
	if r.IsBlocked() && r.Status != protocol.RoleDone {
		return "blocked"
	}
	return string(r.Status)
}

// Look reads the status of a deployment of a plan.
func Look(ctx context.Context, store store.Session, d protocol.Deployment, secret protocol.Secret, p *contract.Plan, size Size) (*Status, error) {
	snapshot, err := deploy.TakeSnapshot(ctx, store, d, secret, p)
	if err != nil {
		return nil, err
	}
	return New(p, snapshot, size), nil
}

// New computes the status from a plan and a snapshot.
func New(p *contract.Plan, snapshot *deploy.Snapshot, size Size) *Status {
	v := &Status{
		Ready:    snapshot.Ready,
		Restored: snapshot.Restored, Stands: snapshot.Plan,
		Relays: snapshot.Relays, Unrelayed: snapshot.Unrelayed,
		Heat:    snapshot.Heat,
		ByPath:  map[contract.ServerPath]*Server{},
		Cells:   map[contract.CellName]contract.Cell{},
		Plan:    p,
		Secrets: map[contract.CellName]Secret{},
	}
	for i, x := range p.Secrets {
		v.Secrets[x.Cell] = Secret{x.Name, snapshot.Given[i]}
	}
	decided := DecisionsOf(snapshot.Servers, size)
	for i, server := range p.Servers {
		s := &Server{ServerSnapshot: snapshot.Servers[i], plan: &p.Servers[i]}
		if !s.Came() {
			s.Missing, s.Perhaps = decided.Whether(server)
		}
		for _, said := range snapshot.Members {
			s.Left = s.Left || s.Came() && said.Gone[server.Path] >= s.Incarnation.Number
		}
		reported := map[string]protocol.RoleState{}
		for _, r := range s.State.Roles {
			reported[r.Name] = r
		}
		for n, role := range server.Roles {
			state, known := reported[role.Name]
			if !known {
				state = protocol.RoleState{Name: role.Name, Status: protocol.RolePending}
			}
			s.Roles = append(s.Roles, &Role{RoleState: state, Server: s, Index: n, Plan: &server.Roles[n]})
		}
		v.Servers = append(v.Servers, s)
		v.ByPath[server.Path] = s
	}
	for _, c := range p.Cells {
		v.Cells[c.Name] = c
	}
	for r := range v.Roles() {
		now := reconcile.Followed(r.Plan.Follows, snapshot.Members, r.cells(v))
		f := reconcile.Facts{Role: r.Plan, Ran: r.RoleState, Now: now, Asked: r.Asked(protocol.Hook, contract.HookUpdate)}
		if c := r.Server.Coming[r.Name]; r.Status == protocol.RoleDone || r.Status == protocol.RolePending && c.Added {
			missing, come := c.Missing(now)
			if come || c.Asked {
				f.Rest = missing
			} else {
				r.passes = missing
			}
		}
		r.Verdict = reconcile.Decide(f)
		if from := v.ByPath[v.Cells[r.Verdict.Waits].Server]; from != nil && !from.Alive {
			r.gone = ", whose server " + string(from.Path) + " is gone"
		}
	}
	return v
}

// Roles are those of all servers.
func (v *Status) Roles() iter.Seq[*Role] {
	return func(yield func(*Role) bool) {
		for _, s := range v.Servers {
			for _, r := range s.Roles {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Role finds a role; nil if there is none.
func (v *Status) Role(server contract.ServerPath, name string) *Role {
	s := v.ByPath[server]
	if s == nil {
		return nil
	}
	for _, r := range s.Roles {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// RoleOf finds a role by its key; nil if there is none.
func (v *Status) RoleOf(key contract.RoleKey) *Role {
	return v.Role(key.Split())
}

// Cell is a cell's current record.
func (v *Status) Cell(name contract.CellName) protocol.CellRecord {
	if x, is := v.Secrets[name]; is {
		return x.given.Record()
	}
	if s := v.ByPath[v.Cells[name].Server]; s != nil {
		return s.Cells[name]
	}
	return protocol.CellRecord{}
}

// Finished reports whether nothing more will happen, as far as is known.
func (v *Status) Finished() bool {
	return !v.Stack.InProgress() && !slices.ContainsFunc(v.Servers, func(s *Server) bool { return !s.Finished() })
}

// Open are a server's roles that are not done, or not up to date. A server without roles whose
// agent is not there is represented by itself, as is one whose new machine waits for approval.
func (s *Server) Open() []*Role {
	var open []*Role
	if s.Absent() {
		return nil
	}
	for _, r := range s.Roles {
		if now := r.Verdict.State; now != reconcile.Current && now != reconcile.Unreached {
			open = append(open, r)
		}
	}
	if len(s.Roles) == 0 && (!s.Came() || s.Lost()) || len(open) == 0 && len(s.AwaitingApproval) > 0 && !s.Alive {
		open = append(open, &Role{Server: s})
	}
	return open
}

// Open are the roles of all servers that are not done, or not up to date.
func (v *Status) Open() []*Role {
	return lists.Flat(v.Servers, (*Server).Open)
}
