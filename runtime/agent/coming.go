package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
)

// A change of the plan may reach a role on several paths (protocol.Coming). The role is held
// until all of them have arrived, and its own cells say when it has completed the change.

// hear reads the announced changes again: an agent that has seen a cell of a change has to know all
// that belongs to it.
func (a *agent) hear(ctx context.Context) error {
	now, err := a.member.Asked(ctx)
	if errors.Is(err, protocol.ErrForged) {
		return nil // keep what was known
	}
	if err == nil {
		a.coming = now.Coming
	}
	return err
}

// waits returns a cell that a role needs for a change of the plan and that the change has not
// reached; come says that the change has begun to reach the role.
func (a *agent) waits(ctx context.Context, r *contract.Role) (missing contract.CellName, come bool, err error) {
	c, is := a.coming[r.Name]
	if !is || len(c.After) == 0 {
		return "", is, nil
	}
	after := &contract.Role{}
	for cell := range c.After {
		f := contract.Follow{Cell: cell}
		if i := slices.IndexFunc(r.Follows, func(f contract.Follow) bool { return f.Cell == cell }); i >= 0 {
			f.Member, f.Perhaps = r.Follows[i].Member, r.Follows[i].Perhaps
		}
		if err := a.watchFollowed(ctx, &f); err != nil {
			return "", false, err
		}
		after.Follows = append(after.Follows, f)
	}
	now, err := a.look(ctx, after)
	if err != nil {
		return "", false, err
	}
	missing, come = c.Missing(func(cell contract.CellName) protocol.CellRecord {
		if a.follows.isLost(cell, c.Number) {
			return protocol.CellRecord{}
		}
		return now.of(cell)
	})
	a.follows.await(ctx, a.member, r.Name, missing, c.Number)
	return missing, come || c.Asked && a.hasPlanOf(c), nil
}

// await watches the agent that writes what a role waits for; missing "" ends that. A writer that is
// gone for long is no longer waited for.
func (f *followed) await(ctx context.Context, m *member.Member, role string, missing contract.CellName, change int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.awaited[role]
	if before.cell == missing && before.change == change {
		return
	}
	if before.stop != nil {
		before.stop()
	}
	if delete(f.awaited, role); missing == "" {
		return
	}
	one, stop := context.WithCancel(ctx)
	lost, err := m.WriterLost(one, missing)
	if err != nil {
		stop()
		return // it was removed from the plan
	}
	f.awaited[role] = awaited{missing, change, stop}
	mistake.Go(func() {
		select {
		case <-lost:
			f.mu.Lock()
			f.lost[missing] = change
			f.mu.Unlock()
			f.wake()
		case <-one.Done():
		}
	})
}

// awaited is a cell that a role waits for, with the function that stops watching its writer.
type awaited struct {
	cell   contract.CellName
	change int64
	stop   context.CancelFunc
}

// isLost reports whether the writer of a cell was gone for long during a change of the plan.
func (f *followed) isLost(cell contract.CellName, change int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost[cell] >= change
}

// forgetLost drops what is known of writers that are gone: after a loss of the coordinator's data the
// changes are numbered anew.
func (f *followed) forgetLost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.lost)
}

// held reports whether a role must not run yet for a change, or for what it follows: it would run
// twice for the same change, or wait for a role of its own server that can run only after it.
func (a *agent) held(ctx context.Context, r *contract.Role) (bool, error) {
	c := a.coming[r.Name]
	if c.Asked && !a.hasPlanOf(c) || a.readsPending(r) { // a changed role runs with the plan that was announced
		return true, nil
	}
	missing, come, err := a.waits(ctx, r)
	return come && missing != "", err
}

// readsPending reports whether a role reads an output of a pending role of its server.
func (a *agent) readsPending(r *contract.Role) bool {
	if a.failed() {
		return false
	}
	for i := range a.plan.Roles {
		other := &a.plan.Roles[i]
		if a.journal.Role(other.Name).Status != protocol.RolePending {
			continue
		}
		for _, o := range other.Outputs {
			if slices.ContainsFunc(r.Inputs, func(in contract.Input) bool { return slices.Contains(in.Reads, o.Cell) }) {
				return true
			}
		}
	}
	return false
}

