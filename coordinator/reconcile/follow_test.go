package reconcile_test

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
)

// decide decides on a role that may run again, and is done with these versions.
func decide(follows []contract.Follow, ran map[contract.CellName]protocol.Count, now reconcile.Cells) reconcile.Verdict {
	role := &contract.Role{Name: "r", Idempotent: true, Follows: follows}
	return reconcile.Decide(reconcile.Facts{Role: role, Ran: protocol.RoleState{Name: "r", Status: protocol.RoleDone, Followed: ran}, Now: now})
}

// A role that follows parts of one change waits for the older ones, and learns when these come with
// a retry alone.
func TestWhatComesWithARetryAlone(t *testing.T) {
	const source = contract.Source("s:x")
	failed := &protocol.Cause{Reason: "it failed"}
	made := func(run int, cause *protocol.Cause) protocol.CellRecord {
		return protocol.CellRecord{State: protocol.Valued, Version: run, Stamp: protocol.Stamp{source: {1, run}}, Cause: cause}
	}
	for _, c := range []struct {
		name  string
		cells map[contract.CellName]protocol.CellRecord
		waits contract.CellName
		stays *protocol.Cause
	}{
		{"all are as new", map[contract.CellName]protocol.CellRecord{"a:o": made(2, nil), "b:o": made(2, nil), "c:o": made(2, nil)}, "", nil},
		{"one comes", map[contract.CellName]protocol.CellRecord{"a:o": made(1, nil), "b:o": made(2, nil), "c:o": made(2, nil)}, "a:o", nil},
		{"one is kept behind", map[contract.CellName]protocol.CellRecord{"a:o": made(1, failed), "b:o": made(2, nil), "c:o": made(2, nil)}, "a:o", failed},
		{"one is kept behind, and one comes", map[contract.CellName]protocol.CellRecord{"a:o": made(1, failed), "b:o": made(1, nil), "c:o": made(2, nil)}, "a:o", nil},
		{"one comes, and one is kept behind", map[contract.CellName]protocol.CellRecord{"a:o": made(1, nil), "b:o": made(1, failed), "c:o": made(2, nil)}, "a:o", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var follows []contract.Follow
			ran := map[contract.CellName]protocol.Count{}
			for _, cell := range []contract.CellName{"a:o", "b:o", "c:o"} {
				follows = append(follows, contract.Follow{Cell: cell, Watch: true, Sources: []contract.Source{source}})
				ran[cell] = protocol.Count{0, 1}
			}
			is := decide(follows, ran, func(cell contract.CellName) protocol.CellRecord { return c.cells[cell] })
			if is.Waits != c.waits || is.Cause != c.stays {
				t.Errorf("waits for %q, which a retry alone brings because of %v; want %q and %v", is.Waits, is.Cause, c.waits, c.stays)
			}
		})
	}
}

// Who does without an input whose role has failed has all that will come through it: nobody waits for
// more.
func TestStampOfWhatDoesWithoutAFailedInput(t *testing.T) {
	const source, through = contract.Source("s:x"), contract.CellName("b:o")
	r := &contract.Role{Name: "r", Carries: []contract.Source{source}, Follows: []contract.Follow{{Cell: through, Watch: true, Optional: true, Sources: []contract.Source{source}}}}
	for _, state := range []protocol.CellState{protocol.Valued, protocol.Failed} {
		record := protocol.CellRecord{State: state, Version: 1, Stamp: protocol.Stamp{source: {1, 2}}}
		stamp := reconcile.StampOf(r, "c.r", protocol.Count{1, 1}, func(contract.CellName) protocol.CellRecord { return record })
		if stamp[source] != (protocol.Count{1, 2}) {
			t.Errorf("where the input is %q, the stamp is %v", state, stamp)
		}
	}
}

// A role that does without a failed input does not run again when that fails again. It does when the
// failure takes the place of a value, even of one with the same number, as after a loss.
func TestOneFailureIsAsGoodAsAnother(t *testing.T) {
	follows := []contract.Follow{{Cell: "a:o", Watch: true, Optional: true}}
	ran := func(r protocol.CellRecord) map[contract.CellName]protocol.Count {
		return map[contract.CellName]protocol.Count{"a:o": r.Input()}
	}
	failed := protocol.CellRecord{State: protocol.Failed, Incarnation: 1, Version: 1, Cause: &protocol.Cause{Reason: "it failed"}}
	value := protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 1}
	again := failed
	again.Incarnation = 2
	for _, c := range []struct {
		name        string
		before, now protocol.CellRecord
		due         bool
	}{{"it failed again", failed, again, false}, {"it failed", value, failed, true}, {"it has a value", failed, value, true}} {
		if is := decide(follows, ran(c.before), func(contract.CellName) protocol.CellRecord { return c.now }); (is.State == reconcile.Due) != c.due {
			t.Errorf("%s: %s", c.name, is.State)
		}
	}
}

// A role is not given half of a change, even where the halves belong together by a third cell alone.
func TestBehindWithWhatBelongsTogether(t *testing.T) {
	follow := func(cell contract.CellName, watch bool, sources ...contract.Source) contract.Follow {
		return contract.Follow{Cell: cell, Watch: watch, Sources: sources}
	}
	follows := []contract.Follow{follow("a:o", true, "s:x"), follow("b:o", false, "s:x", "s:y"), follow("c:o", true, "s:y")}
	ran := map[contract.CellName]protocol.Count{"a:o": {1, 1}, "b:o": {1, 1}, "c:o": {1, 1}}
	at := func(version int, cause *protocol.Cause) protocol.CellRecord {
		return protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: version, Cause: cause, Stamp: protocol.Stamp{"s:x": {1, 2}, "s:y": {1, 2}}}
	}
	for between, behind := range map[int]bool{1: false, 2: true} {
		now := map[contract.CellName]protocol.CellRecord{"a:o": at(1, &protocol.Cause{Reason: "it failed"}), "b:o": at(between, nil), "c:o": at(2, nil)}
		is := decide(follows, ran, func(cell contract.CellName) protocol.CellRecord { return now[cell] })
		if want := map[bool]reconcile.State{true: reconcile.Behind, false: reconcile.Due}[behind]; is.State != want {
			t.Errorf("where what is between has version %d: %s, want %s", between, is.State, want)
		}
	}
}
