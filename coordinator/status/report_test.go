package status

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Every state that a change brings a role into has its word, its reason, and its keys in the report
// (docs/updates.md, docs/json.md).
func TestStatesOfAChange(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	const x, y = contract.CellName("a.r:x"), contract.CellName("b.r:y")
	heat := contract.HeatCell("k")
	failure := &protocol.Cause{Role: "a.r", At: "site.yaml:9:9", Reason: "exit status 4"}
	valued := func(version int, change int) protocol.CellRecord {
		r := protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: version}
		if change > 0 {
			r.Stamp = protocol.PlanStamp(int64(change))
		}
		return r
	}
	ran := func(version int) map[contract.CellName]protocol.Count {
		return map[contract.CellName]protocol.Count{x: {1, version}, y: {1, 1}}
	}
	followed := []contract.Follow{{Cell: x, Watch: true}, {Cell: y, Watch: true}}
	for name, c := range map[string]struct {
		state  protocol.RoleState
		never  bool // no role of its kind brings it to anything
		x, y   protocol.CellRecord
		gone   bool // the agent of b
		away   bool // its own agent
		coming *protocol.Coming
		asked  bool
		// together says that what it follows has a source in common.
		together bool
		value    string // that Heat gives
		word     string
		detail   string
		report   string // of the role: the keys that are about changes
	}{
		"up to date": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(1, 0), y: valued(1, 0), word: "done", report: `{}`},
		"pending":    {state: protocol.RoleState{Status: protocol.RolePending}, x: valued(1, 0), y: valued(1, 0), word: "pending", report: `{}`},
		"followed": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(2, 0), y: valued(1, 0),
			word: "to be updated", detail: "what it follows has changed", report: `{"to_update":true}`},
		"asked": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(1, 0), y: valued(1, 0), asked: true,
			word: "to be updated", detail: "its agent was asked to run the role again", report: `{"to_update":true}`},
		"its agent is gone": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(2, 0), y: valued(1, 0), away: true,
			word: "to be updated", detail: "its agent is not there to run the role again", report: `{"to_update":true}`},
		"a server that is built anew": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(2, 0), y: protocol.CellRecord{State: protocol.Empty},
			word: "to be updated", detail: "what it follows has changed; it waits for the rest of the change: b.r:y", report: `{"to_update":true,"waits_for":"b.r:y"}`},
		"a server that is gone": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(2, 0), y: protocol.CellRecord{State: protocol.Empty}, gone: true,
			word: "to be updated", detail: "what it follows has changed; it waits for the rest of the change: b.r:y, whose server b is gone", report: `{"to_update":true,"waits_for":"b.r:y"}`},
		"held for the rest of a change of the plan": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(2, 7), y: valued(1, 0),
			coming: &protocol.Coming{Number: 7, After: map[contract.CellName]int{x: 1, y: 1}},
			word:   "to be updated", detail: "what it follows has changed; it waits for the rest of the change: b.r:y", report: `{"to_update":true,"waits_for":"b.r:y"}`},
		"not held where the change has not begun to reach it": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(2, 0), y: valued(1, 0),
			coming: &protocol.Coming{Number: 7, After: map[contract.CellName]int{x: 1, y: 1}},
			word:   "to be updated", detail: "what it follows has changed", report: `{"to_update":true}`},
		"asked and held": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: valued(1, 0), y: valued(1, 7), asked: true,
			coming: &protocol.Coming{Number: 7, Asked: true, After: map[contract.CellName]int{x: 1, y: 1}},
			word:   "to be updated", detail: "its agent was asked to run the role again; it waits for the rest of the change: a.r:x", report: `{"to_update":true,"waits_for":"a.r:x"}`},
		"added and held": {state: protocol.RoleState{Status: protocol.RolePending}, x: valued(1, 0), y: valued(1, 7),
			coming: &protocol.Coming{Number: 7, Added: true, Asked: true, After: map[contract.CellName]int{x: 1}},
			word:   "pending", detail: "it was added by a change of the plan, and waits for the rest of it: a.r:x", report: `{"waits_for":"a.r:x"}`},
		"running for an update": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(2), Update: &protocol.UpdateState{Status: protocol.RoleRunning, Started: noon}}, x: valued(2, 0), y: valued(1, 0),
			word: "updating", detail: "the role is running again", report: `{"update":{"status":"running","started":"2026-11-22T12:00:00Z"}}`},
		"superseded": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1), Update: &protocol.UpdateState{Status: protocol.RoleRunning, Started: noon}}, x: valued(2, 0), y: valued(1, 0),
			word: "superseded", detail: "the role runs to completion, then again: what it follows has changed since", report: `{"superseded":true,"update":{"status":"running","started":"2026-11-22T12:00:00Z"}}`},
		"failed": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(2), Update: &protocol.UpdateState{Status: protocol.RoleFailed, Cause: &protocol.Cause{Reason: "exit status 1"}}}, x: valued(2, 0), y: valued(1, 0),
			word: "not updated", detail: "the role failed when it ran again: exit status 1", report: `{"update":{"status":"failed","cause":{"reason":"exit status 1"}}}`},
		"behind": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: ran(1)}, x: protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 2, Cause: failure}, y: valued(1, 0),
			word: "not updated", detail: "the role that writes what it follows failed (site.yaml:20:9): a.r: exit status 4 (site.yaml:9:9)",
			report: `{"behind":{"role":"a.r","reason":"exit status 4","at":"site.yaml:9:9"}}`},
		"changed and held, beside an earlier failure": {state: protocol.RoleState{Status: protocol.RoleDone, Made: "another", Followed: ran(1)}, together: true,
			x: protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 1, Cause: failure, Stamp: protocol.Stamp{"s:x": {1, 1}}}, y: protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 1, Stamp: protocol.Stamp{"s:x": {1, 2}}},
			coming: &protocol.Coming{Number: 7, Asked: true, After: map[contract.CellName]int{x: 1}},
			word:   "to be updated", detail: "its plan has changed; it waits for the rest of the change: a.r:x", report: `{"to_update":true,"waits_for":"a.r:x"}`},
		"failed, as it has run": {state: protocol.RoleState{Status: protocol.RoleFailed, Cause: failure, Followed: map[contract.CellName]protocol.Count{heat: {0, 1}}}, never: true, value: "2", word: "failed", report: `{}`},
		"reaches nobody": {state: protocol.RoleState{Status: protocol.RoleDone, Followed: map[contract.CellName]protocol.Count{heat: {0, 1}}}, never: true, value: "2",
			word: "not reached", detail: "it keeps the values it ran with, since it has no hook update and is not idempotent; changed since: {get_param: level}; hotc retry NAME c.r --force runs it with them", report: `{"unreached":["{get_param: level}"]}`},
	} {
		role := contract.Role{Name: "r", At: "site.yaml:20:9", Idempotent: !c.never, Follows: followed}
		if c.together {
			role.Follows = []contract.Follow{{Cell: x, Watch: true, Sources: []contract.Source{"s:x"}}, {Cell: y, Watch: true, Sources: []contract.Source{"s:x"}}}
		}
		if c.never {
			role.Follows = []contract.Follow{{Cell: heat}}
		}
		writer := contract.Role{Name: "r"}
		p := &contract.Plan{Servers: []contract.Server{
			{Path: "a", Roles: []contract.Role{writer}, Writes: []contract.CellName{x}}, {Path: "b", Roles: []contract.Role{writer}, Writes: []contract.CellName{y}},
			{Path: "c", Roles: []contract.Role{role}, Deploy: map[string]contract.DeployValue{"k": {Carried: true, Expr: json.RawMessage(`{"get_param":"level"}`)}}},
		}, Cells: []contract.Cell{{Name: x, Server: "a", Role: "r"}, {Name: y, Server: "b", Role: "r"}}}
		of := func(path contract.ServerPath, alive bool, cells map[contract.CellName]protocol.CellRecord, r protocol.RoleState) deploy.ServerSnapshot {
			r.Name = "r"
			return deploy.ServerSnapshot{Path: path, Alive: alive, Incarnation: protocol.IncarnationRecord{Number: 1, Instance: "i"}, Cells: cells,
				State: protocol.ServerState{Incarnation: 1, Phase: protocol.PhaseDone, Roles: []protocol.RoleState{r}}}
		}
		done := protocol.RoleState{Status: protocol.RoleDone, Made: writer.Made()}
		c.state.Made = cmp.Or(c.state.Made, role.Made())
		last := of("c", !c.away, nil, c.state)
		if c.coming != nil {
			last.Coming = map[string]protocol.Coming{"r": *c.coming}
		}
		if c.asked {
			last.Requests = []protocol.Request{{ID: "q", Kind: protocol.Hook, Name: contract.HookUpdate, Role: "r", Incarnation: 1}}
		}
		if c.value != "" {
			last.Heat = protocol.HeatValues{Instance: "i", Number: 1, Values: map[string]json.RawMessage{"k": json.RawMessage(c.value)}}
		}
		v := New(p, &deploy.Snapshot{Ready: true, Servers: []deploy.ServerSnapshot{
			of("a", true, map[contract.CellName]protocol.CellRecord{x: c.x}, done), of("b", !c.gone, map[contract.CellName]protocol.CellRecord{y: c.y}, done), last}}, nil)
		r := v.RoleOf("c.r")
		if r.Shown() != c.word || UpdateDetail(r) != c.detail {
			t.Errorf("%s: it is %s: %q, want %s: %q", name, r.Shown(), UpdateDetail(r), c.word, c.detail)
		}
		got := v.Report("site", v.Servers, nil).Servers[2].Roles[0]
		text, err := json.Marshal(map[string]any{"to_update": got.ToUpdate, "superseded": got.Superseded, "waits_for": got.WaitsFor, "behind": got.Behind, "unreached": got.Unreached, "update": got.Update})
		if err != nil {
			t.Fatal(err)
		}
		if got := withoutEmpty(t, text); !protocol.SameValue(got, json.RawMessage(c.report)) {
			t.Errorf("%s: the report says %s, want %s", name, got, c.report)
		}
		if why := Explain(v, v.Open()).Found["c.r"]; strings.Contains(c.report, "waits_for") && (why == nil || len(why.On) != 1 || !strings.Contains(c.report, string(why.On[0].Cell))) {
			t.Errorf("%s: why says %+v", name, why)
		}
	}
}

// withoutEmpty leaves out the keys of an object that say nothing.
func withoutEmpty(t *testing.T, text []byte) json.RawMessage {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for key, value := range all {
		if s := string(value); s == "null" || s == `""` || s == "false" {
			delete(all, key)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
