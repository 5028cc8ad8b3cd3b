package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// given is a world in whose plan the role mysql follows what Heat gives as level.
func given(t *testing.T) *world {
	w := newWorld(t)
	db := &w.plan.Servers[0]
	db.Deploy = map[string]contract.DeployValue{"level": {Expr: json.RawMessage(`{"get_param":"level"}`), Carried: true}}
	db.Roles[0].Idempotent, db.Roles[0].Follows = true, []contract.Follow{{Cell: contract.HeatCell("level"), Watch: true}}
	w.publish()
	return w
}

func leveled(id, value string) contract.HeatServer {
	return contract.HeatServer{Server: "db", ID: id, Values: map[string]json.RawMessage{"level": json.RawMessage(value)}}
}

// ran lets the agent of a machine say that all roles are done, mysql with a level.
func (w *world) ran(m *member.Session, level string) {
	w.t.Helper()
	state := ran(w.plan, "db", "", "mysql=done backup=done").State
	state.Phase = protocol.PhaseDone
	with := protocol.HeatRecordOf(json.RawMessage(level), 0)
	state.Roles[0].Followed = map[contract.CellName]protocol.Count{contract.HeatCell("level"): with.At()}
	if err := m.Report(w.t.Context(), state, nil); err != nil {
		w.t.Fatal(err)
	}
}

