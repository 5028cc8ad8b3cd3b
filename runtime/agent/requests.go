package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/journal"
	"github.com/hotc-dev/hotc/runtime/role"
)

// keptAnswers is how many answers are kept after their requests were dropped.
const keptAnswers = 16

// attend handles the requests of operators that can be handled now, in order, while no role is
// running. again says that a role has to run again. An error says that the agent has to end.
//
// The journal decides whether a request was taken: its id is written there before anything is done
// for it. The answer follows, and is written by the next agent if this one does not get that far.
func (a *agent) attend(ctx context.Context) (again bool, err error) {
	switch record, err := a.member.Asked(ctx); {
	case errors.Is(err, protocol.ErrForged): // those that were read before are still valid
		a.console.say("requests are ignored: %v", err)
	case err != nil:
		return false, err
	default:
		a.posted, a.coming = record.Requests, record.Coming
	}
	if a.returned.Swap(false) && len(a.answers) > 0 { // operators wait for them
		if err := a.session.Answer(ctx, a.answers); err != nil {
			return false, err
		}
	}
	before := a.plan
	a.open, a.later = a.posted, false
	if newest, err := a.newestPlan(ctx); err != nil || !newest {
		return false, err
	}
	again = a.plan != before && a.mayGoOn()
	hooks := a.parting()
	if err := a.reportGoing(ctx, hooks, false); err != nil {
		return false, err
	}
	update, tries := a.heat.again(), a.tries()
	requests := slices.Concat(a.posted, tries, hooks)
	a.open = requests
	for i, r := range requests {
		if known := a.answerTo(r.ID); known != nil && known.Final() {
			if err := a.noteAnswered(ctx, r, known); err != nil {
				return false, err
			}
			continue
		}
		answer, restart, err := a.take(ctx, r)
		if err == nil && answer.Final() && i < len(a.posted) {
			err = a.journal.NoteAnswered(r, answer)
		}
		if err != nil {
			if answer.Final() {
				// The agent ends, but the answer should not wait for its restart.
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReport)
				defer cancel()
				err = errors.Join(err, a.answer(last, r, answer))
			}
			return false, err
		}
		again = again || restart
		if answer.Status == "" {
			a.later = true // its time has not come
			continue
		}
		if err := a.answer(ctx, r, answer); err != nil {
			return false, err
		}
		what := string(r.Kind) + " " + r.Role
		if r.Name != "" {
			what += " " + r.Name
		}
		a.console.say("request %s: %s", what, strings.TrimSuffix(string(answer.Status)+": "+answer.Reason, ": "))
		if answer.Started.IsZero() {
			continue
		}
		if newest, err := a.newestPlan(ctx); err != nil || !newest { // it may have changed while the task ran
			return again, err
		}
	}
	if update != "" {
		a.noteTried(update, tries)
	}
	return again || a.plan != before && a.mayGoOn(), a.reportGoing(ctx, hooks, true)
}

// newestPlan reads the plan again if it has changed. false: it cannot be used, and requests wait.
func (a *agent) newestPlan(ctx context.Context) (bool, error) {
	err := a.followPlan(ctx)
	a.unread = errors.Is(err, protocol.ErrForged) || errors.Is(err, member.ErrOlder) || errors.Is(err, member.ErrPlanChanged)
	if a.unread {
		a.console.say("requests wait for the plan: %v", err) // which is read again when it changes
		return false, nil
	}
	return err == nil, err
}

// noteAnswered notes the end of a task that was answered but could not be noted, because the disk
// was full.
func (a *agent) noteAnswered(ctx context.Context, r protocol.Request, answer *protocol.Answer) error {
	if a.journal.Task(r.ID).Status != protocol.RoleRunning {
		return nil
	}
	end := journal.End{ExitCode: answer.ExitCode}
	if answer.Status == protocol.AnswerFailed {
		end.Cause = &protocol.Cause{Role: a.key(r.Role), Reason: answer.Reason}
	}
	err := a.journal.NoteTaskEnded(r.ID, r.Role+"."+r.Name, a.journal.Task(r.ID).Made, end)
	if index := a.index(r.Role); err == nil && r.Change != "" && index >= 0 {
		err = a.showUpdate(ctx, a.plan.Roles[index], answer.Output)
	}
	return err
}

// index is the index of a role on the server; -1 if it has none of this name.
func (a *agent) index(role string) int {
	return slices.IndexFunc(a.plan.Roles, func(p contract.Role) bool { return p.Name == role })
}

func (a *agent) answerTo(id string) *protocol.Answer {
	for i := range a.answers {
		if a.answers[i].ID == id {
			return &a.answers[i]
		}
	}
	return nil
}

