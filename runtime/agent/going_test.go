package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	heatapi "github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/relay"
)

// pause lets Heat wait at the hook of a server's machine.
func (w *waiting) pause(server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, heatapi.Event{ID: fmt.Sprint(len(w.events)), Name: "server", Physical: "i-" + server, StackName: "blog-web-kigpdwjkhvf5-" + server + "-wcady3uym7zf",
		StackID: "stack of " + server, State: "CREATE_COMPLETE", Reason: "DELETE paused until Hook pre-delete is cleared"})
}

// wentOn says how often Heat was let go on with a server.
func (w *waiting) wentOn(server string) (times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.cleared {
		if of == "stack of "+server {
			times++
		}
	}
	return times
}

// leaving is a server whose roles note each run of their delete hooks.
func (b *bed) leaving(path contract.ServerPath, how string) {
	first, second := b.sh("first", "true"), b.sh("second", "true")
	first.Hooks = []contract.Task{b.task(contract.HookDelete, "echo first >>../count")}
	second.Hooks = []contract.Task{b.task(contract.HookDelete, "echo second >>../count; "+how)}
	b.server(path, first, second)
}

// relays runs a relay of a Heat, and keeps what it says.
func (b *bed) relays(w *waiting, away time.Duration) (said func() string) {
	b.t.Helper()
	key, err := b.secret.Relay(deployment)
	if err != nil {
		b.t.Fatal(err)
	}
	lines := newLines()
	ctx, stop := context.WithCancel(b.t.Context())
	r := &relay.Relay{Heat: w, Store: b.tree.Open(key.Credential()), Key: key, Name: "relay", Every: 5 * time.Millisecond, Away: away, Say: func(text string) { fmt.Fprintln(lines, text) }}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	b.t.Cleanup(func() { stop(); <-ended })
	return lines.String
}

func awaitThat(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal(what + " never came")
		}
	}
}

// Heat waits before it takes a machine away that the plan still has. Its agent runs the delete
// hooks, readers first, once in an incarnation, whoever asks, and Heat goes on: when a hook has
// failed, too.
func TestHeatTakesMachinesAway(t *testing.T) {
	b := newBed(t)
	b.plan.Signal = contract.RelaySignals
	b.leaving("a", "true")
	b.leaving("b", "echo stuck >&2; exit 3")
	b.leaving("c", "true")
	b.apply()
	agents := map[contract.ServerPath]*running{}
	for _, s := range []contract.ServerPath{"a", "b", "c"} {
		agents[s] = b.start(s, stays)
		b.awaitState(s, inPhase(protocol.PhaseDone))
	}
	for i, role := range []string{"second", "first"} { // as hotc down does
		b.post("c", protocol.Request{ID: fmt.Sprint("down", i), Kind: protocol.Hook, Role: role, Name: contract.HookDelete})
		b.awaitAnswers("c", i+1)
	}
	w := &waiting{status: "COMPLETE"}
	said := b.relays(w, patience)
	for _, s := range []string{"a", "b", "c"} {
		w.pause(s)
		awaitThat(t, "Heat's going on with "+s, func() bool { return w.wentOn(s) == 1 })
	}
	agents["a"] = b.restart(agents["a"])
	b.awaitState("a", inPhase(protocol.PhaseDone))
	w.pause("a") // an update came over the one that waited
	awaitThat(t, "Heat's going on again", func() bool { return w.wentOn("a") == 2 })
	for s, r := range agents {
		if got := r.file("count"); got != "second\nfirst\n" {
			t.Errorf("on %s ran %q", s, got)
		}
	}
	state := b.awaitState("b", func(s protocol.ServerState) bool { return s.Going != nil && !s.Going.Ended.IsZero() })
	if failed := state.Going.Failed; len(failed) != 1 || failed[0].Role != "b.second" || !strings.Contains(failed[0].String(), "exit status 3") {
		t.Errorf("b reports %+v", state.Going)
	}
	answers := b.awaitAnswers("b", 2)
	if !slices.ContainsFunc(answers, func(a protocol.Answer) bool {
		return a.Role == "first" && a.Name == contract.HookDelete && a.Status == protocol.AnswerDone
	}) {
		t.Errorf("an operator finds %+v", answers)
	}
	for _, want := range []string{"Heat is about to delete server a: its agent was told to run the delete hooks", "Heat waits for the delete hooks of web/a/server: ",
		"Heat continues with web/a/server: its delete hooks have run", "Heat continues with web/b/server: a delete hook failed: b", "exit status 3"} {
		if !strings.Contains(said(), want) {
			t.Errorf("the relay does not say %q:\n%s", want, said())
		}
	}
	if w.wentOn("theirs") > 0 {
		t.Error("the relay let Heat go on at a hook of somebody else's")
	}
}

