// Package status says how a deployment stands: what its plan wants, together with how far the
// agents say that they are. It finds dependency cycles that only run time has, and explains
// what holds a role up, down to the root. Nothing here prints.
package status

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// Status is what a deployment's plan wants, together with how far it is.
type Status struct {
	Ready    bool
	Restored bool // it was put in the place of one that the coordinator had lost
	Servers  []*Server
	ByPath   map[contract.ServerPath]*Server
	Cells    map[contract.CellName]contract.Cell
	Secrets  map[contract.CellName]Secret
	Plan     *contract.Plan
	Stands   string  // the digest of the plan that stands on the coordinator, which may be another one
	Cycles   []Cycle // that two looks agree on
	// Relays is how many relays are there, Heat what Heat said last to one.
	Relays int
	Heat   coordinator.HeatRecord
	// Unrelayed are servers that have come since a relay was there last.
	Unrelayed []contract.ServerPath
}

// Secret is a secret that an operator has given, or has to.
type Secret struct {
	name  string
	given deploy.Given
}

// GivenTo says that a reader can open it.
func (x Secret) GivenTo(reader contract.ServerPath) bool {
	return !x.given.Since.IsZero() && !slices.Contains(x.given.Lacking, reader)
}

// Server is one server of it.
type Server struct {
	deploy.ServerSnapshot
	Roles []*Role // in the order they run
	// Missing is why Heat did not make the server, Perhaps why that may be so where nobody
	// can tell; both are empty for one that came, or has to.
	Missing, Perhaps string
	// Left says that it came, and that Heat has taken its machine out of its group since.
	Left bool
	plan *contract.Server
}

// Role is one role: pending where its agent has reported nothing.
type Role struct {
	coordinator.RoleState
	Server *Server
	Index  int            // on its server
	Plan   *contract.Role // what the plan says of it
	// standing is how it stands to what it follows.
	standing coordinator.Standing
	// gone says that the server of what it waits for has no agent now; "" is that it has one.
	gone string
}

// Came says that an agent was ever there.
func (s *Server) Came() bool { return s.Incarnation.Number > 0 }

// manyMachines is more than a server is replaced as a rule.
const manyMachines = 10

// Machines is how many have come under the server's name, where these are so many that somebody
// should look: each is followed anew, whoever has sent it. It is 0 else.
func (s *Server) Machines() int {
	if s.Incarnation.Number < manyMachines {
		return 0
	}
	return s.Incarnation.Number
}

// Absent says that the server has no part in the stack as it is now.
func (s *Server) Absent() bool { return s.Left || s.Missing != "" }

// Lost says that an agent came, has not finished, and has no session now.
func (s *Server) Lost() bool {
	return s.Came() && !s.Left && !s.Alive && !s.hasEnded()
}

// Gone says that a server has finished and that its agent, which stays, has no session
// now: it was deleted, is switched off, or frozen.
func (s *Server) Gone() bool {
	return s.Came() && !s.Left && !s.Alive && s.hasEnded()
}

// hasEnded says that the server's roles have.
func (s *Server) hasEnded() bool {
	return s.State.Phase == coordinator.PhaseDone || s.State.Phase == coordinator.PhaseFailed
}

// failed says that a role of the server has failed, for itself or because of another, or
// its last update has.
func (s *Server) failed() bool {
	return !s.Left && (s.State.Phase == coordinator.PhaseFailed || slices.ContainsFunc(s.Roles, func(r *Role) bool {
		return r.Status == coordinator.RoleFailed || r.Status == coordinator.RoleSkipped || r.Renewal() == OutOfDate
	}))
}

// AnyFailed says that one of the servers has failed.
func AnyFailed(servers []*Server) bool {
	return slices.ContainsFunc(servers, (*Server).failed)
}

// finished says that nothing more is to be expected of the server.
func (s *Server) finished() bool {
	if s.Absent() {
		return true
	}
	goesOn := func(r *Role) bool {
		now := r.Renewal()
		return now == ToUpdate || now == Updating || now == Superseded
	}
	return s.hasEnded() && !slices.ContainsFunc(s.Roles, goesOn)
}

// Key names a role in its deployment.
func (r *Role) Key() contract.RoleKey {
	return r.Server.Path.Role(r.Name)
}

// IsBlocked says that a role, or its update, waits for a value, perhaps before its tool is started.
func (r *Role) IsBlocked() bool {
	updating := r.Update != nil && r.Update.Status == coordinator.RoleRunning
	return (updating || r.Status == coordinator.RoleRunning || r.Status == coordinator.RolePending) && len(r.Blocked) > 0
}

// holdsUp says that a role has failed, or will not come to its end as things stand.
func (r *Role) holdsUp() bool {
	return r.Status == coordinator.RoleFailed || !r.Server.Came() || r.Server.Lost()
}

// Word is the role's status in one word, as people read it.
func (r *Role) Word() string {
	if r.IsBlocked() && r.Status != coordinator.RoleDone {
		return "blocked"
	}
	return string(r.Status)
}

// Look reads how a deployment of a plan stands.
func Look(ctx context.Context, store coordinator.Store, d coordinator.Deployment, secret coordinator.Secret, p *contract.Plan, size Size) (*Status, error) {
	snapshot, err := deploy.TakeSnapshot(ctx, store, d, secret, p)
	if err != nil {
		return nil, err
	}
	return New(p, snapshot, size), nil
}

// New is what a plan wants, together with how far it is at a moment.
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
		reported := map[string]coordinator.RoleState{}
		for _, r := range s.State.Roles {
			reported[r.Name] = r
		}
		for n, role := range server.Roles {
			state, known := reported[role.Name]
			if !known {
				state = coordinator.RoleState{Name: role.Name, Status: coordinator.RolePending}
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
		now := coordinator.Followed(r.Plan.Follows, snapshot.Members, r.cells(v))
		if r.Status == coordinator.RoleDone {
			r.standing = coordinator.Stand(r.Plan.Follows, r.Followed, now)
		}
		if c := r.Server.Coming[r.Name]; r.standing.Waits == "" && (r.Status == coordinator.RoleDone || r.Status == coordinator.RolePending && c.Added) {
			if missing, come := c.Missing(now); come || c.Asked {
				r.standing.Waits = missing
			}
		}
		if from := v.ByPath[v.Cells[r.standing.Waits].Server]; from != nil && !from.Alive {
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

// Role finds a role; nil is none.
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

// RoleOf finds a role by its key; nil is none.
func (v *Status) RoleOf(key contract.RoleKey) *Role {
	at := strings.LastIndexByte(string(key), '.')
	if at < 0 {
		return nil
	}
	return v.Role(contract.ServerPath(key[:at]), string(key[at+1:]))
}

// Cell is a cell's state now.
func (v *Status) Cell(name contract.CellName) coordinator.CellRecord {
	if x, is := v.Secrets[name]; is {
		return x.given.Record()
	}
	if s := v.ByPath[v.Cells[name].Server]; s != nil {
		return s.Cells[name]
	}
	return coordinator.CellRecord{}
}

// Finished says that nothing more will happen.
func (v *Status) Finished() bool {
	return !slices.ContainsFunc(v.Servers, func(s *Server) bool { return !s.finished() })
}

// Open are a server's roles that are not done, or not up to date. A server that nobody has seen
// and that has only facts to give stands for itself, and so does one whose new machine waits to be let in.
func (s *Server) Open() []*Role {
	var open []*Role
	if s.Absent() {
		return nil
	}
	for _, r := range s.Roles {
		if now := r.Renewal(); r.Status != coordinator.RoleDone || now != UpToDate && now != Unreached {
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