// answer writes the answer to a request. Older answers whose requests were dropped are eventually
// removed.
func (a *agent) answer(ctx context.Context, r protocol.Request, answer protocol.Answer) error {
	answer.ID, answer.Kind, answer.Role, answer.Name = r.ID, r.Kind, r.Role, r.Name
	if known := a.answerTo(r.ID); known != nil {
		*known = answer
	} else {
		a.answers = append(a.answers, answer)
	}
	over := len(a.answers) - keptAnswers - len(a.open)
	a.answers = slices.DeleteFunc(a.answers, func(old protocol.Answer) bool {
		gone := over > 0 && !slices.ContainsFunc(a.open, func(r protocol.Request) bool { return r.ID == old.ID })
		if gone {
			over--
		}
		return gone
	})
	return a.session.Answer(ctx, a.answers)
}

// take performs a request. An answer without a status says that it cannot be performed yet.
func (a *agent) take(ctx context.Context, r protocol.Request) (answer protocol.Answer, again bool, err error) {
	index := a.index(r.Role)
	switch {
	case a.journal.Taken(r.ID):
		return protocol.Answer{Status: protocol.AnswerDone}, false, nil
	case a.journal.Task(r.ID).Status == protocol.RolePending && r.Number > 0 && r.Number <= a.journal.Forgotten():
		return refused("it was answered before: this machine has answered all requests up to the number %d, and this one has the number %d", a.journal.Forgotten(), r.Number), false, nil
	case a.journal.Task(r.ID).Status != protocol.RolePending:
		if answer, err = a.recallTask(r, index); err == nil && r.Change != "" && index >= 0 {
			err = a.showUpdate(ctx, a.plan.Roles[index], answer.Output)
		}
		return answer, false, err
	case r.Incarnation != a.journal.Incarnation():
		return refused("the request is for incarnation %d of the server, and this is incarnation %d", r.Incarnation, a.journal.Incarnation()), false, nil
	case index < 0:
		return refused("the server has no role %s", r.Role), false, nil
	}
	switch r.Kind {
	case protocol.Retry, protocol.Skip:
		return a.takeAgain(ctx, r, a.plan.Roles[index])
	case protocol.Hook:
		if r.Name == contract.HookUpdate {
			answer, err = a.takeUpdate(ctx, r, a.plan.Roles[index])
			return answer, false, err
		}
		fallthrough
	case protocol.Action:
		answer, err = a.takeTask(ctx, r, a.plan.Roles[index])
		return answer, false, err
	}
	return refused("this agent does not know the request %q", r.Kind), false, nil
}

func refused(format string, arguments ...any) protocol.Answer {
	return protocol.Answer{Status: protocol.AnswerRefused, Reason: fmt.Sprintf(format, arguments...)}
}

// takeAgain performs a request to run a failed role again, or to treat it as done.
func (a *agent) takeAgain(ctx context.Context, r protocol.Request, p contract.Role) (protocol.Answer, bool, error) {
	noted := a.journal.Role(p.Name)
	switch {
	case noted.Status != protocol.RoleFailed:
		return refused("the role %s has not failed: it is %s", p.Name, noted.Status), false, nil
	case noted.Attempt != r.Attempt:
		return refused("the role %s has been run again since", p.Name), false, nil
	}
	if r.Kind == protocol.Retry {
		return protocol.Answer{Status: protocol.AnswerDone}, true, a.journal.NoteRetry(r.ID, p.Name)
	}
	if err := a.takeBack(ctx, p.Name, false); err != nil {
		return protocol.Answer{}, false, err
	}
	if refusal, err := a.publishGiven(ctx, r, p); refusal != nil || err != nil {
		if err == nil {
			err = a.markAgain(ctx, p.Name)
		}
		return protocol.Answer{Status: protocol.AnswerRefused, Reason: fmt.Sprint(refusal)}, false, err
	}
	return protocol.Answer{Status: protocol.AnswerDone}, true, a.journal.NoteByHand(r.ID, p.Name, p.Made())
}

// publishGiven publishes the outputs that an operator supplies for a skipped role. The refusal says
// what is wrong with them.
func (a *agent) publishGiven(ctx context.Context, r protocol.Request, p contract.Role) (refusal, err error) {
	for _, o := range p.Outputs {
		given, is := r.Values[o.Name]
		if !is {
			record, err := a.member.Cell(ctx, o.Cell)
			if err != nil {
				return nil, err
			}
			if record.State != protocol.Valued {
				return fmt.Errorf("the output %s is missing", o.Name), nil
			}
			continue
		}
		value, err := driver.Check(o.Type, given)
		if err != nil {
			return fmt.Errorf("output %s: %w", o.Name, err), nil
		}
		err = a.session.Put(ctx, o.Cell, value, a.Now())
		switch {
		case errors.Is(err, member.ErrOtherValue), errors.Is(err, store.ErrTooLarge):
			return fmt.Errorf("output %s: %w", o.Name, err), nil
		case err != nil:
			return nil, err
		}
	}
	return nil, nil
}