// Heat waits for nobody who will not come: an agent that is away, or one from before agents were
// told; a role that waits for a value; a machine that is no server. A hook that somebody else has set
// is left to them.
func TestHeatWaitsForNobodyInVain(t *testing.T) {
	b := newBed(t)
	b.plan.Signal = contract.RelaySignals
	b.leaving("away", "true")
	stuck := with(b.sh("stuck", "hotc-agent get never"), input("never", "other.late:value"))
	stuck.Hooks = []contract.Task{b.task(contract.HookDelete, "echo stuck >>../count")}
	b.server("waits", stuck)
	b.server("other", with(b.sh("late", "true"), output("value", contract.String)))
	b.apply()
	away := b.start("away", stays)
	b.awaitState("away", inPhase(protocol.PhaseDone))
	away.cancel()
	_ = away.wait()
	b.start("waits", stays)
	b.awaitState("waits", func(s protocol.ServerState) bool { return len(s.Roles) > 0 && len(s.Roles[0].Blocked) > 0 })
	w := &waiting{status: "COMPLETE"}
	said := b.relays(w, 50*time.Millisecond)
	w.pause("theirs")
	for _, s := range []string{"away", "waits", "nobody"} {
		w.pause(s)
		awaitThat(t, "Heat's going on with "+s, func() bool { return w.wentOn(s) == 1 })
	}
	for _, want := range []string{"web/away/server: its delete hooks did not run: its agent was not there for 50ms", "web/waits/server: no delete hook can run: waits.stuck has not ended", "web/nobody/server: it is not a server of the plan",
		"Heat waits at the hook of web/theirs/server: hotc has not set this hook"} {
		if !strings.Contains(said(), want) {
			t.Errorf("the relay does not say %q:\n%s", want, said())
		}
	}
}

// A role that follows a group runs without a member before the member's delete hook does: a balancer
// sends it nothing more. It is not waited for where it will not run: its role has failed, Heat deletes
// its machine, too, or its agent stays away.
func TestFollowersDropAMemberBeforeItsDeleteHook(t *testing.T) {
	b := newBed(t)
	b.plan.Signal = contract.RelaySignals
	log := filepath.Join(t.TempDir(), "log")
	for n := range 4 {
		r := named(b, n)
		r.Hooks = []contract.Task{b.task(contract.HookDelete, fmt.Sprintf("echo bye %d >>%s", n, log))}
		b.server(contract.ServerPath(fmt.Sprintf("web/%d", n)), r)
	}
	text := `list=$(hotc-agent get list); sleep 0.1; echo lb $list >>` + log
	b.server("lb", with(b.sh("r", text), joined(4, 4), b.onUpdate(text)))
	b.server("fails", with(b.sh("r", "hotc-agent get list; exit 3"), joined(4, 4), b.onUpdate(text)))
	away := with(b.sh("r", "hotc-agent get list"), joined(4, 4), b.onUpdate("hotc-agent get list"))
	away.Hooks = append(away.Hooks, b.task(contract.HookDelete, "echo bye away >>"+log))
	b.server("away", away)
	b.apply()
	for n := range 4 {
		b.start(contract.ServerPath(fmt.Sprintf("web/%d", n)), stays)
	}
	lb := b.start("lb", stays)
	b.start("fails", stays)
	b.start("away", stays)
	b.awaitState("lb", inPhase(protocol.PhaseDone))
	b.awaitState("fails", inPhase(protocol.PhaseFailed))
	b.awaitState("away", inPhase(protocol.PhaseDone))
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	w := &waiting{status: "COMPLETE"}
	said := b.relays(w, patience)
	ran := func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	w.pause("web/0")
	awaitThat(t, "Heat's going on with web/0", func() bool { return w.wentOn("web/0") == 1 })
	if got := ran(); got != "lb [\"w1\",\"w2\",\"w3\"]\nbye 0\n" {
		t.Errorf("ran:\n%s", got)
	}
	w.pause("away")
	w.pause("web/1")
	awaitThat(t, "Heat's going on with both", func() bool { return w.wentOn("web/1") == 1 && w.wentOn("away") == 1 })
	if got := ran(); !strings.Contains(got, "lb [\"w2\",\"w3\"]\n") || strings.Index(got, "lb [\"w2\"") > strings.Index(got, "bye 1") {
		t.Errorf("ran:\n%s", got)
	}
	lb.cancel()
	lb.gone()
	w.pause("web/2")
	b.relays(w, 50*time.Millisecond) // one that gives up sooner, perhaps on the member's agent, too
	awaitThat(t, "Heat's going on with web/2", func() bool { return w.wentOn("web/2") > 0 })
	if got := ran(); strings.Contains(got, `lb ["w3"]`) {
		t.Errorf("ran:\n%s", got)
	}
	for _, want := range []string{"Heat waits for the delete hooks of web/web/0/server: web/0.r: first the roles that follow it run without it: ", "Heat continues with web/web/1/server: its delete hooks have run"} {
		if !strings.Contains(said(), want) {
			t.Errorf("the relay does not say %q:\n%s", want, said())
		}
	}
}
