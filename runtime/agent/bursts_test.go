package agent_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// holding is a script that writes down what it is given and, at one value, waits to be let go.
func holding(name, at string) string {
	return fmt.Sprintf(`v=$(hotc-agent get %s); echo $HOTC_HOOK $v >>../count; [ "$v" != %s ] || while ! [ -e ../go ]; do sleep 0.05; done`, name, at)
}

func updates(s protocol.ServerState) bool {
	return s.Roles[0].Update != nil && s.Roles[0].Update.Status == protocol.RoleRunning
}

// Of fifty updates of the stack that come while a role runs for one, the last is run for, and
// none where that is back at what it runs with.
func TestABurstOfUpdatesOfTheStack(t *testing.T) {
	for _, last := range []string{"52", "2"} {
		b := newBed(t)
		carried(b.server("a", with(b.sh("r", holding("level", "2")), idempotent, given("level"))), "level")
		b.apply(func(w *deploy.Publication) { w.Plan.Signal = contract.RelaySignals })
		a := b.start("a", stays, booted("level", "1"))
		b.awaitState("a", inPhase(protocol.PhaseDone))
		give := func(v string) {
			b.gives(map[contract.ServerPath]protocol.HeatValues{"a": level("i-a", v)})
		}
		give("2")
		b.awaitState("a", updates)
		for n := range 49 {
			give(fmt.Sprint(n + 3))
		}
		give(last)
		goOn(t, a)
		want, runs := "1\nupdate 2\n", 2
		if last != "2" {
			want, runs = want+"update "+last+"\n", 3
		}
		b.awaitState("a", upTo(runs, protocol.RoleDone))
		give("60")
		b.awaitState("a", upTo(runs+1, protocol.RoleDone))
		a.ran(want + "update 60\n")
	}
}

// Of fifty plans that are applied while the agent is away the last is run for, once.
func TestFiftyPlansWhileAnAgentIsAway(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	b.apply()
	a := b.start("a", stays)
	b.awaitState("a", inPhase(protocol.PhaseDone))
	a.cancel()
	a.gone()
	for n := range 50 {
		b.change("a", b.levelled(fmt.Sprint(n+2)))
	}
	a = b.start("a", stays)
	b.awaitState("a", upTo(2, protocol.RoleDone))
	b.change("a", b.levelled("60"))
	b.awaitState("a", upTo(3, protocol.RoleDone))
	a.ran("1\nupdate 51\nupdate 60\n")
}

// What another role writes is followed by its versions: a value that has changed and changed back
// while the reader ran is a newer one, for which it runs once.
func TestAValueThatChangesBackWhileItsReaderRuns(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	text := holding("in", "2")
	b.server("b", with(b.sh("r", text), watch("in", "a.r:out"), b.onUpdate(text)))
	b.apply()
	b.start("a", stays)
	reader := b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	for n, level := range []string{"2", "3", "2"} {
		b.change("a", b.levelled(level))
		b.awaitState("a", upTo(n+2, protocol.RoleDone))
		b.awaitState("b", updates)
	}
	goOn(t, reader)
	b.awaitState("b", upTo(3, protocol.RoleDone))
	b.change("a", b.levelled("4"))
	b.awaitState("b", upTo(4, protocol.RoleDone))
	reader.ran("1\nupdate 2\nupdate 2\nupdate 4\n")
}

// A group that has no member any more has an empty list, and fills again; one that was made
// without members begins so.
func TestAGroupOfNobody(t *testing.T) {
	b, lb := balanced(t, 1, named)
	one := b.start("web/0", stays)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	one.cancel()
	one.gone()
	b.heat("web", map[contract.ServerPath]int{"web/0": 1})
	b.awaitState("lb", upTo(2, protocol.RoleDone))
	b.start("web/0", stays, machine("again"))
	b.awaitState("lb", upTo(3, protocol.RoleDone))
	lb.ran(`["w0"]` + "\nupdate []\n" + `update ["w0again"]` + "\n")

	b, lb = balanced(t, 0, named)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	b.start("web/0", stays)
	b.awaitState("lb", upTo(2, protocol.RoleDone))
	lb.ran("[]\n" + `update ["w0"]` + "\n")
}

// More than all members are not waited for.
func TestAtLeastMoreThanThereAre(t *testing.T) {
	b, lb := balanced(t, 2, named, func(in *contract.Input) { in.AtLeast = 3 })
	b.start("web/0", stays)
	b.start("web/1", stays)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	lb.ran(`["w0","w1"]` + "\n")
}

// A hook that always fails is tried once for each change, and not again when its agent is started
// anew.
func TestAFollowerThatFailsEachTime(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	text := `v=$(hotc-agent get in); echo $HOTC_HOOK $v >>../count; [ $v = 1 ] || [ $v = 9 ]`
	b.server("b", with(b.sh("r", text), watch("in", "a.r:out"), b.onUpdate(text)))
	b.apply()
	b.start("a", stays)
	reader := b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	want := "1\n"
	for n := 2; n < 7; n++ {
		b.change("a", b.levelled(fmt.Sprint(n)))
		b.awaitState("b", upTo(n, protocol.RoleFailed))
		want += fmt.Sprintf("update %d\n", n)
		reader.cancel()
		reader.gone()
		reader = b.start("b", stays)
	}
	b.change("a", b.levelled("9"))
	b.awaitState("b", upTo(7, protocol.RoleDone))
	reader.ran(want + "update 9\n")
}

// A member that comes as a new machine again and again costs a run for each time that it was
// there, never two at once, and leaves nothing behind: neither on the coordinator nor in what
// relays say.
func TestAMemberThatKeepsComing(t *testing.T) {
	b, lb := balanced(t, 2, named)
	b.start("web/0", stays)
	operator := b.operator()
	var count func(path store.Path) int
	count = func(path store.Path) int {
		n := 1
		names, err := operator.Children(t.Context(), path)
		if err != nil && !errors.Is(err, store.ErrRefused) {
			t.Fatal(err)
		}
		for _, name := range names {
			n += count(path.Join(name))
		}
		return n
	}
	nodes := func() int { return count(deployment.Server("web/1")) + count(deployment.Server("lb")) }
	want, before := `["w0","w1m1"]`+"\n", 0
	for n := 1; n < 8; n++ {
		one := b.start("web/1", stays, machine(fmt.Sprint("m", n)))
		b.awaitState("lb", func(s protocol.ServerState) bool {
			return s.Phase == protocol.PhaseDone && s.Roles[0].Runs == 2*n-1 && !updates(s)
		})
		if n > 1 {
			want += fmt.Sprintf(`update ["w0","w1m%d"]`+"\n", n)
		}
		if n == 2 {
			before = nodes()
		} else if now := nodes(); n > 2 && now != before {
			t.Errorf("there are %d nodes with machine %d, and were %d with the second", now, n, before)
		}
		one.cancel()
		one.gone()
		b.heat("web", map[contract.ServerPath]int{"web/1": n})
		b.awaitState("lb", func(s protocol.ServerState) bool { return s.Roles[0].Runs == 2*n && !updates(s) })
		want += `update ["w0"]` + "\n"
	}
	lb.ran(want)
}
