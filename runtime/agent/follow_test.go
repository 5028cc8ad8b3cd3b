package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// watch makes a role follow a cell, which shares sources with others that it follows.
func watch(name string, cell contract.CellName, sources ...contract.Source) func(*contract.Role) {
	return func(r *contract.Role) {
		input(name, cell, func(in *contract.Input) { in.Watch = true })(r)
		r.Follows = append(r.Follows, contract.Follow{Cell: cell, Watch: true, Sources: sources})
	}
}

func carries(sources ...contract.Source) func(*contract.Role) {
	return func(r *contract.Role) { r.Carries = sources }
}

// onUpdate is a role's hook update.
func (b *bed) onUpdate(text string) func(*contract.Role) {
	return func(r *contract.Role) { r.Hooks = []contract.Task{b.task(contract.HookUpdate, text)} }
}

// levelled is a role that publishes the level it has, also as changed.
func (b *bed) levelled(level string, changes ...func(*contract.Role)) contract.Role {
	text := `echo $HOTC_HOOK $level >>../count; printf "$level" | hotc-agent put out`
	return with(b.sh("r", text), append([]func(*contract.Role){output("out", contract.String), static("level", fmt.Sprintf("%q", level)), b.onUpdate(text)}, changes...)...)
}

// passing is a role that publishes what it follows, with its own name before it. On the machine
// "broken" it fails after that.
func (b *bed) passing(name string, changes ...func(*contract.Role)) contract.Role {
	text := `v=$(hotc-agent get in); echo $HOTC_HOOK $v >>../count; printf "` + name + `$v" | hotc-agent put out; [ "$INSTANCE" != broken ] || exit 3`
	return with(b.sh("r", text), append([]func(*contract.Role){output("out", contract.String), b.onUpdate(text)}, changes...)...)
}

// diamond is a → b, c → d. What is given changes c.
func diamond(t *testing.T, cText string) (*bed, map[contract.ServerPath]*running) {
	t.Helper()
	b := newBed(t)
	b.server("a", b.levelled("1", carries("a.r")))
	b.server("b", b.passing("b", watch("in", "a.r:out"), carries("a.r")))
	c := b.passing("c", watch("in", "a.r:out"), carries("a.r"))
	if cText != "" {
		c.Hooks = []contract.Task{b.task(contract.HookUpdate, cText)}
	}
	b.server("c", c)
	text := `echo $HOTC_HOOK $(hotc-agent get b) $(hotc-agent get c) >>../count; printf done | hotc-agent put out`
	b.server("d", with(b.sh("r", text), output("out", contract.String), watch("b", "b.r:out", "a.r"), watch("c", "c.r:out", "a.r"), b.onUpdate(text)))
	b.apply()
	agents := map[contract.ServerPath]*running{}
	for _, s := range []contract.ServerPath{"a", "b", "c", "d"} {
		agents[s] = b.start(s, stays)
		b.awaitState(s, inPhase(protocol.PhaseDone))
	}
	return b, agents
}

// upTo waits until a role has run as often as that, its updates included.
func upTo(runs int, status protocol.RoleStatus) func(protocol.ServerState) bool {
	return func(s protocol.ServerState) bool {
		r := s.Roles[0]
		return r.Runs >= runs && r.Update != nil && r.Update.Status == status
	}
}

func TestAChangeRunsAlongAChain(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.server("c", with(b.sh("r", `echo $HOTC_HOOK $(hotc-agent get in) >>../count`), watch("in", "b.r:out"), func(r *contract.Role) { r.Idempotent = true }))
	b.server("e", with(b.sh("r", `echo $HOTC_HOOK $(hotc-agent get in) >>../count`), input("in", "b.r:out")))
	b.apply()
	var c, e *running
	for _, s := range []contract.ServerPath{"a", "b", "c", "e"} {
		r := b.start(s, stays)
		b.awaitState(s, inPhase(protocol.PhaseDone))
		switch s {
		case "c":
			c = r
		case "e":
			e = r
		}
	}
	b.change("a", b.levelled("2"))
	b.awaitState("c", upTo(2, protocol.RoleDone))
	for _, s := range []contract.ServerPath{"a", "b"} { // a relay compares this with what its followers have run with
		b.awaitState(s, func(now protocol.ServerState) bool {
			return now.Roles[0].Status == protocol.RoleDone && now.Wrote[contract.CellName(s+".r:out")] == protocol.Count{1, 2}
		})
	}
	b.awaitState("c", func(now protocol.ServerState) bool {
		return now.Roles[0].Followed["b.r:out"] == protocol.Count{1, 2}
	})
	c.ran("b1\nupdate b2\n") // without a hook the role itself runs again
	e.ran("b1\n")            // it does not watch
	b.want("b.r:out", `"b2"`)
}

