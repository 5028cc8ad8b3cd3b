package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Heat waits before it deletes a machine whose roles have delete hooks, and a relay tells its agent
// (protocol.HeatValues.Going). The agent then makes requests for the hooks itself, and reports
// when all have ended. Heat continues however they end, so a failed one does not stop the others.

// parting are the delete hooks to run because Heat deletes the machine, in reverse order of the
// roles: a role reads from those before it. A hook that an operator has already run is skipped.
func (a *agent) parting() (all []protocol.Request) {
	number := a.journal.Incarnation()
	if !a.heat.going(number) {
		return nil
	}
	for _, r := range slices.Backward(a.plan.Roles) {
		id := fmt.Sprintf("heat:%d:%s", number, r.Name) // distinct from operators' ids, which are digits and letters
		asked := a.journal.Task(id).Status != protocol.RolePending
		if protocol.OwesDelete(&r, a.journal.Role(r.Name).Status) && (asked || !a.journal.Did(r.Name+"."+contract.HookDelete)) {
			all = append(all, protocol.Request{ID: id, Kind: protocol.Hook, Incarnation: number, Role: r.Name, Name: contract.HookDelete})
		}
	}
	return all
}

// parts reports whether Heat deletes the machine, and the end of the delete hooks was not reported
// yet.
func (a *agent) parts() bool {
	return a.heat.going(a.journal.Incarnation()) && (a.going == nil || a.going.Ended.IsZero())
}

// reportGoing reports the progress of the delete hooks.
func (a *agent) reportGoing(ctx context.Context, hooks []protocol.Request, ended bool) error {
	if !a.parts() {
		return nil
	}
	if a.going == nil {
		a.going = &protocol.GoingState{Since: a.Now().UTC()}
	}
	now := *a.going
	if ended {
		now.Ended = a.Now().UTC()
		for _, r := range hooks {
			if answer := a.answerTo(r.ID); answer != nil && answer.Status != protocol.AnswerDone {
				now.Failed = append(now.Failed, &protocol.Cause{Role: a.key(r.Role), Reason: answer.Reason})
			}
		}
	}
	if err := a.board.commit(ctx, nil, func(s *protocol.ServerState) { s.Going = &now }); err != nil {
		return err
	}
	a.going = &now
	return nil
}
