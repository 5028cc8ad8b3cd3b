package reconcile_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
)

// The states of a role that watches a.r:o and b.r:o, made of one source, and follows a parameter that
// an operator supplies. It may run again, and ran with version 1 of all.
func TestStates(t *testing.T) {
	const a, b, given = contract.CellName("a.r:o"), contract.CellName("b.r:o"), contract.CellName("/operator:p")
	const source = contract.Source("s:x")
	failed := &protocol.Cause{Role: "a.r", Reason: "exit status 3"}
	made := func(version int) protocol.CellRecord {
		return protocol.CellRecord{State: protocol.Valued, Version: version, Stamp: protocol.Stamp{source: {1, version}}}
	}
	lost := func(version int) protocol.CellRecord { // of a run that failed
		r := made(version)
		r.Cause = failed
		return r
	}
	type cells = map[contract.CellName]protocol.CellRecord
	both := func(x, y protocol.CellRecord) cells { return cells{a: x, b: y, given: made(1)} }
	same := both(made(1), made(1))
	for _, c := range []struct {
		name   string
		change func(*reconcile.Facts)
		now    cells
		state  reconcile.State
		waits  contract.CellName
		cause  *protocol.Cause
	}{
		{"it has not run", status(protocol.RolePending), same, reconcile.Pending, "", nil},
		{"it has not run, and a change that adds it is on its way", func(f *reconcile.Facts) { f.Ran.Status, f.Rest = protocol.RolePending, a }, same, reconcile.Held, a, nil},
		{"it runs", status(protocol.RoleRunning), same, reconcile.Running, "", nil},
		{"it runs as the plan had it before", func(f *reconcile.Facts) { f.Ran.Status, f.Ran.Made = protocol.RoleRunning, "another" }, same, reconcile.Superseded, "", nil},
		{"it waits for its first value, and takes the new plan", func(f *reconcile.Facts) {
			f.Ran.Status, f.Ran.Made, f.Ran.Blocked = protocol.RoleRunning, "another", []protocol.Wait{{Cell: a}}
		}, same, reconcile.Running, "", nil},
		{"it failed", func(f *reconcile.Facts) { f.Ran.Status, f.Ran.Cause = protocol.RoleFailed, failed }, both(made(2), made(2)), reconcile.Failed, "", failed},
		{"one before it failed", func(f *reconcile.Facts) { f.Ran.Status, f.Ran.Cause = protocol.RoleSkipped, failed }, same, reconcile.Failed, "", failed},

		{"nothing has changed", nil, same, reconcile.Current, "", nil},
		{"it was marked as done by hand", func(f *reconcile.Facts) { f.Ran.Made = "" }, same, reconcile.Current, "", nil},
		{"all that it follows has changed", nil, both(made(2), made(2)), reconcile.Due, "", nil},
		{"half of a change is there", nil, both(made(2), made(1)), reconcile.Held, b, nil},
		{"half of a change is there, the other failed", nil, both(made(2), lost(1)), reconcile.Behind, b, failed},
		{"a value failed", nil, both(protocol.CellRecord{State: protocol.Failed, Cause: failed}, made(1)), reconcile.Behind, "", failed},
		{"a server is rebuilt", nil, both(protocol.CellRecord{State: protocol.Empty}, made(1)), reconcile.Current, a, nil},
		{"a value has changed, and a server is rebuilt", nil, both(protocol.CellRecord{State: protocol.Empty}, made(2)), reconcile.Held, a, nil},
		{"a forged record", nil, both(protocol.CellRecord{State: protocol.Unknown}, made(2)), reconcile.Held, a, nil},
		{"what it does not watch has changed", nil, cells{a: made(1), b: made(1), given: made(2)}, reconcile.Unreached, "", nil},
		{"nothing runs it again", func(f *reconcile.Facts) { f.Role.Idempotent = false }, both(made(2), made(2)), reconcile.Current, "", nil},

		{"its plan has changed", as("another"), same, reconcile.Due, "", nil},
		{"its plan has changed, and half of another change is there", as("another"), both(made(2), made(1)), reconcile.Held, b, nil},
		{"its plan has changed, and half of another change failed", as("another"), both(made(2), lost(1)), reconcile.Behind, b, failed},
		{"its plan has changed, and a value failed", as("another"), both(protocol.CellRecord{State: protocol.Failed, Cause: failed}, made(1)), reconcile.Due, "", nil},
		{"its plan has changed, and a value of the same change is to come", func(f *reconcile.Facts) { f.Ran.Made, f.Rest = "another", a }, same, reconcile.Held, a, nil},
		{"an update was asked for", func(f *reconcile.Facts) { f.Asked = true }, same, reconcile.Due, "", nil},

		{"its update runs", update(protocol.RoleRunning), same, reconcile.Running, "", nil},
		{"its update runs, and something newer is there", update(protocol.RoleRunning), both(made(2), made(2)), reconcile.Superseded, "", nil},
		{"its update failed", update(protocol.RoleFailed), same, reconcile.Failed, "", failed},
		{"its update failed, and something newer is there", update(protocol.RoleFailed), both(made(2), made(2)), reconcile.Due, "", nil},
		{"its update failed, and is asked for again", func(f *reconcile.Facts) { update(protocol.RoleFailed)(f); f.Asked = true }, same, reconcile.Due, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			role := &contract.Role{Name: "r", Idempotent: true, Follows: []contract.Follow{
				{Cell: a, Watch: true, Sources: []contract.Source{source}}, {Cell: b, Watch: true, Sources: []contract.Source{source}}, {Cell: given}}}
			ran := protocol.RoleState{Name: "r", Status: protocol.RoleDone, Made: role.Made(), Followed: map[contract.CellName]protocol.Count{a: {0, 1}, b: {0, 1}, given: {0, 1}}}
			facts := reconcile.Facts{Role: role, Ran: ran, Now: func(cell contract.CellName) protocol.CellRecord { return c.now[cell] }}
			if c.change != nil {
				c.change(&facts)
			}
			is := reconcile.Decide(facts)
			if is.State != c.state || is.Waits != c.waits || is.Cause.String() != c.cause.String() {
				t.Errorf("%s, waits for %q because of %v; want %s, %q and %v", is.State, is.Waits, is.Cause, c.state, c.waits, c.cause)
			}
		})
	}
}

