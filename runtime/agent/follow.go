package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/journal"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/role"
)

// A role that is done is brought up to date when cells that it follows have changed
// (docs/updates.md). The agent checks while no role is running, whenever one of the cells may have
// changed. Before the run starts the journal names the versions that it is for, so no state is run
// for twice.

// wrote are the versions of what the server has published, to tell whether its followers have run
// with them.
func (a *agent) wrote() map[contract.CellName]protocol.Count {
	kept, err := a.journal.Kept()
	if err != nil {
		return nil // the next write reports the error
	}
	wrote := map[contract.CellName]protocol.Count{}
	for cell, r := range kept {
		if r.State == protocol.Valued {
			wrote[cell] = r.At()
		}
	}
	return wrote
}

// bringUpToDate runs the due updates of roles that are done, until none is due. An error says that
// the agent has to end.
func (a *agent) bringUpToDate(ctx context.Context) error {
	err := a.bringAll(ctx)
	if errors.Is(err, member.ErrPlanChanged) {
		if !a.unread {
			a.replan() // what it followed was removed
		}
		return nil
	}
	return err
}

func (a *agent) bringAll(ctx context.Context) error {
	for again := true; again; {
		again = false
		for i := range a.plan.Roles {
			r := &a.plan.Roles[i]
			if len(a.planned) > 0 {
				return nil // read the newest plan first
			}
			status := a.journal.Role(r.Name).Status
			if status == protocol.RoleFailed {
				if err := a.giveUp(ctx, r); err != nil {
					return err
				}
			}
			if status != protocol.RoleDone {
				continue
			}
			if err := a.endInterrupted(ctx, r); err != nil {
				return err
			}
			ran, err := a.bring(ctx, r)
			if err != nil {
				return err
			}
			again = again || ran
		}
	}
	return nil
}

// bring brings one role up to date, if that can be done now.
func (a *agent) bring(ctx context.Context, r *contract.Role) (ran bool, err error) {
	if waits, err := a.settle(ctx, r); err != nil || waits {
		return false, err
	}
	noted := a.journal.Role(r.Name)
	change, err := a.reaching(ctx, r) // before the cells: these are at least as new then
	if err != nil {
		return false, err
	}
	now, err := a.lookAndWatch(ctx, r)
	if err != nil {
		return false, err
	}
	facts := reconcile.Facts{Role: r, Ran: a.recall(*r), Now: now.of}
	is := reconcile.Decide(facts)
	if half := is.Redefined && is.State == reconcile.Behind; half || is.State == reconcile.Due {
		if err := a.hear(ctx); err != nil {
			return false, err
		}
		if held, err := a.held(ctx, r); held || err != nil {
			return false, err
		}
		if change, err = a.reaching(ctx, r); err != nil { // the rest may have arrived since
			return false, err
		}
		if now, err = a.lookWhole(ctx, r, now); err != nil {
			return false, err
		}
		facts.Now = now.of
		switch is = reconcile.Decide(facts); {
		case is.Redefined && is.State == reconcile.Behind:
			_, err := a.noteHalf(ctx, r, journal.StateRequest+r.Made(), is.Cause)
			return true, err
		case is.State != reconcile.Due:
			return true, nil // it has just changed: check again
		}
		return true, a.runUpdate(ctx, r, now, change, is.Redefined)
	}
	if is.Redefined && r.Updating() != nil {
		change = 0 // it has not reached the role
	}
	said := is
	if is.State == reconcile.Behind { // unless a change brings the rest
		missing, come, err := a.waits(ctx, r)
		if err != nil {
			return false, err
		}
		if facts.Rest = missing; come {
			said = reconcile.Decide(facts)
		}
	}
	if err := a.sayBehind(ctx, r, said, now); err != nil {
		return false, err
	}
	return false, a.sayHowFar(ctx, r, noted, is, now, change)
}

