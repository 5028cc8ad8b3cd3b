package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// lastReport bounds the wait for the agent's last report.
const lastReport = 5 * time.Second

// runRoles runs the roles in order. The first failure skips the later ones. An error says that the
// agent has to end.
func (a *agent) runRoles(ctx context.Context, h *herald) (done bool, err error) {
	if err := a.board.commit(ctx, nil, a.begin); err != nil {
		return false, err
	}
	host := a.host()
	checked, again, taken, plan := false, false, false, a.plan
	for i := 0; i < len(a.plan.Roles); i++ {
		if again, err = a.attend(ctx); err != nil {
			return false, err
		}
		if err := a.bringUpToDate(ctx); err != nil {
			return false, err
		}
		if again || a.plan != plan {
			plan, i = a.plan, 0
			a.board.show(a.begin)
			if len(plan.Roles) == 0 {
				break
			}
		}
		r := a.plan.Roles[i]
		before := a.journal.Role(r.Name).Status
		if before == protocol.RolePending && a.retried() && !taken {
			taken = true
			if err := a.takeBack(ctx, r.Name, true); err != nil {
				return false, err
			}
		}
		a.sayTried()
		if before == protocol.RolePending {
			if held, err := a.heldBack(ctx, i); err != nil {
				return false, err
			} else if held {
				if err := a.awaitNews(ctx); err != nil {
					return false, err
				}
				i-- // check again
				continue
			}
		}
		run := host.Run
		if before == protocol.RolePending && !checked {
			checked = true
			if err := a.preflight(ctx, a.plan.Roles[i:]); err != nil {
				run = func(ctx context.Context, r contract.Role) (protocol.RoleState, error) {
					return host.Fail(ctx, r, err)
				}
			}
		}
		state, err := run(ctx, r)
		if errors.Is(err, member.ErrPlanChanged) {
			if err := a.readPlanAgain(ctx); err != nil {
				return false, err
			}
			i = -1 // start over with the new plan
			continue
		}
		if state.Status == protocol.RoleFailed {
			a.console.say("%v", state.Cause)
			report := ctx
			if err != nil {
				// The agent ends, but readers should not wait for its restart.
				var cancel context.CancelFunc
				report, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastReport)
				defer cancel()
			}
			if reportErr := a.reportFailure(report, i, state); err == nil {
				err = reportErr
			}
			if err == nil {
				for _, later := range a.plan.Roles[i:] {
					if a.journal.Role(later.Name).Status != protocol.RoleDone {
						h.tell(later, state.Cause)
					}
				}
			}
			return false, err
		}
		if err != nil {
			return false, err
		}
		if before != protocol.RoleDone { // otherwise the board already has it, with later updates
			a.console.say("%s: done", host.Key(r.Name))
			if err := a.board.commit(ctx, nil, func(s *protocol.ServerState) { setRole(s, state) }); err != nil {
				return false, err
			}
		}
		h.tell(r, nil)
	}
	return true, a.enter(ctx, protocol.PhaseDone)
}

// retried reports whether a role was retried: the marks of its failure may still be there.
func (a *agent) retried() bool {
	return slices.ContainsFunc(a.plan.Roles, func(r contract.Role) bool { return a.journal.Role(r.Name).Attempt > 0 })
}

// reportFailure fails the outputs of a failed role, once: later only those that the plan got
// meanwhile, with or without this agent. The others may already have been emptied again, for a
// request that is not handled yet, and keep the version of their mark.
func (a *agent) reportFailure(ctx context.Context, index int, state protocol.RoleState) error {
	if attempt, known := a.reported[state.Name]; known && attempt == state.Attempt {
		failed := a.failedDependents(index, state)
		for cell := range failed {
			record, err := a.member.Cell(ctx, cell)
			if err != nil {
				return err
			}
			if record.State != protocol.Empty || record.Version > 0 {
				delete(failed, cell)
			}
		}
		return a.board.commit(ctx, failed, a.failure(index, state, a.skipped(index, state)))
	}
	err := a.failDependents(ctx, index, state)
	if err == nil {
		a.reported[state.Name] = state.Attempt
	}
	return err
}

// begin changes the state to that of a server whose roles are running, for the first time or again.
func (a *agent) begin(s *protocol.ServerState) {
	s.Phase = protocol.PhaseRunning
	for i, r := range a.plan.Roles {
		if now := a.recall(r); now.Status != s.Roles[i].Status {
			s.Roles[i] = now
		}
	}
}

func (a *agent) enter(ctx context.Context, phase protocol.Phase) error {
	return a.board.commit(ctx, nil, func(s *protocol.ServerState) { s.Phase = phase })
}

// failDependents reports a failed role: it, its later roles and their unwritten outputs fail in one
// commit, after its published values were marked.
func (a *agent) failDependents(ctx context.Context, index int, state protocol.RoleState) error {
	if err := a.disown(ctx, &a.plan.Roles[index], state.Cause); err != nil {
		return err
	}
	return a.board.commit(ctx, a.failedDependents(index, state), a.failure(index, state, a.skipped(index, state)))
}

// failedDependents are the cells that fail with a failed role.
func (a *agent) failedDependents(index int, state protocol.RoleState) map[contract.CellName]*protocol.Cause {
	failed := map[contract.CellName]*protocol.Cause{}
	mark := func(r contract.Role, cause *protocol.Cause) {
		failed[a.key(r.Name).Completion()] = cause
		for _, o := range r.Outputs {
			failed[o.Cell] = cause
		}
	}
	mark(a.plan.Roles[index], state.Cause)
	skipped := a.skipped(index, state)
	for _, r := range a.plan.Roles[index+1:] {
		if cause := skipped[r.Name]; cause != nil {
			mark(r, cause)
		}
	}
	return failed
}

// skipped are the causes of the roles after a failed one.
func (a *agent) skipped(index int, state protocol.RoleState) map[string]*protocol.Cause {
	causes := map[string]*protocol.Cause{}
	for _, r := range a.plan.Roles[index+1:] {
		if a.journal.Role(r.Name).Status == protocol.RoleDone {
			continue // the failed role was added before it later
		}
		causes[r.Name] = &protocol.Cause{Role: a.key(r.Name), At: r.At, Cause: state.Cause,
			Reason: fmt.Sprintf("skipped: the role %s before it failed", state.Name)}
	}
	return causes
}

// failure is the change of the server's state for a failed role.
func (a *agent) failure(index int, state protocol.RoleState, skipped map[string]*protocol.Cause) func(*protocol.ServerState) {
	return func(s *protocol.ServerState) {
		s.Phase = protocol.PhaseFailed
		if old := s.Roles[index]; state.LastLines == "" && old.Name == state.Name {
			state.LastLines = old.LastLines
		}
		setRole(s, state)
		for name, cause := range skipped {
			setRole(s, protocol.RoleState{Name: name, Status: protocol.RoleSkipped, Cause: cause})
		}
	}
}

func (a *agent) key(role string) contract.RoleKey {
	return a.Boot.Server.Role(role)
}
