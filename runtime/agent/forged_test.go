package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// forge writes into a server's cell what somebody with its token may sign.
func (b *bed) forge(server contract.ServerPath, cell contract.CellName, record protocol.CellRecord) {
	b.t.Helper()
	token := b.secret.ServerToken(deployment, server)
	thief := b.tree.Open(protocol.ServerCredential(server, token))
	defer thief.Close()
	operator, err := b.secret.OperatorKey(deployment)
	if err != nil {
		b.t.Fatal(err)
	}
	root, err := b.operator().Read(b.t.Context(), deployment.Root())
	if err != nil {
		b.t.Fatal(err)
	}
	is, err := protocol.OpenDeployment(deployment, operator.Public(), root.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := protocol.ServerKey(token, "")
	if err != nil {
		b.t.Fatal(err)
	}
	ref := contract.CellRef{Cell: cell, Server: server}
	data, err := protocol.Signed(key, deployment.CellPlace(is.ID, ref), 0, record)
	if err != nil {
		b.t.Fatal(err)
	}
	op := store.Op{Path: deployment.Cell(ref), Version: store.AnyVersion, Write: true, Data: data}
	if err := thief.Commit(b.t.Context(), op); err != nil {
		b.t.Fatal(err)
	}
}

// A server that was taken over says that it is made of runs that nobody has made, and of a change
// of the plan that there never was. Who reads from it waits, the others do not; and when the server
// is built anew all is as if it had never been.
func TestForgedStamps(t *testing.T) {
	b, agents := diamond(t, "")
	agents["b"].cancel()
	agents["b"].gone()
	far := protocol.Count{1 << 40, 1 << 40}
	b.forge("b", "b.r:out", protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 7, Value: json.RawMessage(`"evil"`),
		Stamp: protocol.Stamp{"a.r": far, "c.r": far, contract.PlanSource: {0, 1 << 52}}})
	b.change("a", b.levelled("2", carries("a.r")))
	b.awaitState("c", upTo(2, protocol.RoleDone))
	b.want("c.r:out", `"c2"`)
	b.start("b", stays, machine("anew"))
	b.awaitState("d", upTo(2, protocol.RoleDone))
	b.change("a", b.levelled("3", carries("a.r")))
	b.awaitState("d", upTo(3, protocol.RoleDone))
	agents["d"].ran("b1 c1\nupdate b2 c2\nupdate b3 c3\n")
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.levelled("4", carries("a.r"))}, "b": {b.passing("B", watch("in", "a.r:out"), carries("a.r"))}})
	b.awaitState("d", upTo(4, protocol.RoleDone))
	agents["d"].ran("b1 c1\nupdate b2 c2\nupdate b3 c3\nupdate B4 c4\n")
}

// A server that was taken over publishes a list where its role has a string. Nobody runs with it: who
// follows the value stays with the one before, who has not run waits, until there is a string.
func TestAValueOfAnotherType(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.server("c", with(b.sh("r", "hotc-agent get in >>../count"), input("in", "a.r:out")))
	b.apply()
	b.start("a", stays)
	follower := b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	b.forge("a", "a.r:out", protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 2, Value: json.RawMessage(`["x","y"]`)})
	follower = b.looked("b", follower)
	follower.ran("1\n")
	late := b.start("c", stays)
	late.await("the cell a.r:out cannot be read as written by server a: its value has another type than the plan says: list, not string")
	b.change("a", b.levelled("2"))
	b.awaitState("b", upTo(2, protocol.RoleDone))
	b.awaitState("c", inPhase(protocol.PhaseDone))
	follower.ran("1\nupdate 2\n")
	late.ran("2")
}

// A plan that changes the type of an output has its role publish it again, though nothing else of the
// role has changed.
func TestAnOutputGetsAnotherType(t *testing.T) {
	b := newBed(t)
	text := `printf 7 | hotc-agent put out; echo $HOTC_HOOK >>../count`
	r := with(b.sh("r", text), output("out", contract.Number), b.onUpdate(text))
	b.server("a", r)
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.apply()
	a, follower := b.start("a", stays), b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	b.want("a.r:out", `7`)
	b.change("a", with(b.sh("r", text), output("out", contract.String), b.onUpdate(text)))
	b.awaitState("b", upTo(2, protocol.RoleDone))
	b.want("a.r:out", `"7"`)
	a.ran("\nupdate\n")
	follower.ran("7\nupdate 7\n")
}