// The slow way of a diamond is waited for: its end has one run, with both.
func TestADiamondIsOneRun(t *testing.T) {
	b, agents := diamond(t, `while ! [ -e ../go ]; do sleep 0.05; done; v=$(hotc-agent get in); printf "c$v" | hotc-agent put out`)
	b.change("a", b.levelled("2", carries("a.r")))
	b.awaitState("b", upTo(2, protocol.RoleDone))
	goOn(t, agents["c"])
	b.awaitState("d", upTo(2, protocol.RoleDone))
	b.change("a", b.levelled("3", carries("a.r")))
	b.awaitState("d", upTo(3, protocol.RoleDone))
	agents["d"].ran("b1 c1\nupdate b2 c2\nupdate b3 c3\n")
}

func goOn(t *testing.T, r *running) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.work, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A way that ends with the same value is waited for, and nothing more.
func TestTheSameValueAgain(t *testing.T) {
	b, agents := diamond(t, `echo $HOTC_HOOK $(hotc-agent get in) >>../count; printf c1 | hotc-agent put out`)
	b.change("a", b.levelled("2", carries("a.r")))
	b.awaitState("d", upTo(2, protocol.RoleDone))
	agents["d"].ran("b1 c1\nupdate b2 c1\n")
	agents["c"].ran("1\nupdate 2\n")
}

// Where one way of a diamond fails its end stays as it was, and says so; the next change
// mends it.
func TestAFailedHalfOfAChange(t *testing.T) {
	b, agents := diamond(t, `v=$(hotc-agent get in); [ $v != 2 ] || exit 3; printf "c$v" | hotc-agent put out`)
	b.change("a", b.levelled("2", carries("a.r")))
	b.awaitState("c", upTo(2, protocol.RoleFailed))
	b.awaitState("b", upTo(2, protocol.RoleDone))
	b.want("c.r:out", `"c1"`)
	behind := b.awaitState("d", func(s protocol.ServerState) bool { return s.Roles[0].Behind != nil })
	if why := behind.Roles[0].Behind.Cause.Root(); why.Role != "c.r" || !strings.Contains(why.Reason, "exit status 3") {
		t.Errorf("d stays as it is because of %+v", why)
	}
	b.change("a", b.levelled("3", carries("a.r")))
	b.awaitState("d", upTo(2, protocol.RoleDone))
	agents["d"].ran("b1 c1\nupdate b3 c3\n")
	b.awaitState("d", func(s protocol.ServerState) bool { return s.Roles[0].Behind == nil })
}

// Of several changes that came while an agent was away only the last one counts.
func TestAnAgentThatReturnsFollowsTheLastChange(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.apply()
	b.start("a", stays)
	away := b.start("b")
	away.mustBeDone()
	for n := 2; n < 5; n++ {
		b.change("a", b.levelled(fmt.Sprint(n)))
		b.awaitState("a", upTo(n, protocol.RoleDone))
	}
	back := b.start("b", stays)
	b.awaitState("b", upTo(2, protocol.RoleDone))
	back.ran("1\nupdate 4\n")
}

// A server that is built anew publishes all that it did; who follows runs once for it.
func TestAServerThatIsBuiltAnewIsFollowed(t *testing.T) {
	b := newBed(t)
	two := `printf x$INSTANCE | hotc-agent put out; printf y$INSTANCE | hotc-agent put other`
	b.server("a", with(b.sh("r", two), output("out", contract.String), output("other", contract.String), carries("a.r")))
	text := `echo $HOTC_HOOK $(hotc-agent get x) $(hotc-agent get y) >>../count`
	b.server("b", with(b.sh("r", text), watch("x", "a.r:out", "a.r"), watch("y", "a.r:other", "a.r"), b.onUpdate(text)))
	b.apply()
	machine := func(id string) func(*agent.Config) {
		return func(c *agent.Config) {
			c.Instance, c.State = id, filepath.Join(c.State, id)
			c.Environment = append(c.Environment, "INSTANCE="+id)
		}
	}
	b.start("a", machine("1")).mustBeDone()
	follower := b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	b.start("a", machine("2")).mustBeDone()
	b.awaitState("b", upTo(2, protocol.RoleDone))
	follower.ran("x1 y1\nupdate x2 y2\n")
}