// noteHalf notes that a role's update has failed, because it would run with only a part of another change:
// the rest comes with a retry alone, which tries this again, too.
func (a *agent) noteHalf(ctx context.Context, r *contract.Role, request string, stays *protocol.Cause) (*protocol.Cause, error) {
	cause := &protocol.Cause{Role: a.key(r.Name), At: r.At, Reason: "it would have only part of a change: what it follows failed", Cause: stays}
	err := a.journal.NoteTaskEnded(request, r.Name+"."+contract.HookUpdate, r.Made(), journal.End{Cause: protocol.Shorten(cause), Followed: due(r)})
	if err == nil {
		err = a.showUpdate(ctx, *r, "")
	}
	return cause, err
}

// sayBehind reports why a role is not brought up to date with what it follows, so that others, such
// as Heat, do not wait for it.
func (a *agent) sayBehind(ctx context.Context, r *contract.Role, is reconcile.Verdict, now seen) error {
	var says *protocol.BehindState
	if is.State == reconcile.Behind {
		says = &protocol.BehindState{Cause: protocol.Shorten(is.Cause), Seen: map[contract.CellName]protocol.Count{}}
		for _, cell := range is.Newer {
			record := now.of(cell)
			says.Seen[cell] = record.Input()
		}
	}
	before := a.behind[r.Name]
	if (says == nil) == (before == nil) && (says == nil || says.Cause.String() == before.Cause.String() && maps.Equal(says.Seen, before.Seen)) {
		return nil
	}
	a.behind[r.Name] = says
	return a.board.commit(ctx, nil, func(s *protocol.ServerState) {
		is := a.recall(*r)
		is.Update = withLines(is.Update, s.Role(r.Name).Update)
		setRole(s, is)
	})
}

// watchFollowed starts watching what a role follows, once.
func (a *agent) watchFollowed(ctx context.Context, f *contract.Follow) error {
	if _, heats := f.Cell.HeatKey(); heats {
		return nil // Heat's values are watched together
	}
	err := a.follows.watch(ctx, a.member, f.Cell)
	if machine := f.Machine(); err == nil && machine != nil {
		err = a.follows.watchGroup(ctx, a.member, machine.Group)
	}
	return err
}

// lookAndWatch is look, after starting to watch the cells.
func (a *agent) lookAndWatch(ctx context.Context, r *contract.Role) (seen, error) {
	for i := range r.Follows {
		if err := a.watchFollowed(ctx, &r.Follows[i]); err != nil {
			return nil, err
		}
	}
	return a.look(ctx, r)
}

// seen are cells as they were read together.
type seen map[contract.CellName]protocol.CellRecord

// wholeWith reports whether all of them have their values, after adding those read before with the
// same versions.
func (s seen) wholeWith(before seen) bool {
	for cell, r := range s {
		if was := before[cell]; r.Value == nil && r.State == was.State && r.At() == was.At() {
			r.Value = was.Value
			s[cell] = r
		}
		if r.State == protocol.Valued && r.Value == nil {
			return false
		}
	}
	return true
}

func (s seen) of(cell contract.CellName) protocol.CellRecord { return s[cell] }

// look reads the cells that a role follows.
func (a *agent) look(ctx context.Context, r *contract.Role) (seen, error) {
	now := seen{}
	for _, f := range r.Follows {
		if key, heats := f.Cell.HeatKey(); heats {
			now[f.Cell], _ = a.heat.cell(key)
			continue
		}
		record, err := a.follows.read(ctx, a.member, f.Cell)
		var bad *protocol.RecordError
		var left *member.FailedCellError
		switch {
		case errors.As(err, &left): // it was removed from the plan
			record = protocol.CellRecord{State: protocol.Empty}
		case errors.Is(err, protocol.ErrForged), errors.As(err, &bad) && (errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrRefused)):
			a.console.say("%v", err)
			record = protocol.CellRecord{State: protocol.Unknown} // no reason to run
		case bad != nil: // its writer has written nonsense
			a.console.say("%v", err)
			record = protocol.CellRecord{State: protocol.Failed, Cause: &protocol.Cause{Reason: err.Error()}}
		case err != nil:
			return nil, err
		}
		now[f.Cell] = record
	}
	groups, err := role.MembersOf(ctx, a.session, r.Follows)
	if err != nil {
		return nil, err
	}
	all, of := seen{}, reconcile.Followed(r.Follows, groups, now.of)
	for cell := range now {
		all[cell] = of(cell)
	}
	return all, nil
}

