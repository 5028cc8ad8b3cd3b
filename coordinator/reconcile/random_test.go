package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
)

// random are the facts of a role that follows some cells, of a group, of a server that Heat may decide
// against and of others, in any state.
func random(r *rand.Rand) (reconcile.Facts, map[contract.CellName]protocol.CellRecord) {
	one := func(n int) bool { return r.IntN(n) == 0 }
	role := &contract.Role{Name: "r", Idempotent: !one(6)}
	ran := protocol.RoleState{Name: "r", Status: protocol.RoleDone, Followed: map[contract.CellName]protocol.Count{}}
	now := map[contract.CellName]protocol.CellRecord{}
	decision := contract.HeatCell("c")
	for i := range 1 + r.IntN(5) {
		cell := contract.CellName(fmt.Sprintf("s%d.r:o", i))
		f := contract.Follow{Cell: cell, Watch: !one(4), Optional: one(4)}
		switch r.IntN(5) {
		case 0:
			f.Member = &contract.Member{Group: "g", Number: i / 2, Server: contract.ServerPath(fmt.Sprint("g/", i/2))}
		case 1:
			f.Perhaps = &contract.Perhaps{If: []contract.CellName{decision}}
		}
		for _, s := range []contract.Source{"x:1", "y:1"} {
			if one(2) {
				f.Sources = append(f.Sources, s)
			}
		}
		role.Follows = append(role.Follows, f)
		is := protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 1 + r.IntN(3), Stamp: protocol.Stamp{}}
		for _, s := range f.Sources {
			is.Stamp[s] = protocol.Count{1, 1 + r.IntN(2)}
		}
		switch r.IntN(8) {
		case 0:
			is.State, is.Cause = protocol.Failed, &protocol.Cause{Role: "w.r", Reason: "it failed"}
		case 1:
			is = protocol.CellRecord{State: protocol.Empty}
		case 2:
			is.Cause, is.RoleFailed = &protocol.Cause{Role: "w.r", Reason: "it failed"}, one(2)
		case 3:
			is = protocol.CellRecord{State: []protocol.CellState{protocol.Gone, protocol.Unknown}[r.IntN(2)]}
		}
		now[cell] = is
		if !one(4) {
			ran.Followed[cell] = protocol.Count{1, 1 + r.IntN(3)}
		}
	}
	now[decision] = protocol.HeatRecordOf([]byte(fmt.Sprint(!one(4))), 1)
	role.Follows = append(role.Follows, contract.Follow{Cell: decision, Watch: !one(3)})
	if r := now[decision]; !one(4) {
		ran.Followed[decision] = r.At()
	}
	if ran.Made = role.Made(); one(4) {
		ran.Made = "another"
	}
	if one(3) {
		ran.Update = &protocol.UpdateState{Status: []protocol.RoleStatus{protocol.RoleDone, protocol.RoleFailed, protocol.RoleRunning}[r.IntN(3)]}
	}
	f := reconcile.Facts{Role: role, Ran: ran, Now: func(c contract.CellName) protocol.CellRecord { return now[c] }, Asked: one(6)}
	if one(6) {
		f.Rest = role.Follows[0].Cell
	}
	return f, now
}

// What holds of every verdict, whatever the cells are: what is due misses nothing, what is missing is
// named, and a reason is given for what does not run. One that has run with all that is there owes
// nothing more, unless it failed.
func TestEveryVerdict(t *testing.T) {
	for seed := range seedtest.Each(t, seedtest.Cases(20_000, 2_000)) {
		f, now := random(rand.New(rand.NewPCG(seed, 0)))
		is := reconcile.Decide(f)
		wrong := func(format string, arguments ...any) {
			t.Helper()
			t.Fatalf("seed %d: %s: %+v\nof %+v\nran %+v\nnow %+v", seed, fmt.Sprintf(format, arguments...), is, f.Role.Follows, f.Ran, now)
		}
		watches := false
		for _, x := range f.Role.Follows {
			watches = watches || x.Watch
		}
		updates := f.Role.Updating() != nil
		switch is.State {
		case reconcile.Due:
			if f.Rest != "" || is.Waits != "" && watches {
				wrong("it is due and waits")
			}
		case reconcile.Held:
			if is.Waits == "" {
				wrong("it is held by nothing")
			}
		case reconcile.Behind:
			if is.Cause == nil || f.Rest != "" && is.Waits != "" && len(is.Newer) == 0 {
				wrong("it is behind for no reason")
			}
		case reconcile.Failed:
			if f.Ran.Update == nil || f.Ran.Update.Status != protocol.RoleFailed || updates && (is.Redefined || len(is.Newer) > 0) {
				wrong("what has failed is of another time")
			}
		case reconcile.Current, reconcile.Unreached:
			if updates && (is.Redefined || len(is.Newer) > 0) {
				wrong("it owes a run")
			}
		}
		if !updates && !f.Asked && (is.State.Unfinished() && is.State != reconcile.Running || is.State == reconcile.Behind) {
			wrong("nothing runs it")
		}
		// It runs with what is there.
		after := f
		after.Asked, after.Rest, after.Ran.Update, after.Ran.Made = false, "", nil, f.Role.Made()
		after.Ran.Followed = map[contract.CellName]protocol.Count{}
		for cell, r := range reconcile.Having(f.Role.Follows, f.Now) {
			after.Ran.Followed[cell] = r.Input()
		}
		if is := reconcile.Decide(after); is.State == reconcile.Due || is.State == reconcile.Superseded || len(is.Newer) > 0 && is.State != reconcile.Held {
			wrong("after a run it is %+v", is)
		}
	}
}
