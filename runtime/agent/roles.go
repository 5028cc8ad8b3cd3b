package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// lastReport is how long the agent's end waits for its last report.
const lastReport = 5 * time.Second

// runRoles runs the roles in order. The first failure ends the later ones. An
// error says that the agent has to end.
func (a *agent) runRoles(ctx context.Context) (done bool, err error) {
	if err := a.enter(ctx, coordinator.PhaseRunning); err != nil {
		return false, err
	}
	host := a.host()
	checked := false
	for i, r := range a.plan.Roles {
		before := a.journal.Role(r.Name).Status
		run := host.Run
		if before == coordinator.RolePending && !checked {
			checked = true
			if err := a.preflight(ctx, a.plan.Roles[i:]); err != nil {
				run = func(ctx context.Context, r plan.Role) (coordinator.RoleState, error) { return host.Fail(ctx, r, err) }
			}
		}
		state, err := run(ctx, r)
		if state.Status == coordinator.RoleFailed {
			a.console.say("%v", state.Cause)
			report := ctx
			if err != nil {
				// The agent ends, but whoever waits for the role should not wait for its return.
				var cancel context.CancelFunc
				report, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastReport)
				defer cancel()
			}
			if reportErr := a.poison(report, i, state); err == nil {
				err = reportErr
			}
			return false, err
		}
		if err != nil {
			return false, err
		}
		if before != coordinator.RoleDone {
			a.console.say("%s: done", host.Key(r.Name))
		}
		if err := a.board.commit(ctx, nil, func(s *coordinator.ServerState) { setRole(s, state) }); err != nil {
			return false, err
		}
	}
	return true, a.enter(ctx, coordinator.PhaseDone)
}

func (a *agent) enter(ctx context.Context, phase coordinator.Phase) error {
	return a.board.commit(ctx, nil, func(s *coordinator.ServerState) { s.Phase = phase })
}

// poison reports a failed role: it, its later roles and all that they have not
// written fail in one commit.
func (a *agent) poison(ctx context.Context, index int, state coordinator.RoleState) error {
	failed := map[plan.CellName]*coordinator.Cause{}
	mark := func(r plan.Role, cause *coordinator.Cause) {
		failed[plan.CellName(a.key(r.Name))] = cause
		for _, o := range r.Outputs {
			failed[o.Cell] = cause
		}
	}
	mark(a.plan.Roles[index], state.Cause)
	skipped := map[string]*coordinator.Cause{}
	for _, r := range a.plan.Roles[index+1:] {
		skipped[r.Name] = &coordinator.Cause{Role: a.key(r.Name), At: r.At, Cause: state.Cause,
			Reason: fmt.Sprintf("skipped: the role %s before it failed", state.Name)}
		mark(r, skipped[r.Name])
	}
	return a.board.commit(ctx, failed, func(s *coordinator.ServerState) {
		s.Phase = coordinator.PhaseFailed
		setRole(s, state)
		for name, cause := range skipped {
			setRole(s, coordinator.RoleState{Name: name, Status: coordinator.RoleSkipped, Cause: cause})
		}
	})
}

func (a *agent) key(role string) plan.RoleKey {
	return plan.RoleKey(string(a.Boot.Server) + "." + role)
}
