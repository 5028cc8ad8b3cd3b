package status_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// did are the roles of a server that has run them.
var did = []protocol.RoleState{{Name: "r", Status: protocol.RoleDone}}

// A machine that has come since a relay was there is one that Heat waits for, and that nobody
// tells it of: an update of the stack by hand.
func TestUntoldOfANewMachine(t *testing.T) {
	p := &contract.Plan{Format: contract.Format, Signal: contract.RelaySignals, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
	snapshot := &deploy.Snapshot{Ready: true, Unrelayed: []contract.ServerPath{"db"}, Servers: []deploy.ServerSnapshot{{Path: "db"}}, Heat: protocol.HeatRecord{Waits: []protocol.HeatWait{{Status: protocol.HeatDone}}}}
	v := status.New(p, snapshot, func(json.RawMessage) int { return 1 })
	if got := fmt.Sprint(v.Untold()); got != "[Heat does not know yet of server db: it joined after the last relay had stopped, and none is running]" {
		t.Error(got)
	}
}

// A server that was made while a relay told Heat cannot tell it: without a relay Heat does not
// know until one has found that it does.
func TestUntoldByAServerWithoutHandle(t *testing.T) {
	p := &contract.Plan{Format: contract.Format, Signal: contract.AgentsSignal, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
	told := protocol.HeatRecord{Waits: []protocol.HeatWait{{Wait: "hotc_done", Status: protocol.HeatDone}, {Wait: contract.DoneHandle, Status: protocol.HeatDone}}}
	const want = "[Heat does not know yet: server db was created without credentials to signal Heat, and no relay is running to signal instead]"
	for name, c := range map[string]struct {
		noHandle bool
		phase    protocol.Phase
		relays   int
		heat     protocol.HeatRecord
		want     string
	}{
		"none is running":          {true, protocol.PhaseDone, 0, protocol.HeatRecord{Waits: told.Waits[:1]}, want},
		"one is running":           {true, protocol.PhaseDone, 1, protocol.HeatRecord{}, "[]"},
		"one may not":              {true, protocol.PhaseDone, 1, protocol.HeatRecord{Trouble: "Heat refuses: no role"}, "[Heat does not know yet: server db was created without credentials to signal Heat, and the relay cannot signal instead: Heat refuses: no role]"},
		"one was, and has told it": {true, protocol.PhaseDone, 0, told, "[]"},
		"it has nothing to tell":   {true, protocol.PhaseRunning, 0, protocol.HeatRecord{}, "[]"},
		"it tells Heat itself":     {false, protocol.PhaseDone, 0, protocol.HeatRecord{}, "[]"},
	} {
		db := deploy.ServerSnapshot{Path: "db", Incarnation: protocol.IncarnationRecord{Number: 1}, State: protocol.ServerState{Phase: c.phase, NoHandle: c.noHandle, Roles: did}}
		v := status.New(p, &deploy.Snapshot{Ready: true, Relays: c.relays, Heat: c.heat, Servers: []deploy.ServerSnapshot{db}}, func(json.RawMessage) int { return 1 })
		if got := fmt.Sprint(v.Untold()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Heat does not know yet where there is something to tell and nobody tells it; before that
// nothing is said, and where Heat is left out.
func TestUntold(t *testing.T) {
	waits := func(states ...protocol.HeatWaitState) protocol.HeatRecord {
		var r protocol.HeatRecord
		for _, x := range states {
			r.Waits = append(r.Waits, protocol.HeatWait{Wait: "hotc_done", Status: x})
		}
		return r
	}
	for name, c := range map[string]struct {
		signal contract.Signalling
		phase  protocol.Phase
		untold string
		relays int
		heat   protocol.HeatRecord
		want   string
	}{
		"all is well, by agents":           {contract.AgentsSignal, protocol.PhaseDone, "", 0, waits(), "[]"},
		"an agent has no way":              {contract.AgentsSignal, protocol.PhaseDone, "no route", 0, waits(), "[Heat does not know yet of server db: no route]"},
		"no relay, nothing to tell":        {contract.RelaySignals, protocol.PhaseRunning, "", 0, waits(), "[]"},
		"no relay, and none was there":     {contract.RelaySignals, protocol.PhaseDone, "", 0, waits(), "[Heat does not know yet: no relay is running]"},
		"no relay, and Heat waits":         {contract.RelaySignals, protocol.PhaseFailed, "", 0, waits(protocol.HeatDone, protocol.HeatWaits), "[Heat does not know yet: no relay is running]"},
		"no relay, and Heat knew":          {contract.RelaySignals, protocol.PhaseDone, "", 0, waits(protocol.HeatDone, protocol.HeatFailed), "[]"},
		"a relay":                          {contract.RelaySignals, protocol.PhaseDone, "", 2, waits(protocol.HeatWaits), "[]"},
		"a relay without a way":            {contract.RelaySignals, protocol.PhaseRunning, "", 1, protocol.HeatRecord{Trouble: "token refused"}, "[Heat does not know yet: token refused]"},
		"trouble of one that is not there": {contract.RelaySignals, protocol.PhaseRunning, "", 0, protocol.HeatRecord{Trouble: "token refused"}, "[]"},
		"Heat is left out":                 {contract.NobodySignals, protocol.PhaseDone, "old", 0, waits(), "[]"},
	} {
		p := &contract.Plan{Format: contract.Format, Signal: c.signal, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
		db := deploy.ServerSnapshot{Path: "db", Incarnation: protocol.IncarnationRecord{Number: 1}, State: protocol.ServerState{Phase: c.phase, Untold: c.untold, Roles: did}}
		v := status.New(p, &deploy.Snapshot{Ready: true, Relays: c.relays, Heat: c.heat, Servers: []deploy.ServerSnapshot{db}}, func(json.RawMessage) int { return 1 })
		if got := fmt.Sprint(v.Untold()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Heat is at work on a stack that needs a relay, whatever the last one has seen.
func TestUntoldWhileHeatIsAtWork(t *testing.T) {
	done := deploy.ServerSnapshot{Path: "db", Incarnation: protocol.IncarnationRecord{Number: 1}, State: protocol.ServerState{Phase: protocol.PhaseDone, Roles: did}}
	for signal, want := range map[contract.Signalling]string{
		contract.RelaySignals: "[Heat does not know yet: no relay is running, and the stack is UPDATE_IN_PROGRESS]", contract.AgentsSignal: "[]", contract.NobodySignals: "[]",
	} {
		for relays, want := range []string{want, "[]"} {
			p := &contract.Plan{Format: contract.Format, Signal: signal, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
			told := protocol.HeatRecord{Waits: []protocol.HeatWait{{Wait: "hotc_done", Status: protocol.HeatDone}}}
			v := status.New(p, &deploy.Snapshot{Ready: true, Relays: relays, Heat: told, Servers: []deploy.ServerSnapshot{done}}, func(json.RawMessage) int { return 1 })
			v.Stack.State = "UPDATE_IN_PROGRESS"
			if got := fmt.Sprint(v.Untold()); got != want || v.Finished() {
				t.Errorf("%s, %d relays: %s, want %s", signal, relays, got, want)
			}
			if v.Stack.State = "UPDATE_COMPLETE"; len(v.Untold()) > 0 || !v.Finished() {
				t.Errorf("%s, %d relays, complete: %v", signal, relays, v.Untold())
			}
		}
	}
}

// A machine that Heat does not have runs nothing: it is not said to wait.
func TestAMachineThatHeatDoesNotHaveDoesNotWait(t *testing.T) {
	has, now := false, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	db := deploy.ServerSnapshot{Path: "db", Next: protocol.NextRecord{ID: "j", Instance: "i-2", Since: now, Has: &has}}
	v := status.New(&contract.Plan{Servers: []contract.Server{{Path: "db"}}}, &deploy.Snapshot{Ready: true, Servers: []deploy.ServerSnapshot{db}}, func(json.RawMessage) int { return 1 })
	const want = "[server db: instance i-2 asked to become its machine, and Heat does not have that instance, or no longer: nothing runs on it]"
	if all, unrelayed := v.Next(now.Add(time.Minute)); fmt.Sprint(all) != want || unrelayed {
		t.Errorf("%v, %v", all, unrelayed)
	}
}