func status(s protocol.RoleStatus) func(*reconcile.Facts) {
	return func(f *reconcile.Facts) { f.Ran.Status = s }
}

func as(definition string) func(*reconcile.Facts) {
	return func(f *reconcile.Facts) { f.Ran.Made = definition }
}

func update(s protocol.RoleStatus) func(*reconcile.Facts) {
	return func(f *reconcile.Facts) {
		f.Ran.Update = &protocol.UpdateState{Status: s}
		if s == protocol.RoleFailed {
			f.Ran.Update.Cause = &protocol.Cause{Role: "a.r", Reason: "exit status 3"}
		}
	}
}

// What a report says to keep a role behind holds for the versions that its agent has seen, and no others.
func TestCovers(t *testing.T) {
	at := map[contract.CellName]protocol.CellRecord{"a.r:o": {State: protocol.Valued, Incarnation: 1, Version: 2}, "b.r:o": {State: protocol.Failed}}
	now := func(cell contract.CellName) protocol.CellRecord { return at[cell] }
	both := []contract.CellName{"a.r:o", "b.r:o"}
	said := &protocol.BehindState{Seen: map[contract.CellName]protocol.Count{"a.r:o": {1, 2}, "b.r:o": {-1, -1}}}
	if !said.Covers(both, now) {
		t.Error("it has seen all that is newer")
	}
	at["a.r:o"] = protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 3}
	if said.Covers(both, now) {
		t.Error("a value has changed since")
	}
	if none := (*protocol.BehindState)(nil); none.Covers(both, now) {
		t.Error("it has said nothing")
	}
}