// takeBack empties the cells that the failure of a role has marked as failed: its own and those of
// later roles; with values, also those that were published.
func (a *agent) takeBack(ctx context.Context, from string, values bool) error {
	var cells []contract.CellName
	found := false
	for _, r := range a.plan.Roles {
		if found = found || r.Name == from; !found || r.Name != from && a.journal.Role(r.Name).Status == protocol.RoleDone {
			continue
		}
		cells = append(append(cells, a.key(r.Name).Completion()), cellsOf(&r)...)
	}
	return a.session.TakeBack(ctx, cells, values)
}

// cellsOf are those of a role's outputs.
func cellsOf(r *contract.Role) (cells []contract.CellName) {
	for _, o := range r.Outputs {
		cells = append(cells, o.Cell)
	}
	return cells
}

// markAgain restores the marks that takeBack removed, after a refusal.
func (a *agent) markAgain(ctx context.Context, name string) error {
	index := a.index(name)
	return a.failDependents(ctx, index, a.journal.Role(a.plan.Roles[index].Name).RoleState)
}

// takeTask runs an action or a hook, if that is possible now.
func (a *agent) takeTask(ctx context.Context, r protocol.Request, p contract.Role) (protocol.Answer, error) {
	tasks := p.Actions
	if r.Kind == protocol.Hook {
		tasks = p.Hooks
	}
	t := contract.FindTask(tasks, r.Name)
	if t == nil {
		return refused("the role %s has no %s %s", p.Name, r.Kind, r.Name), nil
	}
	switch status := a.journal.Role(p.Name).Status; {
	case status == protocol.RoleDone:
	case status == protocol.RoleFailed && r.Kind == protocol.Hook && r.Name == contract.HookDelete:
	case a.failed():
		return refused("the role %s is not done, and a role of its server has failed", p.Name), nil
	default:
		return protocol.Answer{}, nil
	}
	return a.runTask(ctx, r, p, t, nil, func() error { return nil })
}

// runTask runs a task once, with these values of what the role follows. started is called after its
// start was noted.
func (a *agent) runTask(ctx context.Context, r protocol.Request, p contract.Role, t *contract.Task, pins seen, started func() error) (protocol.Answer, error) {
	host, name, made := a.host(), p.Name+"."+t.Name, ""
	if r.Change != "" {
		made = p.Made()
		var err error
		if host.Change, err = a.reaching(ctx, &p); err != nil {
			return protocol.Answer{}, err
		}
	}
	answer := protocol.Answer{Status: protocol.AnswerRunning, Started: a.Now().UTC()}
	task := &role.Task{Task: *t, Kind: r.Kind, Arguments: r.Values, Pins: pins, Waits: a.showWaits(p.Name), Start: func(ctx context.Context, mark string, followed journal.Followed) error {
		if err := a.answer(ctx, r, answer); err != nil {
			return err
		}
		if err := a.journal.NoteTaskRunning(r.ID, name, mark, made, followed); err != nil {
			return err
		}
		return started()
	}}
	end, err := host.RunTask(ctx, p, task)
	if err != nil && (end.Cause == nil || a.journal.Task(r.ID).Status == protocol.RolePending) {
		return answer, err // it has not started: the next agent takes the request
	}
	answer.Status, answer.ExitCode, answer.Ended, answer.Output = protocol.AnswerStatus(end.Status()), end.ExitCode, a.Now().UTC(), end.Output
	if end.Cause != nil {
		answer.Reason = end.Cause.String()
	}
	if noteErr := a.journal.NoteTaskEnded(r.ID, name, made, end.End); err == nil {
		err = noteErr
	}
	return answer, err
}

// failed reports whether a role of the server has failed.
func (a *agent) failed() bool {
	return slices.ContainsFunc(a.plan.Roles, func(r contract.Role) bool {
		return a.journal.Role(r.Name).Status == protocol.RoleFailed
	})
}

// recallTask is the answer for a task in the journal. One that was started and not ended was
// interrupted, and never runs again.
func (a *agent) recallTask(r protocol.Request, index int) (protocol.Answer, error) {
	noted := a.journal.Task(r.ID)
	if noted.Status == protocol.RoleRunning {
		if err := a.noteInterrupted(noted, &contract.Role{Name: r.Role}, nil); err != nil {
			return protocol.Answer{}, err
		}
		noted = a.journal.Task(r.ID)
	}
	answer := protocol.Answer{Status: protocol.AnswerStatus(noted.Status), ExitCode: noted.ExitCode,
		Started: noted.Started, Ended: noted.Ended}
	if index >= 0 && noted.Name != "" { // it has run
		answer.Output = a.host().Printed(a.plan.Roles[index], &role.Task{Task: contract.Task{Name: r.Name}, Kind: r.Kind})
	}
	if noted.Cause != nil {
		answer.Reason = noted.Cause.String()
	}
	return answer, nil
}