// An agent is killed before and after each line that what it follows adds to its journal: at
// rest the role has run with what is newest, or was interrupted and says so.
func TestAKillAtEveryLineOfTheJournalOfAFollower(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			for n := 1; n <= 3; n++ {
				t.Run(fmt.Sprintf("line %d, after it %v, idempotent %v", n, after, idempotent), func(t *testing.T) {
					b := newBed(t)
					b.server("a", b.levelled("1"))
					b.server("b", b.passing("b", watch("in", "a.r:out"), func(r *contract.Role) { r.Idempotent = idempotent }))
					b.apply()
					b.start("a", stays)
					b.start("b").mustBeDone()
					b.change("a", b.levelled("2"))
					b.awaitState("a", upTo(2, protocol.RoleDone))
					left := n
					_ = b.start("b", func(c *agent.Config) { c.Disk = mortal{journal.Folder(c.State), &left, after} }).wait()
					last := b.start("b", stays)
					state := b.awaitState("b", func(s protocol.ServerState) bool {
						u := s.Roles[0].Update
						return s.Phase == protocol.PhaseDone && u != nil && (u.Status == protocol.RoleDone || u.Status == protocol.RoleFailed && !idempotent)
					})
					runs := strings.Count(last.file("count"), "update 2\n")
					if u := state.Roles[0].Update; !idempotent && runs > 1 || u.Status == protocol.RoleDone && runs == 0 || u.Status == protocol.RoleFailed && !strings.Contains(u.Cause.Reason, "interrupted") {
						t.Errorf("it ran %d times: %+v", runs, u)
					}
				})
			}
		}
	}
}

