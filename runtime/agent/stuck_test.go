package agent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// Hooks that wait for outputs which a change of the plan adds to each other's roles (H511) say what
// they wait for, and are seen as the dependency cycle that they are; another change frees no hook
// that runs, but a timeout does.
func TestHooksThatWaitForEachOtherAreSeen(t *testing.T) {
	b := newBed(t)
	role := func(hook string, more ...func(*contract.Role)) contract.Role {
		r := with(b.sh("r", "true"), more...)
		r.Hooks = []contract.Task{b.task(contract.HookUpdate, hook)}
		return r
	}
	b.server("a", role("true"))
	b.server("c", role("true"))
	b.apply()
	b.start("a", stays)
	b.start("c", stays)
	for _, server := range []contract.ServerPath{"a", "c"} {
		b.awaitState(server, inPhase(protocol.PhaseDone))
	}
	b.anew()
	const exchange = "hotc-agent get in; printf 1 | hotc-agent put out"
	b.server("a", role(exchange, output("out", contract.String), input("in", "c.r:out")))
	b.server("c", role(exchange, output("out", contract.String), input("in", "a.r:out")))
	b.apply()
	waits := func(cell contract.CellName) func(protocol.ServerState) bool {
		return func(s protocol.ServerState) bool {
			r := s.Roles[0]
			return r.Update != nil && r.Update.Status == protocol.RoleRunning && len(r.Blocked) == 1 && r.Blocked[0].Cell == cell
		}
	}
	b.awaitState("a", waits("c.r:out"))
	b.awaitState("c", waits("a.r:out"))
	look := func() *status.Status {
		v, err := status.Look(t.Context(), b.operator(), deployment, b.secret, &b.plan, func(json.RawMessage) int { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var seen status.Looks
	v := look()
	seen.See(v, time.Now())
	again := look()
	seen.See(again, time.Now().Add(status.BetweenLooks))
	if len(again.Cycles) != 1 || len(again.Cycles[0]) != 2 {
		t.Errorf("the cycles are %v", again.Cycles)
	}
	for _, key := range []contract.RoleKey{"a.r", "c.r"} {
		if r := again.RoleOf(key); r.Shown() != "updating" || r.Word() != "done" {
			t.Errorf("%s is %s, %s", key, r.Shown(), r.Word())
		}
		if f := status.Explain(again, again.Open()).Found[string(key)]; f == nil || f.Kind != status.KindUpdating || len(f.On) != 1 {
			t.Errorf("why says of %s: %+v", key, f)
		}
	}
}
