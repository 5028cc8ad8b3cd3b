package agent

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Heat tries what has failed again in every update, and a relay tells the agent which one it is
// (protocol.HeatValues.Again). The agent then makes the requests itself by which an operator
// retries roles. It reports the update when the failure's marks on the outputs are gone: from then on
// readers on other servers may run again, too.

// triesAgain reports whether failed roles have to run again for Heat, and were not started yet.
func (a *agent) triesAgain() bool { return a.heat.again() != a.again && a.heat.again() != "" }

// tries are requests to run failed roles again, and failed update hooks.
func (a *agent) tries() (all []protocol.Request) {
	if !a.triesAgain() {
		return nil
	}
	for _, r := range a.plan.Roles {
		noted := a.journal.Role(r.Name)
		q := protocol.Request{ID: "again:" + a.heat.again() + ":" + r.Name, Incarnation: a.journal.Incarnation(), Role: r.Name}
		switch {
		case a.journal.Taken(q.ID), a.journal.Task(q.ID).Status.Ended():
			continue // before this agent was restarted
		case noted.Status == protocol.RoleFailed:
			q.Kind, q.Attempt = protocol.Retry, noted.Attempt
		case noted.Status == protocol.RoleDone && noted.Update != nil && noted.Update.Status == protocol.RoleFailed:
			q.Kind, q.Name, q.Change = protocol.Hook, contract.HookUpdate, r.Definition()
		default:
			continue
		}
		all = append(all, q)
	}
	return all
}

// noteTried notes that the requests were taken, once all are.
func (a *agent) noteTried(of string, tries []protocol.Request) {
	if !slices.ContainsFunc(tries, func(r protocol.Request) bool {
		answer := a.answerTo(r.ID)
		return answer == nil || !answer.Final()
	}) {
		a.again = of
	}
}

// sayTried reports the update for which failed roles were started again.
func (a *agent) sayTried() {
	if a.saidAgain != a.again {
		a.saidAgain = a.again
		a.board.show(func(s *protocol.ServerState) { s.Again = a.again })
	}
}
