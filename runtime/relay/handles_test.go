package relay

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// switched is a world whose servers were made while a relay told Heat, and where Heat waits by
// handles since: one of the root, and one of a role, in the nested stack in which db lies.
func switched(t *testing.T) *world {
	w := newWorld(t, func(p *contract.Plan) {
		p.Signal = contract.AgentsSignal
		p.Servers[0].Roles[0].Signals[0].Handle = "hotc_handle_db.mysql"
	})
	w.state, w.signals = "UPDATE_IN_PROGRESS", map[string]map[string]string{}
	at := func(name, stack string) heat.Resource {
		return heat.Resource{Name: name, ID: name + stack, Type: heat.HandleType, StackName: "s", StackID: stack}
	}
	w.handles = []heat.Resource{at(contract.DoneHandle, "stack-1"), at("hotc_handle_db.mysql", "stack-1"), at("hotc_handle_db.mysql", "nested"),
		{Name: "tier", ID: "nested", NestedID: "nested", StackID: "stack-1"}, {Name: "db", ID: "id-1", StackID: "nested"}}
	return w
}

func (w *world) put(values map[contract.CellName]string, instance string) {
	w.t.Helper()
	m := w.machine(instance)
	for name, value := range values {
		if err := m.Put(w.t.Context(), name, json.RawMessage(value), noon); err != nil {
			w.t.Fatal(err)
		}
	}
	w.report(m, "mysql=done backup=done")
}

// A relay tells Heat for servers that have no credentials, with the values that it reads, to
// the handle that their agents would find, and again until Heat has it. It ends with the stack.
func TestTellForServersWithoutCredentials(t *testing.T) {
	w := switched(t)
	w.put(map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`}, "id-1")
	records := make(chan protocol.HeatRecord, 100_000)
	once := w.relay(t.Context(), "once", func(r *Relay) { r.Once, r.Told = true, func(x protocol.HeatRecord) { records <- x } })
	w.until("Heat has been told of both", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.signals["stack-1 hotc_done_handle"]["db"] == "SUCCESS" && w.signals["nested hotc_handle_db.mysql"]["db"] == "SUCCESS"
	})
	w.mu.Lock()
	w.state = "UPDATE_COMPLETE"
	w.mu.Unlock()
	if err := <-once; err != nil {
		t.Error(err)
	}
	said := w.said()
	slices.Sort(said)
	want := []string{ // the first of each got lost
		`nested hotc_handle_db.mysql {"status":"SUCCESS","reason":"role mysql is done","id":"db","data":{"own":1}}`,
		`stack-1 hotc_done_handle {"status":"SUCCESS","reason":"all roles are done","id":"db","data":{"url":"http://db"}}`,
	}
	if got := slices.Compact(slices.Clone(said)); !slices.Equal(got, want) || len(said) < 4 {
		t.Errorf("Heat was told\n%q\nwant\n%q", said, want)
	}
	var last protocol.HeatRecord
	for len(records) > 0 {
		last = <-records
	}
	if len(last.Waits) != 3 || slices.ContainsFunc(last.Waits, func(x protocol.HeatWait) bool { return x.Status != protocol.HeatDone }) {
		t.Errorf("written down: %+v", last)
	}
}

// What an agent has told is not told again, but a failure that was mended is: it would fail the
// next update. A machine that Heat has no more is not spoken for.
func TestTellNoMoreThanIsMissing(t *testing.T) {
	w := switched(t)
	w.signals["stack-1 hotc_done_handle"] = map[string]string{"db": "FAILURE"}
	w.signals["nested hotc_handle_db.mysql"] = map[string]string{"db": "SUCCESS"}
	w.state = "UPDATE_FAILED"
	w.put(map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`}, "id-1")
	w.relay(t.Context(), "relay", nil)
	w.until("the failure is taken back", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.signals["stack-1 hotc_done_handle"]["db"] == "SUCCESS"
	})
	looks := w.looked()
	w.until("it has looked on", func() bool { return w.looked() > looks+20 })
	w.put(nil, "id-2") // Heat knows nothing of it
	looks = w.looked()
	w.mu.Lock()
	delete(w.signals["stack-1 hotc_done_handle"], "db")
	w.mu.Unlock()
	w.until("it has looked on", func() bool { return w.looked() > looks+20 })
	if got := w.said(); len(got) != 1 {
		t.Errorf("Heat was told %q", got)
	}
}

// A failure is told as it is by its agent.
func TestTellAFailureForAServer(t *testing.T) {
	w := switched(t)
	w.signals["stack-1 hotc_done_handle"] = map[string]string{}
	w.signals["nested hotc_handle_db.mysql"] = map[string]string{}
	w.report(w.machine("id-1"), "mysql=failed")
	w.relay(t.Context(), "relay", nil)
	w.until("both are told", func() bool { return len(w.said()) == 2 })
	for _, got := range w.said() {
		if want := `{"status":"FAILURE","reason":"db.mysql: exit status 3 (site.yaml:5:9); once the cause is fixed: hotc retry NAME db.mysql","id":"db"}`; got != "stack-1 hotc_done_handle "+want && got != "nested hotc_handle_db.mysql "+want {
			t.Errorf("Heat was told %s", got)
		}
	}
}

// From agents back to a relay while Heat waits by handles: for servers that never had credentials
// for these nobody but the relay can end that.
func TestTellHandlesOfBefore(t *testing.T) {
	w := newWorld(t)
	for _, signal := range []contract.Signalling{contract.AgentsSignal, contract.RelaySignals} {
		w.plan.Signal = signal
		w.publish()
	}
	w.state, w.signals = "UPDATE_IN_PROGRESS", map[string]map[string]string{}
	w.handles = []heat.Resource{{Name: contract.DoneHandle, ID: "h", Type: heat.HandleType, StackName: "s", StackID: "stack-1"},
		{Name: "hotc_handle_db.mysql", ID: "h2", Type: heat.HandleType, StackName: "s", StackID: "stack-1"}, {Name: "db", ID: "id-1", StackID: "stack-1"}}
	w.put(map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`}, "id-1")
	w.relay(t.Context(), "relay", nil)
	w.until("Heat has been told of both", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.signals["stack-1 hotc_done_handle"]["db"] == "SUCCESS" && w.signals["stack-1 hotc_handle_db.mysql"]["db"] == "SUCCESS"
	})
}
