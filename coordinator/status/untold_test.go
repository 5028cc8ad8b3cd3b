package status_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// A machine that has come since a relay was there is one that Heat waits for, and that nobody
// tells it of: an update of the stack by hand.
func TestUntoldOfANewMachine(t *testing.T) {
	p := &contract.Plan{Format: contract.Format, Signal: contract.RelaySignals, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
	snapshot := &deploy.Snapshot{Ready: true, Unrelayed: []contract.ServerPath{"db"}, Servers: []deploy.ServerSnapshot{{Path: "db"}}, Heat: coordinator.HeatRecord{Waits: []coordinator.HeatWait{{Status: coordinator.HeatDone}}}}
	v := status.New(p, snapshot, func(json.RawMessage) int { return 1 })
	if got := fmt.Sprint(v.Untold()); got != "[Heat does not know yet of server db: it joined after the last relay had stopped, and none is running]" {
		t.Error(got)
	}
}

// A server that was made while a relay told Heat cannot tell it: without a relay Heat does not
// know until one has found that it does.
func TestUntoldByAServerWithoutHandle(t *testing.T) {
	p := &contract.Plan{Format: contract.Format, Signal: contract.AgentsSignal, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
	told := coordinator.HeatRecord{Waits: []coordinator.HeatWait{{Wait: "hotc_done", Status: coordinator.HeatDone}, {Wait: contract.DoneHandle, Status: coordinator.HeatDone}}}
	const want = "[Heat does not know yet: server db was created without credentials to signal Heat, and no relay is running to signal instead]"
	for name, c := range map[string]struct {
		noHandle bool
		phase    coordinator.Phase
		relays   int
		heat     coordinator.HeatRecord
		want     string
	}{
		"none is running":          {true, coordinator.PhaseDone, 0, coordinator.HeatRecord{Waits: told.Waits[:1]}, want},
		"one is running":           {true, coordinator.PhaseDone, 1, coordinator.HeatRecord{}, "[]"},
		"one may not":              {true, coordinator.PhaseDone, 1, coordinator.HeatRecord{Trouble: "Heat refuses: no role"}, "[Heat does not know yet: server db was created without credentials to signal Heat, and the relay cannot signal instead: Heat refuses: no role]"},
		"one was, and has told it": {true, coordinator.PhaseDone, 0, told, "[]"},
		"it has nothing to tell":   {true, coordinator.PhaseRunning, 0, coordinator.HeatRecord{}, "[]"},
		"it tells Heat itself":     {false, coordinator.PhaseDone, 0, coordinator.HeatRecord{}, "[]"},
	} {
		db := deploy.ServerSnapshot{Path: "db", Incarnation: coordinator.IncarnationRecord{Number: 1}, State: coordinator.ServerState{Phase: c.phase, NoHandle: c.noHandle}}
		v := status.New(p, &deploy.Snapshot{Ready: true, Relays: c.relays, Heat: c.heat, Servers: []deploy.ServerSnapshot{db}}, func(json.RawMessage) int { return 1 })
		if got := fmt.Sprint(v.Untold()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Heat does not know yet where there is something to tell and nobody tells it; before that
// nothing is said, and where Heat is left out.
func TestUntold(t *testing.T) {
	waits := func(states ...coordinator.HeatWaitState) coordinator.HeatRecord {
		var r coordinator.HeatRecord
		for _, x := range states {
			r.Waits = append(r.Waits, coordinator.HeatWait{Wait: "hotc_done", Status: x})
		}
		return r
	}
	for name, c := range map[string]struct {
		signal contract.Signalling
		phase  coordinator.Phase
		untold string
		relays int
		heat   coordinator.HeatRecord
		want   string
	}{
		"all is well, by agents":           {contract.AgentsSignal, coordinator.PhaseDone, "", 0, waits(), "[]"},
		"an agent has no way":              {contract.AgentsSignal, coordinator.PhaseDone, "no route", 0, waits(), "[Heat does not know yet of server db: no route]"},
		"no relay, nothing to tell":        {contract.RelaySignals, coordinator.PhaseRunning, "", 0, waits(), "[]"},
		"no relay, and none was there":     {contract.RelaySignals, coordinator.PhaseDone, "", 0, waits(), "[Heat does not know yet: no relay is running]"},
		"no relay, and Heat waits":         {contract.RelaySignals, coordinator.PhaseFailed, "", 0, waits(coordinator.HeatDone, coordinator.HeatWaits), "[Heat does not know yet: no relay is running]"},
		"no relay, and Heat knew":          {contract.RelaySignals, coordinator.PhaseDone, "", 0, waits(coordinator.HeatDone, coordinator.HeatFailed), "[]"},
		"a relay":                          {contract.RelaySignals, coordinator.PhaseDone, "", 2, waits(coordinator.HeatWaits), "[]"},
		"a relay without a way":            {contract.RelaySignals, coordinator.PhaseRunning, "", 1, coordinator.HeatRecord{Trouble: "token refused"}, "[Heat does not know yet: token refused]"},
		"trouble of one that is not there": {contract.RelaySignals, coordinator.PhaseRunning, "", 0, coordinator.HeatRecord{Trouble: "token refused"}, "[]"},
		"Heat is left out":                 {contract.NobodySignals, coordinator.PhaseDone, "old", 0, waits(), "[]"},
	} {
		p := &contract.Plan{Format: contract.Format, Signal: c.signal, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
		db := deploy.ServerSnapshot{Path: "db", Incarnation: coordinator.IncarnationRecord{Number: 1}, State: coordinator.ServerState{Phase: c.phase, Untold: c.untold}}
		v := status.New(p, &deploy.Snapshot{Ready: true, Relays: c.relays, Heat: c.heat, Servers: []deploy.ServerSnapshot{db}}, func(json.RawMessage) int { return 1 })
		if got := fmt.Sprint(v.Untold()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Heat is at work on a stack that needs a relay, whatever the last one has seen.
func TestUntoldWhileHeatIsAtWork(t *testing.T) {
	done := deploy.ServerSnapshot{Path: "db", Incarnation: coordinator.IncarnationRecord{Number: 1}, State: coordinator.ServerState{Phase: coordinator.PhaseDone}}
	for signal, want := range map[contract.Signalling]string{
		contract.RelaySignals: "[Heat does not know yet: no relay is running, and the stack is UPDATE_IN_PROGRESS]", contract.AgentsSignal: "[]", contract.NobodySignals: "[]",
	} {
		for relays, want := range []string{want, "[]"} {
			p := &contract.Plan{Format: contract.Format, Signal: signal, Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "r"}}}}}
			told := coordinator.HeatRecord{Waits: []coordinator.HeatWait{{Wait: "hotc_done", Status: coordinator.HeatDone}}}
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
	db := deploy.ServerSnapshot{Path: "db", Next: coordinator.NextRecord{ID: "j", Instance: "i-2", Since: now, Has: &has}}
	v := status.New(&contract.Plan{Servers: []contract.Server{{Path: "db"}}}, &deploy.Snapshot{Ready: true, Servers: []deploy.ServerSnapshot{db}}, func(json.RawMessage) int { return 1 })
	const want = "[server db: instance i-2 asked to become its machine, and Heat does not have that instance, or no longer: nothing runs on it]"
	if all, unrelayed := v.Next(now.Add(time.Minute)); fmt.Sprint(all) != want || unrelayed {
		t.Errorf("%v, %v", all, unrelayed)
	}
}
