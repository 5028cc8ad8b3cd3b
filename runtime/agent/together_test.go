package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/journal"
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
func runsOf(name string, runs int) func(protocol.ServerState) bool {
	return func(s protocol.ServerState) bool {
		for _, r := range s.Roles {
			if r.Name == name {
				return r.Status == protocol.RoleDone && r.Runs >= runs && (r.Update == nil || r.Update.Status != protocol.RoleRunning)
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
	b.awaitState("b", inPhase(protocol.PhaseDone))
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.gated("2")}, "b": {b.passing("B", watch("in", "a.r:out"))}})
	b.awaitState("a", func(s protocol.ServerState) bool {
		u := s.Roles[0].Update
		return u != nil && u.Status == protocol.RoleRunning
	})
	follower.await("the plan has changed: reading it again")
	goOn(t, a)
	b.asPlanned("b")
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
			b.awaitState("b", inPhase(protocol.PhaseDone))
			goOn(t, a)
			slow := `while ! [ -e ../go ]; do sleep 0.05; done; echo $HOTC_HOOK 5 >>../count; printf 5 | hotc-agent put out`
			writer := with(b.sh("r", slow), output("out", contract.String), static("level", `"5"`))
			writer.Hooks = []contract.Task{b.task(contract.HookUpdate, slow)}
			b.swap(map[contract.ServerPath][]contract.Role{"a": {b.passing("a", way("in", "b.r:out"))}, "b": {writer}})
			b.awaitState("b", func(s protocol.ServerState) bool {
				u := s.Roles[0].Update
				return u != nil && u.Status == protocol.RoleRunning
			})
			a.await("the plan has changed: reading it again")
			goOn(t, other)
			b.asPlanned("a")
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
		b.awaitState(s, inPhase(protocol.PhaseDone))
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

// One apply gives two secrets, and the plan stays as it is: who follows both, one of them by a role
// in between, has one run, and so has who follows both itself.
func TestSecretsThatAreGivenTogetherAreOneChange(t *testing.T) {
	b := newBed(t)
	follows := func(name string) func(*contract.Role) {
		return func(r *contract.Role) {
			cell := contract.SecretCell(name)
			input(name, cell, func(in *contract.Input) { in.Secret = true })(r)
			r.Follows = append(r.Follows, contract.Follow{Cell: cell, Watch: true})
		}
	}
	first := `printf "m$(hotc-agent get one)" | hotc-agent put out`
	b.server("m", with(b.sh("r", first), output("out", contract.String), follows("one"), b.onUpdate(`while ! [ -e ../go ]; do sleep 0.05; done; rm ../go; `+first)))
	text := `echo $HOTC_HOOK $(hotc-agent get m) $(hotc-agent get two) >>../count`
	b.server("d", with(b.sh("r", text), watch("m", "m.r:out"), follows("two"), b.onUpdate(text)))
	text = `echo $HOTC_HOOK $(hotc-agent get one) $(hotc-agent get two) >>../count`
	b.server("e", with(b.sh("r", text), follows("one"), follows("two"), b.onUpdate(text)))
	for _, name := range []string{"one", "two"} {
		b.plan.Secrets = append(b.plan.Secrets, contract.Secret{Name: name, Cell: contract.SecretCell(name), At: "site.yaml:2:2", Declaration: json.RawMessage(`{}`)})
	}
	announce := func(value int) {
		t.Helper()
		after := map[contract.CellName]int{}
		if value > 1 {
			given, err := deploy.ReadGiven(t.Context(), b.operator(), deployment, b.secret, &b.plan)
			if err != nil {
				t.Fatal(err)
			}
			for i, g := range given {
				after[b.plan.Secrets[i].Cell] = g.Next()
			}
		}
		b.apply(func(w *deploy.Publication) { w.After = after })
	}
	give := func(value int) {
		t.Helper()
		announce(value)
		for _, s := range b.plan.Secrets {
			if err := deploy.Give(t.Context(), b.operator(), deployment, b.secret, &b.plan, s, json.RawMessage(fmt.Sprintf(`"%s%d"`, s.Name, value)), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	give(1)
	agents := map[contract.ServerPath]*running{}
	for _, s := range []contract.ServerPath{"m", "d", "e"} {
		agents[s] = b.start(s, stays)
		b.awaitState(s, inPhase(protocol.PhaseDone))
	}
	for n := 2; n < 4; n++ {
		give(n)
		b.awaitState("m", func(s protocol.ServerState) bool {
			u := s.Roles[0].Update
			return u != nil && u.Status == protocol.RoleRunning
		})
		b.awaitState("e", runsOf("r", n))
		goOn(t, agents["m"])
		b.awaitState("d", runsOf("r", n))
		b.awaitState("m", runsOf("r", n))
	}
	agents["d"].ran("mone1 two1\nupdate mone2 two2\nupdate mone3 two3\n")
	agents["e"].ran("one1 two1\nupdate one2 two2\nupdate one3 two3\n")
	// An apply that changes e, too, ends before it gives them. The next one has only to give them.
	static("more", `1`)(&b.plan.Servers[2].Roles[0])
	announce(4)
	agents["e"].await("the plan has changed: reading it again")
	announce(4)
	if asked, err := b.operator().Read(t.Context(), deployment.Requests("e")); err != nil || !strings.Contains(string(asked.Data), `"asked":true`) {
		t.Errorf("e is not told any more that its own change waits for the secrets: %s (%v)", asked.Data, err)
	}
	give(4)
	b.awaitState("m", func(s protocol.ServerState) bool {
		u := s.Roles[0].Update
		return u != nil && u.Status == protocol.RoleRunning
	})
	goOn(t, agents["m"])
	b.awaitState("e", runsOf("r", 4))
	b.awaitState("d", runsOf("r", 4))
	b.asPlanned("e")
	agents["e"].ran("one1 two1\nupdate one2 two2\nupdate one3 two3\nupdate one4 two4\n")
}

// A role that comes with a change reads what the same change has another role write: it runs once.
func TestAnAddedRoleWaitsForTheChangedOneThatItFollows(t *testing.T) {
	b := newBed(t)
	b.server("a", b.gated("1"))
	first := b.sh("first", `true`)
	b.server("b", first)
	b.apply()
	a, follower := b.start("a", stays), b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	b.awaitState("a", inPhase(protocol.PhaseDone))
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.gated("2")}, "b": {first, b.passing("b", watch("in", "a.r:out"))}})
	b.awaitState("a", func(s protocol.ServerState) bool {
		u := s.Roles[0].Update
		return u != nil && u.Status == protocol.RoleRunning
	})
	follower.await("the plan has changed: reading it again")
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
	b.awaitState("s", inPhase(protocol.PhaseDone))
	b.swap(map[contract.ServerPath][]contract.Role{"s": {with(b.levelled("7"), func(r *contract.Role) { r.Name = "first" }), second(watch("in", "s.first:out"))}})
	b.awaitState("s", runsOf("second", 2))
	s.ran("1\n7\nupdate 7\n")
}

// killedOperator is an operator's store that dies at its n-th write, before or after that is done.
type killedOperator struct {
	store.Session
	mu    sync.Mutex
	left  int
	after bool
}

var errDied = errors.New("the operator's command was killed")

func (s *killedOperator) write(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left > 0 {
		return do()
	}
	if s.left == 0 && s.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errDied
}

func (s *killedOperator) Commit(ctx context.Context, ops ...store.Op) error {
	return s.write(func() error { return s.Session.Commit(ctx, ops...) })
}

func (s *killedOperator) Create(ctx context.Context, nodes []store.NewNode) error {
	return s.write(func() error { return s.Session.Create(ctx, nodes) })
}

// An apply that changes a role together with the ones that it follows is killed at each of its
// writes. The same command again brings all to the change, and each role has run once for it; so
// does another change in its place, which leaves out what half of the servers have heard of.
func TestAKillAtEveryWriteOfAChangeOfSeveral(t *testing.T) {
	for _, instead := range []bool{false, true} {
		for n, died := 1, true; died && n <= seedtest.Cases(1000, 3); n++ {
			t.Run(fmt.Sprintf("write %d, another change then %v", n, instead), func(t *testing.T) {
				b := newBed(t)
				at := func(a, c, d string) map[contract.ServerPath][]contract.Role {
					text := `echo $HOTC_HOOK ` + d + ` $(hotc-agent get m) $(hotc-agent get c) >>../count`
					return map[contract.ServerPath][]contract.Role{"a": {b.levelled(a)}, "c": {b.levelled(c)},
						"d": {with(b.sh("r", text), static("level", d), watch("m", "m.r:out"), watch("c", "c.r:out"), b.onUpdate(text))}}
				}
				first := at("1", "1", "1")
				b.server("a", first["a"]...)
				b.server("c", first["c"]...)
				b.server("m", b.passing("m", watch("in", "a.r:out")))
				b.server("d", first["d"]...)
				b.apply()
				agents := map[contract.ServerPath]*running{}
				for _, s := range []contract.ServerPath{"a", "c", "m", "d"} {
					agents[s] = b.start(s, stays)
					b.awaitState(s, inPhase(protocol.PhaseDone))
				}
				b.unapplied = func(w deploy.Publication) {
					_, err := deploy.Publish(t.Context(), &killedOperator{Session: b.operator(), left: n, after: n%2 == 0}, w)
					if died = err != nil; died && !errors.Is(err, errDied) {
						t.Fatal(err)
					}
				}
				b.swap(at("2", "2", "2"))
				b.unapplied = nil
				want := "2 m2 2"
				if instead {
					b.swap(at("1", "3", "1")) // as a was
					want = "1 m1 3"
				} else {
					b.swap(at("2", "2", "2"))
				}
				deadline := time.Now().Add(patience)
				for last := ""; last != want; {
					last = lastLine(agents["d"].file("count"))
					if time.Now().After(deadline) {
						t.Fatalf("d ran %q, want %q at last", agents["d"].file("count"), want)
					}
					time.Sleep(10 * time.Millisecond)
				}
				if !instead {
					agents["d"].ran("1 m1 1\nupdate 2 m2 2\n")
				}
				// It still follows each of them alone.
				b.swap(map[contract.ServerPath][]contract.Role{"c": {b.levelled("4")}})
				b.awaitState("c", func(s protocol.ServerState) bool { return b.cell("c.r:out") == `"4"` })
				for want = want[:len(want)-1] + "4"; lastLine(agents["d"].file("count")) != want; {
					if time.Now().After(deadline) {
						t.Fatalf("d ran %q, want %q at last", agents["d"].file("count"), want)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
}

// lastLine is the last one, without the hook's name before it.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "update ")
}

// A change comes while roles have not run yet: a role that waits to be brought to it, until another
// server's is, does not keep those after it from their first run, which that server's may wait for.
func TestAHeldChangeKeepsNobodyFromTheFirstRun(t *testing.T) {
	b := newBed(t)
	slow := func(text string) contract.Role {
		return with(b.passing(text, input("in", "a.r:out")), func(r *contract.Role) {
			files := b.sh("r", `while ! [ -e ../go ]; do sleep 0.05; done; v=$(hotc-agent get in); printf "`+text+`$v" | hotc-agent put out`)
			r.Files, r.Source = files.Files, files.Source
		})
	}
	last := with(b.sh("last", `echo $(hotc-agent get in) >>../count`), input("in", "d.late:out"))
	late := with(b.sh("late", `printf late | hotc-agent put out`), output("out", contract.String))
	b.server("a", b.levelled("1"), last)
	b.server("d", slow("d"), late)
	b.apply()
	a, d := b.start("a", stays), b.start("d", stays)
	b.awaitState("a", blockedOn("d.late:out"))
	b.awaitState("d", func(s protocol.ServerState) bool { return s.Roles[0].Status == protocol.RoleRunning })
	b.swap(map[contract.ServerPath][]contract.Role{"a": {b.levelled("2"), last}, "d": {slow("D"), late}})
	goOn(t, d)
	b.awaitState("d", runsOf("late", 1))
	b.asPlanned("d")
	b.want("d.r:out", `"D2"`)
	a.ran("1\nlate\nupdate 2\n")
}

// An agent is killed at each line of its journal while a plan changes a role and one that this follows
// by another: the role has one run at most for that, and the change is answered as that has ended.
func TestAKillAtEveryLineOfTheJournalOfAChangeThatIsFollowed(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; n <= seedtest.Cases(10, 3); n++ {
			t.Run(fmt.Sprintf("line %d, after it %v", n, after), func(t *testing.T) {
				b := newBed(t)
				named := func(name string, r contract.Role) contract.Role {
					r.Name = name
					return r
				}
				roles := func(level, last string) []contract.Role {
					return []contract.Role{named("a", b.levelled(level)), named("b", b.passing("b", watch("in", "s.a:out"))), named("c", b.passing(last, watch("in", "s.b:out")))}
				}
				b.server("s", roles("1", "c")...)
				b.apply()
				b.start("s").mustBeDone()
				b.swap(map[contract.ServerPath][]contract.Role{"s": roles("2", "C")})
				left := n
				_ = b.start("s", func(c *agent.Config) { c.Disk = mortal{journal.Folder(c.State), &left, after} }).wait()
				last := b.start("s", stays)
				state := b.asPlanned("s")
				runs, u := strings.Count(last.file("count"), "update b"), state.Roles[2].Update
				if runs > 1 || u.Status == protocol.RoleDone && runs == 0 {
					t.Errorf("it ran %d times: %+v", runs, u)
				}
			})
		}
	}
}

// An agent is killed in a run for what a role follows, and returns when a new value of one half is
// there and one of the other is to come. An operator asks for an update meanwhile: it waits for both.
func TestAnUpdateThatIsAskedForAfterAKillWaitsForTheRest(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1", carries("a.r")))
	b.server("b", b.passing("b", watch("in", "a.r:out"), carries("a.r")))
	c := b.passing("c", watch("in", "a.r:out"), carries("a.r"))
	c.Hooks = []contract.Task{b.task(contract.HookUpdate, `v=$(hotc-agent get in); [ $v = 2 ] || while ! [ -e ../go ]; do sleep 0.05; done; printf "c$v" | hotc-agent put out`)}
	b.server("c", c)
	text := `echo $(hotc-agent get b) $(hotc-agent get c) >>../count; [ $(hotc-agent get b) != b2 ] || while ! [ -e ../go ]; do sleep 0.05; done`
	b.server("d", with(b.sh("r", text), watch("b", "b.r:out", "a.r"), watch("c", "c.r:out", "a.r"), func(r *contract.Role) { r.Idempotent = true }))
	b.apply()
	agents := map[contract.ServerPath]*running{}
	for _, s := range []contract.ServerPath{"a", "b", "c", "d"} {
		agents[s] = b.start(s, stays)
		b.awaitState(s, inPhase(protocol.PhaseDone))
	}
	b.change("a", b.levelled("2", carries("a.r")))
	agents["d"].noted("b2 c2")
	noted := filepath.Join(b.config("d").State, "journal") // as a killed agent leaves it
	lines, err := os.ReadFile(noted)
	if err != nil {
		t.Fatal(err)
	}
	agents["d"].cancel()
	_ = agents["d"].wait()
	if err := os.WriteFile(noted, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	b.change("a", b.levelled("3", carries("a.r")))
	b.awaitState("b", upTo(3, protocol.RoleDone))
	role := b.plan.Servers[3].Roles[0]
	b.post("d", protocol.Request{ID: "again", Kind: protocol.Hook, Role: "r", Name: contract.HookUpdate, Force: true, Change: role.Definition()})
	d := b.start("d", stays)
	time.Sleep(300 * time.Millisecond)
	goOn(t, d)
	goOn(t, agents["c"])
	b.awaitState("d", func(s protocol.ServerState) bool {
		return s.Roles[0].Followed["c.r:out"] == protocol.Count{1, 3} && s.Roles[0].Update.Status == protocol.RoleDone
	})
	if got := d.file("count"); strings.Contains(got, "b3 c2") {
		t.Errorf("it ran with half of a change: %q", got)
	}
}
