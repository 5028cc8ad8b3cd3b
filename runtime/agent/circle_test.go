package agent_test

import (
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// Hooks that read each other's new outputs before they write their own wait for ever, which status
// calls by its name (docs/rules/H511.md); one that writes first lets both go on.
func TestHooksThatWaitForEachOther(t *testing.T) {
	const reads, writes = "hotc-agent get peer >peer; ", "hostname | hotc-agent put name; "
	for _, first := range []string{reads + writes, writes + reads} {
		b := newBed(t)
		b.server("a", with(b.sh("r", "true"), b.onUpdate("true")))
		b.server("b", with(b.sh("r", "true"), b.onUpdate("true")))
		b.apply()
		a, other := b.start("a", stays), b.start("b", stays)
		b.awaitState("a", inPhase(protocol.PhaseDone))
		b.awaitState("b", inPhase(protocol.PhaseDone))
		one := func(hook string, peer contract.CellName) contract.Role {
			return with(b.sh("r", "true; "), output("name", contract.String), input("peer", peer), b.onUpdate(hook+"echo $HOTC_HOOK >>../count"))
		}
		b.swap(map[contract.ServerPath][]contract.Role{"a": {one(first, "b.r:name")}, "b": {one(reads+writes, "a.r:name")}})
		if first != reads+writes {
			b.asPlanned("a")
			b.asPlanned("b")
			a.ran("update\n")
			other.ran("update\n")
			continue
		}
		b.awaitState("a", blockedOn("b.r:name"))
		b.awaitState("b", blockedOn("a.r:name"))
		v, err := deploy.TakeSnapshot(t.Context(), b.operator(), deployment, b.secret, &b.plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(status.Subjects(status.Deadlocks(status.New(&b.plan, v, nil)))); got != "[[a.r b.r]]" {
			t.Errorf("status names %s", got)
		}
		back := with(b.sh("r", "true"), b.onUpdate("echo back >>../count"))
		b.swap(map[contract.ServerPath][]contract.Role{"a": {back}, "b": {back}})
		for server, agent := range map[contract.ServerPath]*running{"a": a, "b": other} {
			b.awaitState(server, func(s protocol.ServerState) bool {
				u := s.Roles[0].Update
				return s.Roles[0].Made == back.Made() && u != nil && u.Status == protocol.RoleDone
			})
			if got := agent.file("count"); got != "back\n" {
				t.Errorf("the hook of %s has run: %q", server, got)
			}
		}
	}
}
