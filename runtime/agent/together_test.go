package agent_test

import (
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// swap puts roles in the place of those of some servers, and applies that.
func (b *bed) swap(roles map[contract.ServerPath][]contract.Role) {
	b.t.Helper()
	old := b.plan.Servers
	b.anew()
	for _, s := range old {
		now, changed := roles[s.Path]
		if !changed {
			now = s.Roles
		}
		b.server(s.Path, now...)
	}
	b.apply()
}

// runsOf waits for so many runs of a role, of which the last has ended.
func runsOf(name string, runs int) func(coordinator.ServerState) bool {
	return func(s coordinator.ServerState) bool {
		for _, r := range s.Roles {
			if r.Name == name {
				return r.Status == coordinator.RoleDone && r.Runs >= runs && (r.Update == nil || r.Update.Status != coordinator.RoleRunning)
			}
		}
		return false
	}
}

// gated is a role that publishes its level when it is let, as changed.
func (b *bed) gated(level string, changes ...func(*contract.Role)) contract.Role {
	r := b.levelled(level, changes...)
	r.Hooks = []contract.Task{b.task(contract.HookUpdate, fmt.Sprintf(`while ! [ -e ../go ]; do sleep 0.05; done; echo $HOTC_HOOK %s >>../count; printf %s | hotc-agent put out`, level, level))}
	return r
}

// One plan changes a role and the one that it follows: it has one run, with both.
func TestAChangedRoleWaitsForTheChangedOneThatItFollows(t *testing.T) {
	b := newBed(t)
	b.server("a", b.gated("1"))
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.apply()
	a, follower := b.start("a", stays), b.start("b", stays)
	b.awaitState("b", inPhase(coordinator.PhaseDone))
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.gated("2")}, "b": {b.passing("B", watch("in", "a.r:out"))}})
	b.awaitState("a", func(s coordinator.ServerState) bool {
		u := s.Roles[0].Update
		return u != nil && u.Status == coordinator.RoleRunning
	})
	follower.await("the plan was changed: it is read again")
	goOn(t, a)
	b.awaitAnswers("b", 1)
	b.want("b.r:out", `"B2"`)
	follower.ran("1\nupdate 2\n")
}

// The edge between two servers is turned round: who reads now has one run, with what the other
// one writes by the same change.
func TestWhoReadsByATurnedEdgeRunsOnce(t *testing.T) {
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprint("watched ", watched), func(t *testing.T) {
			b := newBed(t)
			way := func(name string, cell contract.CellName) func(*contract.Role) {
				if watched {
					return watch(name, cell)
				}
				return input(name, cell)
			}
			b.server("a", b.gated("1"))
			b.server("b", b.passing("b", way("in", "a.r:out")))
			b.apply()
			a, other := b.start("a", stays), b.start("b", stays)
			b.awaitState("b", inPhase(coordinator.PhaseDone))
			goOn(t, a)
			slow := `while ! [ -e ../go ]; do sleep 0.05; done; echo $HOTC_HOOK 5 >>../count; printf 5 | hotc-agent put out`
			writer := with(b.sh("r", slow), output("out", contract.String), static("level", `"5"`))
			writer.Hooks = []contract.Task{b.task(contract.HookUpdate, slow)}
			b.swap(map[contract.ServerPath][]contract.Role{"a": {b.passing("a", way("in", "b.r:out"))}, "b": {writer}})
			b.awaitState("b", func(s coordinator.ServerState) bool {
				u := s.Roles[0].Update
				return u != nil && u.Status == coordinator.RoleRunning
			})
			a.await("the plan was changed: it is read again")
			goOn(t, other)
			b.awaitAnswers("a", 1)
			b.want("a.r:out", `"a5"`)
			a.ran("1\nupdate 5\n")
			other.ran("1\nupdate 5\n")
		})
	}
}

// One plan changes two roles; a third one follows both, one of them by a role in between. It has
// one run.
func TestAPlansChangeReachesARoleByTwoWays(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	b.server("c", b.gated("1"))
	b.server("m", b.passing("m", watch("in", "a.r:out")))
	text := `echo $HOTC_HOOK $(hotc-agent get m) $(hotc-agent get c) >>../count`
	b.server("d", with(b.sh("r", text), watch("m", "m.r:out"), watch("c", "c.r:out"), b.onUpdate(text)))
	b.apply()
	agents := map[contract.ServerPath]*running{}
	for _, s := range []contract.ServerPath{"a", "c", "m", "d"} {
		agents[s] = b.start(s, stays)
		b.awaitState(s, inPhase(coordinator.PhaseDone))
	}
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.levelled("2")}, "c": {b.gated("2")}})
	b.awaitState("m", runsOf("r", 2))
	goOn(t, agents["c"])
	b.awaitState("d", runsOf("r", 2))
	agents["d"].ran("m1 1\nupdate m2 2\n")
	// The next change goes one way alone.
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.levelled("3")}})
	b.awaitState("d", runsOf("r", 3))
	// And again both, of which one comes to the same value.
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.levelled("4")}, "c": {b.gated("2", static("more", `1`))}})
	b.awaitState("d", runsOf("r", 4))
	agents["d"].ran("m1 1\nupdate m2 2\nupdate m3 2\nupdate m4 2\n")
}

// A role that comes with a change reads what the same change has another role write: it runs once.
func TestAnAddedRoleWaitsForTheChangedOneThatItFollows(t *testing.T) {
	b := newBed(t)
	b.server("a", b.gated("1"))
	first := b.sh("first", `true`)
	b.server("b", first)
	b.apply()
	a, follower := b.start("a", stays), b.start("b", stays)
	b.awaitState("b", inPhase(coordinator.PhaseDone))
	b.awaitState("a", inPhase(coordinator.PhaseDone))
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.gated("2")}, "b": {first, b.passing("b", watch("in", "a.r:out"))}})
	b.awaitState("a", func(s coordinator.ServerState) bool {
		u := s.Roles[0].Update
		return u != nil && u.Status == coordinator.RoleRunning
	})
	follower.await("the plan was changed: it is read again")
	goOn(t, a)
	b.awaitState("b", runsOf("r", 1))
	b.awaitState("a", runsOf("r", 2))
	follower.ran("2\n")
}

// A role that has run gets to read what an added one before it on its own server will write: its
// hook does not stand in that one's way.
func TestAHookLetsTheAddedRoleBeforeItRun(t *testing.T) {
	b := newBed(t)
	second := func(changes ...func(*contract.Role)) contract.Role {
		return with(b.passing("s", changes...), func(r *contract.Role) { r.Name = "second" })
	}
	b.server("o", b.levelled("1"))
	b.server("s", second(watch("in", "o.r:out")))
	b.apply()
	b.start("o", stays)
	s := b.start("s", stays)
	b.awaitState("s", inPhase(coordinator.PhaseDone))
	b.swap(map[contract.ServerPath][]contract.Role{"s": {with(b.levelled("7"), func(r *contract.Role) { r.Name = "first" }), second(watch("in", "s.first:out"))}})
	b.awaitState("s", runsOf("second", 2))
	s.ran("1\n7\nupdate 7\n")
}