// A failed attempt's value is taken back, and who has read it is brought to the next one.
func TestWhoHasReadAFailedAttemptsValueFollowsTheNext(t *testing.T) {
	b := newBed(t)
	b.server("a", with(b.sh("r", `[ -e ../go ] && n=2 || n=1; printf password$n | hotc-agent put out; [ -e ../go ] || { while ! [ -e ../fail ]; do sleep 0.05; done; exit 3; }`), output("out", contract.String)))
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.server("c", b.passing("c", input("in", "a.r:out")))
	b.apply()
	a, early := b.start("a", stays), b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	if err := os.WriteFile(filepath.Join(a.work, "fail"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.awaitState("a", inPhase(protocol.PhaseFailed))
	goOn(t, a)
	b.post("a", protocol.Request{ID: "r1", Kind: protocol.Retry, Role: "r"}, "a.r", "a.r:out")
	b.awaitState("b", upTo(2, protocol.RoleDone))
	early.ran("password1\nupdate password2\n")
	late := b.start("c")
	late.mustBeDone()
	late.ran("password2\n")
}

// A role that fails after it has published on a new machine: who is done is not brought to that, says
// so, and is when the role is mended; what else it follows reaches it all the while. Who runs for the
// first time has the value, as it would if it were faster.
func TestNobodyIsBroughtToAFailedAttempt(t *testing.T) {
	b := newBed(t)
	b.server("a", with(b.sh("r", `printf $INSTANCE | hotc-agent put out; [ $INSTANCE != two ] || [ -e ../go ] || exit 3`), output("out", contract.String)))
	b.server("z", b.levelled("1"))
	text := `echo $HOTC_HOOK $(hotc-agent get in) $(hotc-agent get z) >>../count`
	reads := func(r *contract.Role) {
		watch("in", "a.r:out")(r)
		watch("z", "z.r:out")(r)
	}
	b.server("b", with(b.sh("r", text), reads, b.onUpdate(text)))
	b.server("late", with(b.sh("r", text), reads, b.onUpdate(text)))
	b.apply()
	b.start("a", machine("one")).mustBeDone()
	b.start("z", stays)
	b.start("b").mustBeDone()
	a := b.start("a", machine("two"), stays)
	b.awaitState("a", inPhase(protocol.PhaseFailed))
	follower := b.start("b", stays)
	behind := b.awaitState("b", func(s protocol.ServerState) bool { return s.Roles[0].Behind != nil })
	if why := behind.Roles[0].Behind.Cause.String(); why != "a.r: exit status 3 (site.yaml:2:2)" {
		t.Errorf("b stays as it is because of %s", why)
	}
	late := b.start("late", stays)
	b.awaitState("late", inPhase(protocol.PhaseDone))
	b.change("z", b.levelled("2"))
	b.awaitState("late", upTo(2, protocol.RoleDone))
	late.ran("two 1\nupdate two 2\n")
	follower.ran("one 1\n")
	goOn(t, a)
	b.post("a", protocol.Request{ID: "retry", Kind: protocol.Retry, Incarnation: 2, Role: "r"}, "a.r", "a.r:out")
	b.awaitState("b", upTo(2, protocol.RoleDone))
	follower.ran("one 1\nupdate two 2\n")
}

// What a failed role has published stands as any value once an operator takes the role as done.
func TestWhatASkippedRoleHasPublishedIsFollowed(t *testing.T) {
	b := newBed(t)
	b.server("a", with(b.sh("r", `printf $INSTANCE | hotc-agent put out; [ $INSTANCE != two ] || exit 3; printf x | hotc-agent put never`), output("out", contract.String), output("never", contract.String)))
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.apply()
	b.start("a", machine("one")).mustBeDone()
	b.start("b").mustBeDone()
	b.start("a", machine("two"), stays)
	b.awaitState("a", inPhase(protocol.PhaseFailed))
	follower := b.start("b", stays)
	b.awaitState("b", func(s protocol.ServerState) bool { return s.Roles[0].Behind != nil })
	b.post("a", protocol.Request{ID: "skip", Kind: protocol.Skip, Incarnation: 2, Role: "r", Values: map[string]rawMessage{"never": rawMessage(`"x"`)}}, "a.r", "a.r:never")
	b.awaitState("b", upTo(2, protocol.RoleDone))
	follower.ran("one\nupdate two\n")
}

// A way of a diamond that has failed in its first run on a new machine holds nobody: the end of the
// diamond says why it stays as it is, also when the other way changes again.
func TestAFailedRoleIsNotWaitedFor(t *testing.T) {
	b, agents := diamond(t, "")
	b.start("c", machine("broken"), stays)
	b.awaitState("c", inPhase(protocol.PhaseFailed))
	for n := 2; n < 4; n++ {
		b.change("a", b.levelled(fmt.Sprint(n), carries("a.r")))
		b.awaitState("b", upTo(n, protocol.RoleDone))
		behind := b.awaitState("d", func(s protocol.ServerState) bool { return s.Roles[0].Behind != nil })
		if why := behind.Roles[0].Behind.Cause.Root(); why.Role != "c.r" || !strings.Contains(why.Reason, "exit status 3") {
			t.Errorf("d stays as it is because of %+v", why)
		}
	}
	if text := agents["d"].file("count"); strings.Contains(text, "b2") || strings.Contains(text, "b3") {
		t.Errorf("d has run with half of a change: %q", text)
	}
}

// A role that makes a password at random is killed a hundred times, at every line that it
// adds to its journal and to what it keeps. Nobody is stuck, and who follows it ends with the
// password that the server has.
func TestAHundredKillsOfARandomPassword(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("r", `p=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n'); printf $p >../real; printf $p | hotc-agent put out; [ -e ../go ] || exit 3`), output("out", contract.String)))
	b.server("web", with(b.sh("r", `hotc-agent get in >../real`), watch("in", "db.r:out"), func(r *contract.Role) { r.Idempotent = true }))
	b.apply()
	web := b.start("web", stays)
	retry := func(n int) {
		failed := b.awaitState("db", inPhase(protocol.PhaseFailed))
		b.post("db", protocol.Request{ID: fmt.Sprintf("retry-%d", n), Kind: protocol.Retry, Role: "r", Attempt: failed.Roles[0].Attempt}, "db.r", "db.r:out")
	}
	kills := 0
	for n := 0; kills < seedtest.Cases(100, 6); n++ {
		left := 1 + n%12
		_ = b.start("db", func(c *agent.Config) { c.Disk = mortal{journal.Folder(c.State), &left, n%2 == 0} }).wait()
		if left <= 0 {
			kills++
		}
		b.start("db").mustFail()
		retry(n)
	}
	db := b.start("db", stays)
	goOn(t, db)
	b.awaitState("db", func(s protocol.ServerState) bool {
		if s.Phase == protocol.PhaseFailed { // it began before it was let
			b.post("db", protocol.Request{ID: fmt.Sprintf("last-%d", s.Roles[0].Attempt), Kind: protocol.Retry, Role: "r", Attempt: s.Roles[0].Attempt}, "db.r", "db.r:out")
		}
		return s.Phase == protocol.PhaseDone
	})
	b.awaitState("web", func(s protocol.ServerState) bool {
		text, err := os.ReadFile(filepath.Join(web.work, "real"))
		return s.Phase == protocol.PhaseDone && err == nil && string(text) == db.file("real")
	})
	b.want("db.r:out", fmt.Sprintf("%q", db.file("real")))
}

