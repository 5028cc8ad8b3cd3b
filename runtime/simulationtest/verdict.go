package simulationtest

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// verdict checks a deployment at rest.
type verdict struct {
	world    *world
	snapshot *deploy.Snapshot
	servers  map[contract.ServerPath]*deploy.ServerSnapshot
	cells    map[contract.CellName]contract.Cell
	// excused are the roles believed to wait for good.
	excused map[contract.RoleKey]bool
	// waits are those that may wait with their updates.
	waits map[contract.RoleKey]bool
}

// check says what is wrong with a deployment at rest: every role is done, failed with its cause, or
// waits for what can never come.
func (w *world) check(s *deploy.Snapshot) {
	v := &verdict{world: w, snapshot: s, servers: map[contract.ServerPath]*deploy.ServerSnapshot{},
		cells: map[contract.CellName]contract.Cell{}, excused: map[contract.RoleKey]bool{}}
	if w.isGone() {
		return
	}
	if !s.Ready {
		w.history.violate("the deployment was never ready")
		return
	}
	for i := range s.Servers {
		v.servers[s.Servers[i].Path] = &s.Servers[i]
	}
	for _, c := range w.program.Plan.Cells {
		v.cells[c.Name] = c
	}
	v.waits = w.waiting(v)
	v.excuse()
	for i := range w.program.Plan.Servers {
		v.server(&w.program.Plan.Servers[i])
	}
	w.judgeUpdates(v)
	if w.judgeJoining(v); w.program.Joining == nil {
		w.judgeFollowing(v)
		w.judgeAgreement()
	}
}

// alive reports whether a server's machine is running and has not been fenced.
func (v *verdict) alive(path contract.ServerPath) bool {
	for _, m := range v.world.machines {
		if m.Server == path && m.last.Load() != nil && !m.left.Load() && !m.last.Load().isEnded() && !m.keptOut() {
			return true
		}
	}
	return false
}

// current is the machine that is a server, if it is running; nil is none.
func (w *world) current(path contract.ServerPath) *machine {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	changes := c.nodes[deployment.Server(path)]
	if len(changes) == 0 || !changes[len(changes)-1].exists {
		return nil
	}
	m := changes[len(changes)-1].machine
	if m == nil || m.left.Load() || m.last.Load() == nil || m.last.Load().isEnded() {
		return nil
	}
	return m
}

func (v *verdict) role(server contract.ServerPath, name string) protocol.RoleState {
	for _, r := range v.servers[server].State.Roles {
		if r.Name == name {
			return r
		}
	}
	return protocol.RoleState{Name: name, Status: protocol.RolePending}
}

// lost reports whether an agent came, did not finish, perhaps what the plan got since, and will not
// return.
func (v *verdict) lost(path contract.ServerPath) bool {
	s := v.servers[path]
	return s.Incarnation.Number > 0 && !v.alive(path) && (!finished(s) ||
		slices.ContainsFunc(v.world.program.server(path).Roles, func(r contract.Role) bool { return v.role(path, r.Name).Status == protocol.RolePending }))
}

func finished(s *deploy.ServerSnapshot) bool {
	return s.State.Phase == protocol.PhaseDone || s.State.Phase == protocol.PhaseFailed
}

// excuse finds the roles that may wait for ever: those that wait for a server that never came, for
// a role that may wait for ever, or for each other. It begins with all that have not ended and
// drops, until nothing changes, those without such a reason.
func (v *verdict) excuse() {
	for _, s := range v.world.program.Plan.Servers {
		for _, r := range s.Roles {
			status := v.role(s.Path, r.Name).Status
			v.excused[s.Path.Role(r.Name)] = status == protocol.RolePending || status == protocol.RoleRunning
		}
	}
	for changed := true; changed; {
		changed = false
		for _, s := range v.world.program.Plan.Servers {
			for i, r := range s.Roles {
				key := s.Path.Role(r.Name)
				if v.excused[key] && !v.hasReason(s, i) {
					v.excused[key], changed = false, true
				}
			}
		}
	}
}

