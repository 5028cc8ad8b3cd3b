package agent_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// scales adds a group that scales, whose members are servers.
func (b *bed) scales(slots int, role func() contract.Role) {
	for i := range slots {
		s := b.server(contract.ServerPath(fmt.Sprintf("app/%d", i)), role())
		s.Slot = &contract.Slot{Group: "app", Number: i, Shared: "app/*"}
	}
}

// member makes an agent that of a member: what Heat gives it is the same for all, but for
// the id of its stack.
func (b *bed) member(id string, changes ...func(*agent.Config)) *running {
	b.t.Helper()
	return b.start("app/*", append([]func(*agent.Config){func(c *agent.Config) {
		c.Boot.Slot = &contract.BootSlot{Path: "app/*", Member: id}
		c.Instance = "i-" + id
		c.State, c.Work = filepath.Join(b.state, id, "state"), filepath.Join(b.state, id, "work")
		c.IfDown = 300 * time.Millisecond
	}}, changes...)...)
}

func staying(c *agent.Config) { c.Once = false }

// Members take slots as they come, and are these servers from then on, after a restart
// too; one that comes when all have been taken waits until somebody is gone for good.
func TestMembersOfAGroupThatScales(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("db", "printf sql >$heat_outputs_path.url"), output("url", contract.String)))
	b.scales(2, func() contract.Role {
		return with(b.sh("work", `printf "$(hotc-agent get url) $$" >$heat_outputs_path.says`), input("url", "db.db:url"), output("says", contract.String))
	})
	b.apply()
	b.start("db").mustBeDone()
	stays, leaves := b.member("m1", staying), b.member("m2", staying)
	for _, s := range []contract.ServerPath{"app/0", "app/1"} {
		b.awaitState(s, inPhase(protocol.PhaseDone))
	}
	before := map[string]string{"app/0": b.cell("app/0.work:says"), "app/1": b.cell("app/1.work:says")}
	if !strings.HasPrefix(before["app/0"], `"sql `) || before["app/0"] == before["app/1"] {
		t.Errorf("the members say %v", before)
	}
	kept, left := "app/0", "app/1"
	if strings.Contains(leaves.console.String(), "server app/0 of blog") {
		kept, left = left, kept
	}
	b.member("m3", func(c *agent.Config) { c.IfDown = patience }).await("no replica slot of the group app is free (it has 2)")

	leaves.cancel()
	if err := leaves.wait(); err != nil {
		t.Fatal(err)
	}
	next := b.member("m4", staying)
	next.await("server " + left + " of blog, incarnation 2")
	b.awaitState(contract.ServerPath(left), func(s protocol.ServerState) bool { return s.Incarnation == 2 && s.Phase == protocol.PhaseDone })
	if got := b.cell(contract.CellName(left + ".work:says")); got == before[left] {
		t.Errorf("%s says %s, as before", left, got)
	}
	if err := b.member("m2").wait(); !errors.Is(err, member.ErrFenced) || !strings.Contains(err.Error(), "another member took its slot") {
		t.Errorf("who comes back: %v", err)
	}

	stays.cancel()
	if err := stays.wait(); err != nil {
		t.Fatal(err)
	}
	b.member("m1").mustBeDone()
	if got := b.cell(contract.CellName(kept + ".work:says")); got != before[kept] {
		t.Errorf("after a restart %s says %s, and said %s", kept, got, before[kept])
	}
}

// A member that was too slow, so that its slot went to another one just before it would
// have begun, is told that.
func TestAMemberTooSlowForItsSlot(t *testing.T) {
	b := newBed(t)
	b.scales(1, func() contract.Role { return b.sh("work", "true") })
	b.apply()
	other := sync.OnceFunc(func() {
		c := member.Claim{Deployment: deployment, Slot: &contract.BootSlot{Path: "app/*", Member: "m2"}, IfDown: time.Millisecond, Now: time.Now}
		if _, err := c.Take(t.Context(), b.tree.Open(protocol.ServerCredential("app/*", b.secret.ServerToken(deployment, "app/*")))); err != nil {
			t.Error(err)
		}
	})
	slow := b.member("m1", whenItReads(deployment.Keys("app/0"), other))
	if err := slow.wait(); !errors.Is(err, member.ErrFenced) || !strings.Contains(err.Error(), "another member took its slot") {
		t.Errorf("it ends with: %v", err)
	}
	if version, _, err := b.operator().Stat(t.Context(), deployment.Server("app/0")); err != nil || version != 0 {
		t.Errorf("it was the slot's server: version %d, %v", version, err)
	}
}

// A member that there is no slot for says so when all have been seen in use.
func TestMoreMembersThanSlots(t *testing.T) {
	b := newBed(t)
	b.scales(1, func() contract.Role { return b.sh("work", "true") })
	b.apply()
	b.member("m1", staying)
	b.awaitState("app/0", inPhase(protocol.PhaseDone))
	b.member("m2").await("every replica slot of the group app is in use (it has 1): Heat created more members than the plan has slots")
}

// A boot file of a template that is not a member of such a group in this use of it.
func TestNoSlot(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("db", "true"))
	b.apply()
	b.start("db", func(c *agent.Config) { c.Boot.Slot = &contract.BootSlot{} }).mustBeDone()
}
