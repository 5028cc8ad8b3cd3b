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

// failing is a world with a relay, which stop ends, and the agent of a machine that is there until
// it leaves.
func failing(t *testing.T) (w *world, m *member.Session, stop, leave func()) {
	w = newWorld(t, func(p *contract.Plan) { p.Signal = contract.RelaySignals })
	m = w.machine("id-1")
	there, leave := context.WithCancel(t.Context())
	if err := m.Announce(there, protocol.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	ended := w.relay(ctx, "relay", nil)
	return w, m, func() { kill(); <-ended }, leave
}

// tried lets the agent say how its roles stand, in an attempt, once it has begun with what a relay asked.
func (w *world) tried(m *member.Session, roles string, attempt int, again string) {
	w.t.Helper()
	state := ran(w.plan, "db", "", roles).State
	state.Phase, state.Again = protocol.PhaseRunning, again
	for i := range state.Roles {
		state.Roles[i].Attempt = attempt
	}
	if err := m.Report(w.t.Context(), state, nil); err != nil {
		w.t.Fatal(err)
	}
}

// asked is the update for which the relay has told the machine to run failed roles again.
func (w *world) asked(m *member.Session) string {
	w.t.Helper()
	now, err := m.Heat(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return now.Again
}

// ends says how Heat's waits were ended.
func (w *world) outcomes() string {
	var all []string
	for _, text := range w.said() {
		all = append(all, strings.Join(strings.Fields(text)[:2], " "))
	}
	return fmt.Sprint(all)
}

func (w *world) becomes(want string) {
	w.t.Helper()
	w.until("Heat to be told "+want, func() bool { return w.outcomes() == want })
}

// Heat was told of a failure: at its next wait the roles run again, once, with whichever relay.
func TestFailedRolesRunAgain(t *testing.T) {
	w, m, stop, _ := failing(t)
	for name, value := range map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`} {
		if err := m.Put(t.Context(), name, json.RawMessage(value), noon); err != nil {
			t.Fatal(err)
		}
	}
	db := contract.HeatServer{Server: "db", ID: "id-1"}
	w.wait("w1", "c1", db)
	w.report(m, "mysql=failed")
	w.becomes("[w1 FAILED]")
	if of := w.asked(m); of != "" {
		t.Errorf("it was to run again within the update in which it had failed: %s", of)
	}
	stop()
	w.mu.Lock()
	delete(w.waits, "w1")
	w.mu.Unlock()
	w.wait("w2", "c1", db)
	ctx, kill := context.WithCancel(t.Context())
	second := w.relay(ctx, "second", nil)
	w.until("the agent to be asked", func() bool { return w.asked(m) != "" })
	kill()
	<-second
	w.relay(t.Context(), "third", nil)
	of, looked := w.asked(m), w.looked()
	w.until("two rounds", func() bool { return w.looked() > looked+2 })
	if got := w.outcomes(); got != "[w1 FAILED]" {
		t.Errorf("the old failure was told again: %s", got)
	}
	w.tried(m, "mysql=running", 1, of)
	w.tried(m, "mysql=failed", 1, of)
	w.becomes("[w1 FAILED w2 FAILED]")
	if now := w.asked(m); now != of {
		t.Errorf("it was to run again for %s, and once more for %s", of, now)
	}
	// The wait stays, and gets another configuration.
	w.wait("w2", "c2", db)
	w.until("the agent to be asked again", func() bool { return w.asked(m) != of })
	w.tried(m, "mysql=done backup=done", 2, w.asked(m))
	w.becomes("[w1 FAILED w2 FAILED w2 COMPLETE]")
}

// What Heat does not know yet is told, and not tried again: an operator has tried it in vain.
func TestAFailureThatIsNewsIsTold(t *testing.T) {
	w, m, _, leave := failing(t)
	db := contract.HeatServer{Server: "db", ID: "id-1"}
	w.wait("w1", "c1", db)
	w.report(m, "mysql=failed")
	w.becomes("[w1 FAILED]")
	w.tried(m, "mysql=failed", 1, "")
	looked := w.looked()
	w.until("two rounds", func() bool { return w.looked() > looked+2 })
	w.wait("w2", "c1", db)
	w.becomes("[w1 FAILED w2 FAILED]")
	if of := w.asked(m); of != "" {
		t.Errorf("it was to run again for %s", of)
	}
	// An agent that is not there runs nothing: Heat does not wait for it.
	leave()
	w.wait("w3", "c1", db)
	w.becomes("[w1 FAILED w2 FAILED w3 FAILED]")
}

// A role that has failed because of another waits until that one has begun.
func TestWhoFailedBecauseOfAnotherRunsAfterIt(t *testing.T) {
	web := protocol.ServerState{Roles: []protocol.RoleState{{Name: "app", Status: protocol.RoleFailed,
		Cause: &protocol.Cause{Role: "web.app", Reason: "blocked", Cause: &protocol.Cause{Role: "db.mysql", Reason: "exit status 3"}}}}}
	if of := cause(web); of != "db" {
		t.Errorf("it failed because of %q", of)
	}
	web.Roles = append(web.Roles, protocol.RoleState{Name: "own", Status: protocol.RoleFailed, Cause: &protocol.Cause{Role: "web.own", Reason: "exit status 1"}})
	if of := cause(web); of != "" {
		t.Errorf("one has failed by itself, and not because of %q", of)
	}
}
