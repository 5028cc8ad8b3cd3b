package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// waiting is a deployment in which each role of a server of its own waits: "a: b c" is a.r, blocked on
// b.r:o and c.r:o. "a: b!" is a read with a timeout, "a" a role that runs, "a-" one that is done.
func waiting(lines ...string) *Status {
	p := &contract.Plan{}
	snapshot := &deploy.Snapshot{Ready: true}
	for _, line := range lines {
		name, reads, blocked := strings.Cut(line, ": ")
		name, over := strings.CutSuffix(name, "-")
		cell := contract.CellName(name + ".r:o")
		state := protocol.RoleState{Name: "r", Status: protocol.RoleRunning}
		if over {
			state.Status = protocol.RoleDone
		}
		role := contract.Role{Name: "r"}
		if blocked {
			for i, read := range strings.Fields(reads) {
				of, timed := strings.CutSuffix(read, "!")
				in := contract.Input{Name: fmt.Sprint("i", i)}
				if timed {
					in.Timeout = 4
				}
				role.Inputs = append(role.Inputs, in)
				state.Blocked = append(state.Blocked, protocol.Wait{Cell: contract.CellName(of + ".r:o"), Input: in.Name})
			}
		}
		p.Servers = append(p.Servers, contract.Server{Path: contract.ServerPath(name), Roles: []contract.Role{role}})
		p.Cells = append(p.Cells, contract.Cell{Name: cell, Server: contract.ServerPath(name), Role: "r"})
		snapshot.Servers = append(snapshot.Servers, deploy.ServerSnapshot{Path: contract.ServerPath(name), Alive: true,
			Incarnation: protocol.IncarnationRecord{Number: 1}, State: protocol.ServerState{Phase: protocol.PhaseRunning, Roles: []protocol.RoleState{state}},
			Cells: map[contract.CellName]protocol.CellRecord{}})
	}
	return New(p, snapshot, hot.DecidedSize)
}

func TestDeadlocks(t *testing.T) {
	for text, want := range map[string]string{
		"a: b, b: a":             "[[a.r b.r]]",
		"a: b, b: c, c: a":       "[[a.r b.r c.r]]",
		"a: a":                   "[[a.r]]",
		"x: a, a: b, b: a":       "[[a.r b.r]]", // x only waits for it
		"a: b, b: a, c: d, d: c": "[[a.r b.r] [c.r d.r]]",
		"a: b b, b: a":           "[[a.r b.r]]",
		"a: b":                   "[]", // b does not exist
		"a: b, b":                "[]", // b runs
		"a: b, b-":               "[]", // b has just ended
		"a: b c, b: a, c":        "[]", // what c writes may let a write what b waits for
		"a: b c, b: a, c: a":     "[[a.r b.r]]",
		"a: b, b: a!":            "[]", // it ends by itself
		"a: b c, b: a, c: a!":    "[]",
	} {
		if got := fmt.Sprint(Subjects(Deadlocks(waiting(strings.Split(text, ", ")...)))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for what, change := range map[string]func(*Status){
		"the value has arrived": func(v *Status) { v.ByPath["b"].Cells["b.r:o"] = protocol.CellRecord{State: protocol.Valued} },
		"it has failed":         func(v *Status) { v.ByPath["b"].Cells["b.r:o"] = protocol.CellRecord{State: protocol.Failed} },
		"an agent is gone":      func(v *Status) { v.ByPath["b"].Alive = false },
	} {
		v := waiting("a: b", "b: a")
		if change(v); len(Deadlocks(v)) > 0 {
			t.Errorf("%s, and is still taken for a deadlock", what)
		}
	}
}

// One look says nothing yet, nor do two that see different reads.
func TestTwoLooksFindADeadlock(t *testing.T) {
	start := time.Date(2026, 7, 30, 12, 0, 0, 0, time.UTC)
	var seen Looks
	look := func(v *Status, at time.Duration) (int, bool) {
		again := seen.See(v, start.Add(at))
		return len(v.Cycles), again
	}
	expect := func(what string, v *Status, at time.Duration, cycles int, again bool) {
		t.Helper()
		if n, more := look(v, at); n != cycles || more != again {
			t.Errorf("%s: %d cycles, another look %v; want %d, %v", what, n, more, cycles, again)
		}
	}
	expect("the first look", waiting("a: b", "b: a"), 0, 0, true)
	expect("right after it", waiting("a: b", "b: a"), BetweenLooks/2, 0, true)
	expect("the second look", waiting("a: b", "b: a"), BetweenLooks, 1, false)
	later := waiting("a: b", "b: a")
	later.Servers[0].Roles[0].Blocked[0].Since = start.Add(time.Minute)
	expect("it is another read", later, 2*BetweenLooks, 0, true)
	expect("that stays", later, 3*BetweenLooks, 1, false)
	expect("it is over", waiting("a: b", "b"), 3*BetweenLooks+1, 0, false)
}