// A server that comes back with another address is followed, too; who does not follow keeps
// what it read.
func TestAFactThatHasChanged(t *testing.T) {
	b := newBed(t)
	b.fact(b.server("db"), contract.FactFirstAddress)
	cell := contract.ServerPath("db").Fact(contract.FactFirstAddress)
	text := `echo $HOTC_HOOK $(hotc-agent get in) >>../count`
	b.server("web", with(b.sh("r", text), watch("in", cell), b.onUpdate(text)))
	b.server("old", with(b.sh("r", text), input("in", cell)))
	b.apply()
	address := func(text string) func(*agent.Config) {
		return func(c *agent.Config) {
			c.Boot.Facts = map[contract.Fact]rawMessage{contract.FactFirstAddress: rawMessage(`"` + text + `"`)}
		}
	}
	b.start("db", address("10.0.0.1")).mustBeDone()
	web, old := b.start("web", stays), b.start("old", stays)
	b.awaitState("web", inPhase(protocol.PhaseDone))
	b.awaitState("old", inPhase(protocol.PhaseDone))
	b.start("db", address("10.0.0.2")).mustBeDone()
	b.awaitState("web", upTo(2, protocol.RoleDone))
	web.ran("10.0.0.1\nupdate 10.0.0.2\n")
	old.ran("10.0.0.1\n")
}

// An agent is killed when its journal has the start of a hook, while something that the role may do
// without has failed. The hook was interrupted: it does not run for that failure, which it knew.
func TestAnInterruptedHookBesideAFailure(t *testing.T) {
	interrupted := 0
	for n, died := 1, true; died; n++ { // at each of its writes
		b := newBed(t)
		b.server("a", with(b.sh("r", "exit 3"), output("out", contract.String)))
		b.server("c", b.levelled("1"))
		of := func(level string) contract.Role {
			text := `echo $HOTC_HOOK $level >>../count; hotc-agent get in || true; printf x | hotc-agent put out`
			r := with(b.sh("r", text), output("out", contract.String), static("level", fmt.Sprintf("%q", level)), watch("in", "a.r:out"), watch("other", "c.r:out"), b.onUpdate(text))
			r.Inputs[1].Optional, r.Follows[0].Optional = true, true
			return r
		}
		b.server("b", of("1"))
		b.apply()
		b.start("a").mustFail()
		b.start("c").mustBeDone()
		b.start("b").mustBeDone()
		b.change("b", of("2"))
		left := n
		_ = b.start("b", func(c *agent.Config) { c.Disk = mortal{journal.Folder(c.State), &left, true} }).wait()
		died = left <= 0
		last, want := b.start("b", stays), "1\nupdate 2\n"
		if u := b.asPlanned("b").Roles[0].Update; u.Cause != nil && strings.Contains(u.Cause.Reason, "interrupted") {
			interrupted++
			want = "1\n"
		}
		b.looked("b", last).ran(want)
	}
	if interrupted == 0 {
		t.Error("no hook was interrupted")
	}
}