// lookWhole is look, with all values: those of before where the versions are the same.
func (a *agent) lookWhole(ctx context.Context, r *contract.Role, before seen) (seen, error) {
	now, err := a.look(ctx, r)
	if err == nil && !now.wholeWith(before) {
		a.follows.forget(r.Follows)
		now, err = a.look(ctx, r)
	}
	return now, err
}

// endInterrupted notes the end of an update that an earlier agent had started: for what the role
// follows, or for a request that was answered and dropped. It runs again if the role is idempotent.
func (a *agent) endInterrupted(ctx context.Context, r *contract.Role) error {
	u := a.journal.Role(r.Name).Updating
	if u.Status != protocol.RoleRunning {
		return nil
	}
	var followed journal.Followed
	if r.Idempotent {
		followed = due(r)
	}
	if err := a.noteInterrupted(u, r, followed); err != nil {
		return err
	}
	return a.showUpdate(ctx, *r, "")
}

// noteInterrupted ends the remaining processes of an interrupted task, and notes its end.
func (a *agent) noteInterrupted(task journal.Task, r *contract.Role, followed journal.Followed) error {
	if _, err := process.EndMarked([]string{task.Run}, a.Grace); err != nil {
		return err
	}
	cause := &protocol.Cause{Role: a.key(r.Name), At: r.At, Reason: role.Interrupted}
	return a.journal.NoteTaskEnded(task.Request, task.Name, task.Made, journal.End{Cause: cause, Followed: followed})
}

// due are versions that no cell has: the role has to run in any case.
func due(r *contract.Role) journal.Followed {
	none := journal.Followed{}
	for _, f := range r.Follows {
		none[f.Cell] = protocol.Count{}
	}
	return none
}

// pinned are the versions of the cells that a role follows, and those with values: a run uses these, so
// that it has no part of what changes while it starts.
func pinned(r *contract.Role, now seen) (versions journal.Followed, pins seen) {
	versions, pins = journal.Followed{}, seen{}
	for cell, record := range reconcile.Having(r.Follows, now.of) {
		if versions[cell] = record.Input(); record.State == protocol.Valued {
			pins[cell] = record
		}
	}
	return versions, pins
}

// pinnedForPlan are those of the pins that a run for a changed plan takes: it may wait for members of a
// group, and waits for Heat's values by itself.
func pinnedForPlan(r *contract.Role, pins seen) seen {
	if slices.ContainsFunc(r.Follows, func(f contract.Follow) bool { return f.Member != nil }) {
		return nil
	}
	maps.DeleteFunc(pins, func(c contract.CellName, _ protocol.CellRecord) bool { return c.FromOutside() })
	return pins
}