func (v *verdict) hasReason(s contract.Server, index int) bool {
	if v.servers[s.Path].Incarnation.Number == 0 {
		return true
	}
	for _, earlier := range s.Roles[:index] {
		if key := s.Path.Role(earlier.Name); v.excused[key] || v.held(key) {
			return true
		}
	}
	return slices.ContainsFunc(v.role(s.Path, s.Roles[index].Name).Blocked, v.never)
}

// held reports whether a role has to be updated and may wait for that for ever: it keeps those back that
// may wait for it.
func (v *verdict) held(key contract.RoleKey) bool {
	path, _ := key.Split()
	server := v.servers[path]
	return v.waits[key] && slices.ContainsFunc(v.world.planned(path), func(r contract.Role) bool {
		return path.Role(r.Name) == key && owes(r, server.State.Role(r.Name))
	})
}

// never reports whether what a read waits for will never come, while no one can know.
func (v *verdict) never(w protocol.Wait) bool {
	c := v.cells[w.Cell]
	s := v.servers[c.Server]
	if s.Cells[w.Cell].State != protocol.Empty {
		return false
	}
	return s.Incarnation.Number == 0 || c.Role != "" && v.excused[c.Server.Role(c.Role)]
}

func (v *verdict) server(s *contract.Server) {
	violate := v.world.history.violate
	there := v.servers[s.Path]
	if there.Incarnation.Number == 0 {
		if v.alive(s.Path) {
			violate("%s has an agent, and it never enrolled", s.Path)
		}
		return
	}
	if v.lost(s.Path) {
		v.world.history.count("lost servers")
		return
	}
	if v.alive(s.Path) && !there.Alive {
		violate("%s has an agent, and no presence", s.Path)
	}
	for _, r := range s.Roles {
		state := v.role(s.Path, r.Name)
		switch state.Status {
		case protocol.RoleDone:
			v.done(s, r)
		case protocol.RoleFailed, protocol.RoleSkipped:
			v.failed(s, r, state)
		case protocol.RolePending, protocol.RoleRunning:
			if !v.excused[s.Path.Role(r.Name)] {
				violate("%s.%s is %s for ever, and nothing says why: blocked on %v", s.Path, r.Name, state.Status, state.Blocked)
			}
			v.world.history.count("waits for ever")
		}
	}
	if len(s.Roles) == 0 && there.State.Phase != protocol.PhaseDone {
		violate("%s has no roles and is not done: %s", s.Path, there.State.Phase)
	}
}

func (v *verdict) done(s *contract.Server, r contract.Role) {
	v.world.history.count("done")
	there := v.servers[s.Path]
	must := []contract.CellName{s.Path.Role(r.Name).Completion()}
	for _, o := range r.Outputs {
		must = append(must, o.Cell)
	}
	for _, c := range must {
		if record := there.Cells[c]; record.State != protocol.Valued || record.Incarnation != there.Incarnation.Number {
			v.world.history.violate("%s.%s is done, and %s is %s in incarnation %d of %d", s.Path, r.Name, c,
				record.State, record.Incarnation, there.Incarnation.Number)
		}
	}
}

func (v *verdict) failed(s *contract.Server, r contract.Role, state protocol.RoleState) {
	v.world.history.count(string(state.Status))
	there := v.servers[s.Path]
	if state.Cause == nil || state.Cause.Root().Reason == "" {
		v.world.history.violate("%s.%s is %s without a cause", s.Path, r.Name, state.Status)
	}
	if there.State.Phase != protocol.PhaseFailed {
		v.world.history.violate("%s.%s is %s, and the server is %s", s.Path, r.Name, state.Status, there.State.Phase)
	}
	for _, o := range r.Outputs {
		if there.Cells[o.Cell].State == protocol.Empty {
			v.world.history.violate("%s.%s is %s, and %s is empty", s.Path, r.Name, state.Status, o.Cell)
		}
	}
	if c := there.Cells[s.Path.Role(r.Name).Completion()]; c.State != protocol.Failed {
		v.world.history.violate("%s.%s is %s, and its completion is %s", s.Path, r.Name, state.Status, c.State)
	}
}
