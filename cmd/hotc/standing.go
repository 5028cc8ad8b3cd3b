package main

import (
	"context"
	"slices"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// standing is what a deployment's plan wants, together with how far it is. What
// status and why say is computed from it alone.
type standing struct {
	ready   bool
	servers []*serverStanding
	byPath  map[plan.ServerPath]*serverStanding
	cells   map[plan.CellName]plan.Cell
	secrets map[plan.CellName]secretStanding
	plan    *plan.Plan
	target  *target
	cycles  []cycle // that two looks agree on
}

// secretStanding is a secret that an operator has given, or has to.
type secretStanding struct {
	name  string
	given coordinator.Given
}

// givenTo says that a reader can open it.
func (x secretStanding) givenTo(reader plan.ServerPath) bool {
	return !x.given.Since.IsZero() && !slices.Contains(x.given.Lacking, reader)
}

// serverStanding is one server of it.
type serverStanding struct {
	coordinator.ServerSnapshot
	roles []roleStanding // in the order they run
	// missing is why Heat did not make the server, perhaps why that may be so where nobody
	// can tell; both are empty for one that came, or has to.
	missing, perhaps string
}

// roleStanding is one role: pending where its agent has reported nothing.
type roleStanding struct {
	coordinator.RoleState
	server *serverStanding
	index  int
}

// came says that an agent was ever there.
func (s *serverStanding) came() bool { return s.Incarnation.Number > 0 }

// lost says that an agent came, has not finished, and has no session now.
func (s *serverStanding) lost() bool {
	return s.came() && !s.Alive && s.State.Phase != coordinator.PhaseDone && s.State.Phase != coordinator.PhaseFailed
}

// gone says that a server has finished and that its agent, which stays, has no session
// now: it was deleted, is switched off, or frozen.
func (s *serverStanding) gone() bool {
	return s.came() && !s.Alive && (s.State.Phase == coordinator.PhaseDone || s.State.Phase == coordinator.PhaseFailed)
}

// failed says that a role of the server has failed, for itself or because of another, or
// its last update has.
func (s *serverStanding) failed() bool {
	return s.State.Phase == coordinator.PhaseFailed || slices.ContainsFunc(s.roles, func(r roleStanding) bool {
		return r.Status == coordinator.RoleFailed || r.Status == coordinator.RoleSkipped || r.renewal() == outOfDate
	})
}

// anyFailed says that one of the servers has failed.
func anyFailed(servers []*serverStanding) bool {
	return slices.ContainsFunc(servers, (*serverStanding).failed)
}

// finished says that nothing more is to be expected of the server.
func (s *serverStanding) finished() bool {
	for i := range s.roles {
		if now := s.roles[i].renewal(); now == toUpdate || now == updating {
			return false
		}
	}
	return s.missing != "" || s.State.Phase == coordinator.PhaseDone || s.State.Phase == coordinator.PhaseFailed
}

func (r *roleStanding) key() plan.RoleKey {
	return plan.RoleKey(string(r.server.Path) + "." + r.Name)
}

// blocked says that a role waits for a value, perhaps before its tool is started.
func (r *roleStanding) blocked() bool {
	return (r.Status == coordinator.RoleRunning || r.Status == coordinator.RolePending) && len(r.Blocked) > 0
}

// holdsUp says that a role has failed, or will not come to its end as things stand.
func (r *roleStanding) holdsUp() bool {
	return r.Status == coordinator.RoleFailed || !r.server.came() || r.server.lost()
}

// word is the role's status in one word, as people read it.
func (r *roleStanding) word() string {
	if r.blocked() {
		return "blocked"
	}
	return string(r.Status)
}

// look reads how a deployment stands.
func (s *session) look(ctx context.Context) (*standing, error) {
	within, stop := s.within(ctx)
	defer stop()
	p, err := coordinator.ReadPlan(within, s, s.deployment, s.secret)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return s.lookAgain(ctx, p)
}

// lookAgain is look with a plan that was read before.
func (s *session) lookAgain(ctx context.Context, p *plan.Plan) (*standing, error) {
	within, stop := s.within(ctx)
	defer stop()
	snapshot, err := coordinator.TakeSnapshot(within, s, s.deployment, s.secret, p)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	v := newStanding(p, snapshot)
	v.target = s.target
	return v, nil
}

func newStanding(p *plan.Plan, snapshot *coordinator.Snapshot) *standing {
	v := &standing{
		ready:  snapshot.Ready,
		byPath: map[plan.ServerPath]*serverStanding{},
		cells:  map[plan.CellName]plan.Cell{},
		plan:   p,
		target: &target{},

		secrets: map[plan.CellName]secretStanding{},
	}
	for i, x := range p.Secrets {
		v.secrets[x.Cell] = secretStanding{x.Name, snapshot.Given[i]}
	}
	decided := decisionsOf(snapshot.Servers)
	for i, server := range p.Servers {
		s := &serverStanding{ServerSnapshot: snapshot.Servers[i]}
		if !s.came() {
			s.missing, s.perhaps = decided.whether(server)
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
			s.roles = append(s.roles, roleStanding{RoleState: state, server: s, index: n})
		}
		v.servers = append(v.servers, s)
		v.byPath[server.Path] = s
	}
	for _, c := range p.Cells {
		v.cells[c.Name] = c
	}
	return v
}

// role finds a role; nil is none.
func (v *standing) role(server plan.ServerPath, name string) *roleStanding {
	s := v.byPath[server]
	if s == nil {
		return nil
	}
	for i := range s.roles {
		if s.roles[i].Name == name {
			return &s.roles[i]
		}
	}
	return nil
}

// cell is a cell's state now.
func (v *standing) cell(name plan.CellName) coordinator.CellRecord {
	if s := v.byPath[v.cells[name].Server]; s != nil {
		return s.Cells[name]
	}
	return coordinator.CellRecord{}
}

// finished says that nothing more will happen.
func (v *standing) finished() bool {
	for _, s := range v.servers {
		if !s.finished() {
			return false
		}
	}
	return true
}