// heldBack reports whether a role that has not run must not start yet: it was added by a change,
// part of which it reads and is missing; or an earlier role of its server is held, and it reads a
// cell added by a change, which may wait for the earlier role. Other cells do not wait for that.
func (a *agent) heldBack(ctx context.Context, i int) (bool, error) {
	r := &a.plan.Roles[i]
	added := a.coming[r.Name].Added
	if !added && !a.readsNew(r) {
		return false, nil
	}
	if added {
		if missing, _, err := a.waits(ctx, r); missing != "" || err != nil {
			return true, err
		}
	}
	for k := range a.plan.Roles[:i] {
		before := &a.plan.Roles[k]
		noted := a.journal.Role(before.Name)
		if noted.Status != protocol.RoleDone || before.Updating() == nil || !before.OutOfDate(noted.Made) {
			continue
		}
		if missing, come, err := a.waits(ctx, before); come && missing != "" || err != nil {
			return true, err
		}
	}
	return false, nil
}

// readsNew reports whether a role reads a cell that its server did not read before a change of the plan.
func (a *agent) readsNew(r *contract.Role) bool {
	return slices.ContainsFunc(r.Reads(), func(c contract.CellName) bool { return a.newlyRead[c] })
}

// awaitNews waits until something may have changed.
func (a *agent) awaitNews(ctx context.Context) error {
	select {
	case _, open := <-a.asked:
		if !open {
			<-ctx.Done()
		}
	case <-a.planned:
		a.replan()
	case <-a.follows.changed:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// hasPlanOf reports whether the agent has read the plan of a change.
func (a *agent) hasPlanOf(c protocol.Coming) bool {
	return a.plan.Change >= c.Number && !a.member.LostPlan()
}

// reaching is the number of the change of the plan that a run of a role includes, together with all
// that the role reads; 0 is none.
func (a *agent) reaching(ctx context.Context, r *contract.Role) (int64, error) {
	c, is := a.coming[r.Name]
	if !is || c.Asked && !a.hasPlanOf(c) {
		return 0, nil
	}
	missing, _, err := a.waits(ctx, r)
	if missing != "" || err != nil {
		return 0, err
	}
	return c.Number, nil
}

// giveUp updates the stamps of what a failed role has published: its values will change only when
// the role is retried, so no reader waits for them.
func (a *agent) giveUp(ctx context.Context, r *contract.Role) error {
	if len(r.Outputs) == 0 {
		return nil
	}
	var change protocol.Stamp
	if c, is := a.coming[r.Name]; is && !(c.Asked && !a.hasPlanOf(c)) {
		change = protocol.PlanStamp(c.Number)
	}
	noted, stamp := a.journal.Role(r.Name), change
	is := member.HowFar{RoleFailed: true, Cause: noted.Cause, Stamp: func(before protocol.Stamp) protocol.Stamp { return before.Keeping(change) }}
	if len(r.Carries) > 0 {
		now, err := a.lookAndWatch(ctx, r)
		if err != nil {
			return err
		}
		ran := noted.RoleState
		ran.Followed = a.heat.ran(r, ran.Followed)
		if reconcile.Decide(reconcile.Facts{Role: r, Ran: ran, Now: now.of}).Waits == "" {
			stamp = a.stampOf(r, noted, now).Keeping(change)
			is.Stamp = stamp.Keeping
		}
	}
	return a.say(ctx, r, noted, stamp, is)
}

// disown marks what a role has published with its failure.
func (a *agent) disown(ctx context.Context, r *contract.Role, cause *protocol.Cause) error {
	same := func(before protocol.Stamp) protocol.Stamp { return before }
	return a.session.Say(ctx, cellsOf(r), member.HowFar{RoleFailed: true, Cause: cause, Stamp: same})
}