// runUpdate brings a role up to date with what it follows, and with its plan.
func (a *agent) runUpdate(ctx context.Context, r *contract.Role, now seen, change int64, changed bool) error {
	versions, pins := pinned(r, now)
	if changed {
		pins = pinnedForPlan(r, pins)
	}
	made, name := r.Made(), r.Name+"."+contract.HookUpdate
	text, err := json.Marshal([]any{versions, made, a.journal.Role(r.Name).Runs})
	if err != nil {
		return err
	}
	id := journal.StateRequest + protocol.Digest(fmt.Appendf(nil, "hotc follow 2\n%s\n%s", a.key(r.Name), text))[:26]
	task := &role.Task{Task: *r.Updating(), Kind: protocol.Hook, Pins: pins, Waits: a.showWaits(r.Name), Start: func(ctx context.Context, mark string, followed journal.Followed) error {
		running := a.recall(*r)
		running.Made, running.Runs, running.Followed = made, running.Runs+1, a.heat.ran(r, followed)
		running.Update = &protocol.UpdateState{Status: protocol.RoleRunning, Started: a.Now().UTC()}
		if err := a.board.begin(ctx, running); err != nil { // checks that this machine is the server, and the plan the newest
			return err
		}
		return a.journal.NoteTaskRunning(id, name, mark, made, followed)
	}}
	why := "what it follows has changed"
	if changed {
		why = "its plan has changed"
	}
	a.console.say("%s: %s", a.key(r.Name), why)
	host := a.host()
	host.Change = change
	end, err := host.RunTask(ctx, *r, task)
	begun := a.journal.Task(id).Status == protocol.RoleRunning
	if err != nil && (end.Cause == nil || !begun) {
		return err
	}
	if end.Followed == nil {
		end.Followed = versions
	}
	if r.Idempotent && err != nil { // it was interrupted, and is due again
		end.Followed = due(r)
	}
	if noteErr := a.journal.NoteTaskEnded(id, name, made, end.End); noteErr != nil || err != nil {
		return errors.Join(err, noteErr)
	}
	a.console.say("%s: %s", a.key(r.Name), end.Status())
	return a.showUpdate(ctx, *r, end.Output)
}

// sayHowFar writes the stamps of the role's outputs, unless something newer is still arriving.
func (a *agent) sayHowFar(ctx context.Context, r *contract.Role, noted journal.Role, is reconcile.Verdict, now seen, change int64) error {
	if is.Waits != "" {
		return nil
	}
	if len(r.Carries) == 0 && change == 0 {
		return nil
	}
	stamp := a.stampOf(r, noted, now)
	if change > 0 {
		stamp = stamp.Keeping(protocol.PlanStamp(change))
	}
	cause := reconcile.LackOf(r, a.key(r.Name), now.of)
	if cause == nil && noted.Update != nil && noted.Update.Status == protocol.RoleFailed {
		cause = noted.Update.Cause
	}
	return a.say(ctx, r, noted, stamp, member.HowFar{Stamp: stamp.Keeping, Cause: cause})
}

// stampOf is the stamp of a role's last run.
func (a *agent) stampOf(r *contract.Role, noted journal.Role, now seen) protocol.Stamp {
	return reconcile.StampOf(r, a.key(r.Name), protocol.Count{a.journal.Incarnation(), noted.Runs}, now.of)
}

// say writes the status of a role's outputs, once after each run.
func (a *agent) say(ctx context.Context, r *contract.Role, noted journal.Role, stamp any, is member.HowFar) error {
	text, err := json.Marshal([]any{stamp, is.Cause, is.RoleFailed, noted.Attempt, noted.Runs})
	if err != nil || a.follows.said[r.Name] == string(text) {
		return err
	}
	if err := a.session.Say(ctx, cellsOf(r), is); err != nil {
		return err
	}
	a.follows.said[r.Name] = string(text)
	return nil
}

// fits decides on a role whose update was asked for, with the values of what it follows.
func (a *agent) fits(ctx context.Context, r *contract.Role) (pins seen, is reconcile.Verdict, err error) {
	now := seen{}
	if slices.ContainsFunc(r.Follows, func(f contract.Follow) bool { return f.Watch }) {
		if now, err = a.lookWhole(ctx, r, nil); err != nil {
			return nil, is, err
		}
		_, pins = pinned(r, now)
		pins = pinnedForPlan(r, pins)
	}
	ran := a.recall(*r)
	ran.Update = nil // one that was interrupted does not run any more
	return pins, reconcile.Decide(reconcile.Facts{Role: r, Ran: ran, Now: now.of, Asked: true}), nil
}
