package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// An operator may change the plan of a live deployment. The agent reads its part again before it
// handles a request, since the request may be about the new one, and when a role does not start
// because of that. A role that has not run uses the new plan; one that has is updated by its hook
// update, once for each change.

// watchPlan learns, while a role may run, which cells a change of the plan adds and removes;
// between roles the agent reads it again.
func (a *agent) watchPlan(ctx context.Context) error {
	return store.OnChange(ctx, a.store, protocol.Deployment(a.Boot.Deployment).ServerPlan(a.Boot.Server), func() {
		if err := a.member.LearnAhead(ctx); err != nil && ctx.Err() == nil {
			a.console.say("the plan has changed: %v", err)
		}
		a.replan()
	})
}

// replan notes that the plan may have changed.
func (a *agent) replan() { store.Wake(a.planned) }

// followPlan reads the plan again if it has changed.
func (a *agent) followPlan(ctx context.Context) error {
	look := len(protocol.Open(a.open, a.answers)) > 0 || a.member.LostPlan()
	select {
	case <-a.planned:
		look = true
	default:
	}
	if !look {
		return nil
	}
	err := a.member.CheckPlan(ctx)
	if errors.Is(err, member.ErrPlanChanged) {
		return a.readPlanAgain(ctx)
	}
	return err
}

func (a *agent) readPlanAgain(ctx context.Context) error {
	changed, err := a.member.PlanAgain(ctx)
	if err != nil {
		return err
	}
	before := a.plan
	a.plan = changed
	a.relayed.Store(changed.Relayed)
	a.console.say("the plan has changed: reading it again")
	more := a.heat.anew(before, a.plan)
	a.noteMoves(before)
	if err := a.forgetRemoved(); err != nil {
		return err
	}
	if err := a.forgetOutputs(); err != nil {
		return err
	}
	a.follows.reset()
	for _, now := range changed.Reads {
		if !slices.ContainsFunc(before.Reads, func(r contract.CellRef) bool { return r.Cell == now.Cell }) {
			a.newlyRead[now.Cell] = true
		}
	}
	err = a.board.commit(ctx, nil, a.rearrange)
	if err == nil {
		err = a.watchHeat(ctx)
	}
	if err == nil && more {
		err = a.readHeat(ctx)
	}
	if err == nil && !slices.Equal(before.Facts, changed.Facts) {
		err = a.publishFacts(ctx)
	}
	if err != nil {
		return err
	}
	for i, r := range a.plan.Roles { // roles added after a failed one fail, too
		if state := a.recall(r); state.Status == protocol.RoleFailed {
			return a.reportFailure(ctx, i, state)
		}
	}
	return nil
}

// rearrange changes the state to that of a server with the roles of the plan.
func (a *agent) rearrange(s *protocol.ServerState) {
	roles := make([]protocol.RoleState, len(a.plan.Roles))
	for i, r := range a.plan.Roles {
		if roles[i] = s.Role(r.Name); roles[i].Name == "" {
			roles[i] = a.recall(r)
		}
		if roles[i].Status == protocol.RoleDone {
			roles[i].Followed, roles[i].Made = a.heat.ran(&r, roles[i].Followed), a.journal.Role(r.Name).Made
		}
	}
	s.Roles, s.Decided = roles, a.decided()
}

// forgetRemoved notes which started roles were removed from the plan.
func (a *agent) forgetRemoved() error {
	for _, name := range a.journal.Begun() {
		if a.index(name) >= 0 {
			continue
		}
		if err := a.journal.NoteRemoved(name); err != nil {
			return err
		}
		delete(a.reported, name)
		a.console.say("%s was removed from the plan", a.key(name))
	}
	return nil
}

// forgetOutputs notes which outputs were removed from roles: if the plan gets them again, their values
// are gone.
func (a *agent) forgetOutputs() error {
	for i := range a.plan.Roles {
		r := &a.plan.Roles[i]
		noted := a.journal.Role(r.Name)
		if noted.Status != protocol.RoleDone || noted.Made == "" || noted.Made == r.Made() || r.OutOfDate(noted.Made) {
			continue
		}
		if err := a.journal.NoteSame(r.Name, r.Made(), noted.Followed); err != nil {
			return err
		}
	}
	return nil
}

