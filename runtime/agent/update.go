package agent

import (
	"context"
	"errors"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/member"
)

// An operator may change the plan of a live deployment. The agent reads its part again
// before it takes a request, since the request may be about the new one, and when a
// role does not start because of that. A role that has not run takes the new plan as
// it is; one that has is brought to it by its hook update, once for each change.

// followPlan reads the plan again if it was changed, and there is something to be done
// about it.
func (a *agent) followPlan(ctx context.Context) error {
	for _, r := range a.open {
		if known := a.answerTo(r.ID); known != nil && known.Final() {
			continue
		}
		err := a.member.CheckPlan(ctx)
		if errors.Is(err, member.ErrPlanChanged) {
			return a.readPlanAgain(ctx)
		}
		return err
	}
	return nil
}

func (a *agent) readPlanAgain(ctx context.Context) error {
	changed, err := a.member.PlanAgain(ctx)
	if err != nil {
		return err
	}
	a.plan = changed
	a.console.say("the plan was changed: it is read again")
	return nil
}

// takeUpdate brings a role to what its plan has become, if it is not that already.
func (a *agent) takeUpdate(ctx context.Context, r coordinator.Request, p contract.Role) (coordinator.Answer, error) {
	noted := a.journal.Role(p.Name)
	hook := p.Updating()
	current := noted.Made == r.Change && (noted.Update == nil || noted.Update.Status == coordinator.RoleDone)
	switch {
	case p.Definition() != r.Change:
		return refused("the role %s was changed again since", p.Name), nil
	case noted.Status == coordinator.RoleRunning:
		return coordinator.Answer{}, nil // it was interrupted, and its turn comes
	case noted.Status == coordinator.RolePending:
		return unneeded("it has not run, and will as it is now"), nil
	case noted.Status == coordinator.RoleFailed:
		return unneeded("it has failed, and runs as it is now when it is retried"), nil
	case !r.Again && noted.Made == r.Change && noted.Update != nil && noted.Update.Status == coordinator.RoleFailed:
		return coordinator.Answer{Status: coordinator.AnswerFailed, Reason: noted.Update.Cause.String()}, nil // with what it follows, meanwhile
	case current:
		return unneeded("it has run as it is now"), nil
	case hook == nil:
		return refused("the role %s has no hook %s, and is not idempotent", p.Name, contract.HookUpdate), nil
	}
	if fits, err := a.fits(ctx, &p); err != nil || !fits {
		return coordinator.Answer{}, err // half of another change is on its way
	}
	answer, err := a.runTask(ctx, r, p, hook, func() error { return a.showUpdate(ctx, p, "") })
	if err == nil {
		err = a.showUpdate(ctx, p, answer.Output)
	}
	return answer, err
}

// unneeded is the answer to who asks for the hook of a role that does not need it.
func unneeded(why string) coordinator.Answer {
	return coordinator.Answer{Status: coordinator.AnswerDone, Reason: why}
}

// showUpdate reports how a role's update stands, with what it printed if it failed.
func (a *agent) showUpdate(ctx context.Context, p contract.Role, printed string) error {
	now := a.recall(p)
	if now.Update != nil && now.Update.Status == coordinator.RoleFailed {
		now.Update.LastLines = printed
	}
	return a.board.commit(ctx, nil, func(s *coordinator.ServerState) { setRole(s, now) })
}

// withLines is how an update stands, with what it printed as it was reported before:
// the journal does not know that.
func withLines(now, before *coordinator.UpdateState) *coordinator.UpdateState {
	if now == nil || before == nil || now.LastLines != "" || now.Status != before.Status || !now.Started.Equal(before.Started) {
		return now
	}
	whole := *now
	whole.LastLines = before.LastLines
	return &whole
}