// told is what the machine is told that Heat gives.
func (w *world) told(m *member.Session) string {
	w.t.Helper()
	now, err := m.Heat(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return now.Instance + " " + string(now.Values["level"])
}

// A changed value reaches the server's agent, by either of two relays, and Heat is told when
// the role has run with it, not before.
func TestHeatWaitsForWhatItGives(t *testing.T) {
	w := given(t)
	w.wait("w1", "c1", leveled("id-1", `"low"`))
	first, kill := context.WithCancel(t.Context())
	killed := w.relay(first, "first", nil)
	m := w.machine("id-1")
	for name, value := range map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`} {
		if err := m.Put(t.Context(), name, json.RawMessage(value), noon); err != nil {
			t.Fatal(err)
		}
	}
	w.ran(m, `"low"`)
	w.until("the first value was told", func() bool { return len(w.said()) == 1 })
	// Only now: both could tell of the first value, and one of them, late, take that back.
	w.relay(t.Context(), "second", nil)
	w.wait("w1", "c2", leveled("id-1", `"high"`))
	w.until("the second value was carried", func() bool { return w.told(m) == `id-1 "high"` })
	looks := w.looked()
	w.until("both have looked again", func() bool { return w.looked() > looks+4 })
	if said := w.said(); len(said) != 1 {
		t.Fatalf("Heat was told before the role has run: %v", said)
	}
	kill()
	<-killed
	w.ran(m, `"high"`)
	w.until("it was told that the role has run", func() bool { return len(w.said()) == 2 })
	if said := w.said(); !strings.HasPrefix(said[1], "w1 COMPLETE all roles are done") {
		t.Error(said)
	}
}

// A plan supplies a value itself, which was Heat's, and leaves it to Heat again, which has had the same
// all the time: meanwhile the relay's record does not have it.
func TestAValueMovesToThePlanAndBack(t *testing.T) {
	w := given(t)
	m := w.machine("id-1")
	w.wait("w1", "c1", leveled("id-1", `1`))
	w.relay(t.Context(), "relay", nil)
	w.until("the value is there", func() bool { return w.told(m) == "id-1 1" })
	db := &w.plan.Servers[0]
	deploy, follows := db.Deploy, db.Roles[0].Follows
	for _, updated := range []bool{false, true, true} { // or Heat's wait stays as it was
		db.Deploy, db.Roles[0].Follows = nil, nil
		if updated {
			w.wait("w1", "without", contract.HeatServer{Server: "db", ID: "id-1"})
		}
		w.publish()
		w.until("the value is gone", func() bool { return w.told(m) == "id-1 " })
		db.Deploy, db.Roles[0].Follows = deploy, follows
		w.publish()
		w.wait("w1", "c1", leveled("id-1", `1`))
		w.until("the value is there again", func() bool { return w.told(m) == "id-1 1" })
	}
}

// Of several waits that name a server the one counts that says something else than before, in
// whatever order Heat comes to them.
func TestSeveralWaitsNameAServer(t *testing.T) {
	w := given(t)
	m := w.machine("id-1")
	w.wait("w1", "c1", leveled("id-1", `1`))
	w.wait("w2", "c2", leveled("id-1", `1`))
	w.relay(t.Context(), "relay", nil)
	w.until("the value is there", func() bool { return w.told(m) == "id-1 1" })
	for n := 2; n < 6; n++ {
		one, other := "w1", "w2"
		if n%2 == 0 {
			one, other = other, one
		}
		w.wait(one, fmt.Sprint("c", n), leveled("id-1", fmt.Sprint(n)))
		w.until("the value is there", func() bool { return w.told(m) == fmt.Sprint("id-1 ", n) })
		looks := w.looked()
		w.until("it has looked again", func() bool { return w.looked() > looks+2 })
		if got := w.told(m); got != fmt.Sprint("id-1 ", n) {
			t.Errorf("the other wait has put back %s", got)
		}
		w.wait(other, fmt.Sprint("d", n), leveled("id-1", fmt.Sprint(n)))
	}
}

// Heat does not know a value, or which machine it is for: nothing is told. What it knows to
// be nothing is a value.
func TestWhatHeatDoesNotKnow(t *testing.T) {
	w := given(t)
	m := w.machine("id-1")
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	w.wait("w2", "c2", leveled("", `1`))
	w.relay(t.Context(), "relay", nil)
	w.until("it has looked", func() bool { return w.looked() > 3 })
	if got := w.told(m); got != " " {
		t.Errorf("told: %q", got)
	}
	w.wait("w2", "c3", leveled("id-1", `null`))
	w.until("null is there", func() bool { return w.told(m) == "id-1 null" })
}

// What does not fit into the coordinator fails in Heat, with the reason.
func TestHeatGivesTooMuch(t *testing.T) {
	w := given(t)
	w.ran(w.machine("id-1"), `1`)
	w.wait("w1", "c1", leveled("id-1", `"`+strings.Repeat("x", 2<<20)+`"`))
	w.relay(t.Context(), "relay", nil)
	w.until("Heat was told", func() bool { return len(w.said()) > 0 })
	if said := w.said()[0]; !strings.HasPrefix(said, "w1 FAILED Heat's values for server db have 20") {
		t.Error(said)
	}
}

// A role that is not brought to what Heat gives, since what else it follows has failed, fails the
// wait with that; but not with what its agent has said before it knew of the change.
func TestAWaitForARoleThatStaysBehind(t *testing.T) {
	w := given(t)
	m := w.machine("id-1")
	state := ran(w.plan, "db", "", "mysql=done backup=done").State
	state.Phase = protocol.PhaseDone
	level := contract.HeatCell("level")
	report := func(seen string) {
		t.Helper()
		record := protocol.HeatRecordOf(json.RawMessage(seen), 0)
		because := &protocol.Cause{Role: "app.web", Reason: "exit status 3", At: "site.yaml:9:9"}
		state.Roles[0].Behind = &protocol.BehindState{Cause: because, Seen: map[contract.CellName]protocol.Count{level: record.At()}}
		if err := m.Report(t.Context(), state, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.wait("w1", "c1", leveled("id-1", `"low"`))
	w.relay(t.Context(), "relay", nil)
	w.until("the value was carried", func() bool { return w.told(m) == `id-1 "low"` })
	report(`"high"`)
	looks := w.looked()
	w.until("it has looked again", func() bool { return w.looked() > looks+3 })
	if said := w.said(); len(said) != 0 {
		t.Fatalf("Heat was told of an earlier failure: %v", said)
	}
	report(`"low"`)
	w.until("Heat was told", func() bool { return len(w.said()) == 1 })
	if said := w.said()[0]; !strings.HasPrefix(said, "w1 FAILED role db.mysql is not brought up to date: app.web: exit status 3 (site.yaml:9:9)") {
		t.Error(said)
	}
}