// mayGoOn reports whether the first role that is not done can run.
func (a *agent) mayGoOn() bool {
	for _, r := range a.plan.Roles {
		if status := a.journal.Role(r.Name).Status; status != protocol.RoleDone {
			return status == protocol.RolePending
		}
	}
	return false
}

// takenOut explains why this machine is no longer the server: whether an operator has removed it
// from the deployment.
func (a *agent) takenOut(ctx context.Context, err error) error {
	if a.member == nil || a.store == nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastReport)
	defer stop()
	if removed := a.member.Removed(ctx); removed != nil {
		return removed
	}
	if a.session != nil {
		return a.member.MayReturn(ctx, err)
	}
	return err
}

// takeUpdate runs a role's update again, as an operator or Heat has asked. Changes of the plan are not
// asked for: see bring.
func (a *agent) takeUpdate(ctx context.Context, r protocol.Request, p contract.Role) (protocol.Answer, error) {
	if begun := a.journal.Role(p.Name).Updating; begun.Request != r.ID && !p.Idempotent {
		if err := a.endInterrupted(ctx, &p); err != nil { // for what the role follows, and for this
			return protocol.Answer{}, err
		}
	}
	noted := a.journal.Role(p.Name)
	hook := p.Updating()
	if hook == nil && r.Force { // an operator vouches for it
		again := p
		again.Idempotent = true
		hook = again.Updating()
	}
	current := !p.OutOfDate(noted.Made) && (noted.Update == nil || noted.Update.Status == protocol.RoleDone)
	switch {
	case p.Definition() != r.Change:
		return refused("superseded: the role %s has changed again since", p.Name), nil
	case noted.Status == protocol.RoleRunning:
		return protocol.Answer{}, nil // it was interrupted, and is handled first
	case noted.Status == protocol.RolePending:
		return unneeded("it has not run, and will run as changed"), nil
	case noted.Status == protocol.RoleFailed:
		return unneeded("it has failed, and runs as changed when it is retried"), nil
	case current && !r.Force:
		return unneeded("it has already run as changed"), nil
	case hook == nil:
		return refused("the role %s has no hook %s, and is not idempotent", p.Name, contract.HookUpdate), nil
	}
	if held, err := a.held(ctx, &p); held || err != nil {
		return protocol.Answer{}, err
	}
	pins, is, err := a.fits(ctx, &p) // after it: they are at least as new
	switch {
	case err != nil:
		return protocol.Answer{}, err
	case is.State == reconcile.Behind:
		cause, err := a.noteHalf(ctx, &p, r.ID, is.Cause)
		return protocol.Answer{Status: protocol.AnswerFailed, Reason: cause.String()}, err
	case is.State == reconcile.Held:
		return protocol.Answer{}, nil // another change has only partly arrived
	}
	answer, err := a.runTask(ctx, r, p, hook, pins, func() error { return a.showUpdate(ctx, p, "") })
	if err == nil {
		err = a.showUpdate(ctx, p, answer.Output)
	}
	return answer, err
}

// unneeded is the answer to a request for a hook that does not have to run.
func unneeded(why string) protocol.Answer {
	return protocol.Answer{Status: protocol.AnswerDone, Reason: why}
}

// showUpdate reports the status of a role's update, with its output if it failed.
func (a *agent) showUpdate(ctx context.Context, p contract.Role, printed string) error {
	now := a.recall(p)
	if now.Update != nil && now.Update.Status == protocol.RoleFailed {
		now.Update.LastLines = printed
	}
	return a.board.commit(ctx, nil, func(s *protocol.ServerState) { setRole(s, now) })
}

// showWaits shows which reads of a role's update wait.
func (a *agent) showWaits(role string) func([]protocol.Wait) {
	return func(waits []protocol.Wait) {
		a.board.show(func(s *protocol.ServerState) {
			if now := s.Role(role); now.Update != nil && now.Update.Status == protocol.RoleRunning {
				now.Blocked = waits
				setRole(s, now)
			}
		})
	}
}

// withLines adds to an update's status the output that was reported before: the journal does not
// have it.
func withLines(now, before *protocol.UpdateState) *protocol.UpdateState {
	if now == nil || before == nil || now.LastLines != "" || now.Status != before.Status || !now.Started.Equal(before.Started) {
		return now
	}
	whole := *now
	whole.LastLines = before.LastLines
	return &whole
}
