package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// updatable is a role that notes its runs and those of its hook update, with the
// level that each had.
func (b *bed) updatable(level string, hook string) contract.Role {
	r := with(b.sh("mysql", "echo run $level >>../count; printf up | hotc-agent put endpoint"),
		output("endpoint", contract.String), static("level", fmt.Sprintf("%q", level)))
	r.Hooks = []contract.Task{b.task(contract.HookUpdate, "echo $HOTC_HOOK $level >>../count; "+hook)}
	return r
}

// change applies the plan again with another role in the place of a server's first.
func (b *bed) change(server contract.ServerPath, to contract.Role) {
	b.t.Helper()
	for i := range b.plan.Servers {
		if s := &b.plan.Servers[i]; s.Path == server {
			for n := range to.Outputs {
				to.Outputs[n].Cell = s.Roles[0].Outputs[n].Cell
			}
			s.Roles = append([]contract.Role{to}, s.Roles[1:]...)
		}
	}
	b.apply()
}

// ranOnce is a server whose role has run, and whose agent stays.
func ranOnce(t *testing.T) (*bed, *running) {
	t.Helper()
	b := newBed(t)
	b.server("db", b.updatable("1", ""))
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	return b, db
}

// restart ends an agent and starts the next one.
func (b *bed) restart(r *running) *running {
	b.t.Helper()
	r.cancel()
	if err := r.wait(); err != nil {
		b.t.Fatal(err)
	}
	return b.start(r.server, stays)
}

// ran compares what a role and its hook have noted.
func (r *running) ran(want string) {
	r.t.Helper()
	if got := r.file("count"); got != want {
		r.t.Errorf("it ran %q, want %q", got, want)
	}
}

// noted waits until a role or its hook has noted something last.
func (r *running) noted(line string) {
	r.t.Helper()
	for began := time.Now(); !strings.HasSuffix(r.file("count"), line+"\n"); time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			r.t.Fatalf("%q is not noted", line)
		}
	}
}

func updated(status protocol.RoleStatus) func(protocol.ServerState) bool {
	return func(s protocol.ServerState) bool {
		return s.Roles[0].Update != nil && s.Roles[0].Update.Status == status
	}
}

func TestARoleThatHasRunIsUpdatedOncePerChange(t *testing.T) {
	b, db := ranOnce(t)
	b.change("db", b.updatable("2", "echo said"))
	state := b.awaitState("db", updated(protocol.RoleDone))
	if r := state.Roles[0]; r.Status != protocol.RoleDone || r.Made != b.plan.Servers[0].Roles[0].Made() {
		t.Errorf("db reports %+v", r)
	}
	if u := state.Roles[0].Update; u.ExitCode == nil {
		t.Errorf("%+v", u)
	}
	b.apply() // the same again
	db = b.restart(db)
	b.change("db", b.updatable("3", "hotc-agent get level >>../count"))
	b.asPlanned("db")
	db.ran("run 1\nupdate 2\nupdate 3\n3")
	b.want("db.mysql:endpoint", `"up"`)
}

func TestARoleThatHasNotRunTakesTheChangeAsItIs(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("base", "sleep 0.1"))
	reader := func(text string) contract.Role {
		return with(b.sh("app", text), input("url", "web.www:url", func(in *contract.Input) { in.Eager = true }))
	}
	b.server("app", reader("echo old >>../count"))
	b.server("web", with(b.sh("www", "printf here | hotc-agent put url"), output("url", contract.String)))
	b.apply()
	app := b.start("app", stays)
	b.awaitState("app", blockedOn("web.www:url")) // before its tool is started
	b.change("app", reader("echo new $url >>../count"))
	b.start("web")
	b.awaitState("app", inPhase(protocol.PhaseDone))
	app.ran("new here\n")
}

func TestAFailedUpdateIsReportedAndTheNextChangeMendsIt(t *testing.T) {
	b, db := ranOnce(t)
	b.change("db", b.updatable("2", "echo no room >&2; exit 4"))
	state := b.awaitState("db", updated(protocol.RoleFailed))
	if r := state.Roles[0]; r.Status != protocol.RoleDone || r.Update.ExitCode == nil || *r.Update.ExitCode != 4 ||
		!strings.Contains(r.Update.Cause.Reason, "exit status 4: no room") || r.Update.LastLines != "no room\n" || state.Phase != protocol.PhaseDone {
		t.Errorf("db reports %+v, update %+v", r, r.Update)
	}
	// An agent that is started again still knows, and what was printed.
	db = b.restart(db)
	before := state.Since
	state = b.awaitState("db", func(s protocol.ServerState) bool { return s.Phase == protocol.PhaseDone && s.Since.After(before) })
	if u := state.Roles[0].Update; u == nil || u.Status != protocol.RoleFailed || u.LastLines != "no room\n" {
		t.Errorf("after a restart db reports %+v", u)
	}
	b.change("db", b.updatable("2", "echo mended >>../count"))
	// The hook alone is not a change of the role; asked again, it runs again.
	b.post("db", protocol.Request{ID: "again", Kind: protocol.Hook, Role: "mysql", Name: contract.HookUpdate, Change: b.plan.Servers[0].Roles[0].Definition()})
	b.awaitState("db", updated(protocol.RoleDone))
	db.ran("run 1\nupdate 2\nupdate 2\nmended\n")
}

func TestAFailedRoleTakesTheChangeWhenItIsRetried(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "exit 3"), output("endpoint", contract.String)))
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseFailed))
	b.change("db", with(b.sh("mysql", "echo mended >>../count; printf up | hotc-agent put endpoint"), output("endpoint", contract.String)))
	b.post("db", protocol.Request{ID: "r1", Kind: protocol.Retry, Role: "mysql"}, "db.mysql", "db.mysql:endpoint")
	b.awaitState("db", inPhase(protocol.PhaseDone))
	db.ran("mended\n")
}

// Of several changes that came while the agent was away only the last one is made.
func TestAnAgentThatReturnsMakesTheLastChange(t *testing.T) {
	b := newBed(t)
	b.server("db", b.updatable("1", ""))
	b.apply()
	db := b.start("db")
	db.mustBeDone()
	for _, level := range []string{"2", "3", "4", "3"} {
		b.change("db", b.updatable(level, ""))
	}
	db = b.start("db", stays)
	b.asPlanned("db")
	db.ran("run 1\nupdate 3\n")
}

// Changes that come while the hook runs for one before: that one is finished, the one between
// is left out, and the newest runs.
func TestAFurtherChangeTakesOver(t *testing.T) {
	b, db := ranOnce(t)
	b.change("db", b.updatable("2", "echo begun >>../count; while [ ! -e ../go ]; do sleep 0.02; done"))
	db.noted("begun")
	look := func() *status.Role {
		t.Helper()
		snapshot, err := deploy.TakeSnapshot(t.Context(), b.operator(), deployment, b.secret, &b.plan)
		if err != nil {
			t.Fatal(err)
		}
		return status.New(&b.plan, snapshot, func(json.RawMessage) int { return 1 }).Role("db", "mysql")
	}
	if r := look(); r.Verdict.State != reconcile.Running {
		t.Errorf("%s: %s", r.Shown(), status.UpdateDetail(r))
	}
	for _, level := range []string{"3", "4"} {
		b.change("db", b.updatable(level, ""))
	}
	if r := look(); r.Shown() != "superseded" || status.UpdateDetail(r) != "the update hook runs to completion, then again: the plan has changed since" {
		t.Errorf("%s: %s", r.Shown(), status.UpdateDetail(r))
	}
	if err := os.WriteFile(filepath.Join(db.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.asPlanned("db")
	if r := look(); r.Verdict.State != reconcile.Current {
		t.Errorf("%s: %s", r.Shown(), status.UpdateDetail(r))
	}
	db.ran("run 1\nupdate 2\nbegun\nupdate 4\n")
}

// The agent ends in the hook of a change that is superseded: it has failed for that one,
// and the newest runs.
func TestAnAgentGoesOnWithTheNewestChange(t *testing.T) {
	b, db := ranOnce(t)
	b.change("db", b.updatable("2", "echo begun >>../count; while :; do sleep 0.02; done"))
	db.noted("begun")
	db.cancel()
	_ = db.wait()
	b.change("db", b.updatable("3", ""))
	db = b.start("db", stays)
	b.asPlanned("db")
	b.awaitState("db", updated(protocol.RoleDone))
	db.ran("run 1\nupdate 2\nbegun\nupdate 3\n")
}

// A change that finds the role back at what it ran with asks for nothing.
func TestAChangeBackNeedsNoHook(t *testing.T) {
	b := newBed(t)
	b.server("db", b.updatable("1", ""))
	b.apply()
	b.start("db").mustBeDone()
	b.change("db", b.updatable("2", ""))
	b.change("db", b.updatable("1", ""))
	db := b.start("db", stays)
	for i := range 2 { // it looks at its plan after each request
		b.post("db", protocol.Request{ID: fmt.Sprint("look", i), Kind: protocol.Action, Role: "mysql", Name: "none"})
		b.awaitAnswers("db", i+1)
	}
	db.ran("run 1\n")
}

// An action that the plan had not when the agent read it is found, without any change
// of what has run.
func TestAnActionThatCameLater(t *testing.T) {
	b, _ := ranOnce(t)
	r := b.updatable("1", "")
	r.Actions = []contract.Task{b.task("show", "echo here I am")}
	b.change("db", r)
	if a := b.act("db", "r1", "mysql", "show"); a.Output != "here I am\n" {
		t.Errorf("%+v", a)
	}
}

// An agent is killed before and after each line that a change adds to its journal. The
// hook runs once, or was interrupted, and what became of it is told.
func TestAKillAtEveryLineOfTheJournalOfAnUpdate(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; n <= 4; n++ {
			t.Run(fmt.Sprintf("line %d, after it %v", n, after), func(t *testing.T) {
				b := newBed(t)
				b.server("db", b.updatable("1", ""), with(b.sh("backup", "echo backup >>../count"), static("level", `"1"`)))
				b.apply()
				b.start("db").mustBeDone()
				b.change("db", b.updatable("2", ""))
				left := n
				_ = b.start("db", func(c *agent.Config) { c.Disk = mortal{journal.Folder(c.State), &left, after} }).wait()
				last := b.start("db", stays)
				u := b.asPlanned("db").Roles[0].Update
				hooks := strings.Count(last.file("count"), "update 2\n")
				if hooks > 1 || u.Status == protocol.RoleDone && hooks != 1 || u.Status == protocol.RoleFailed && !strings.Contains(u.Cause.Reason, "interrupted") {
					t.Errorf("the hook ran %d times, reported as %+v", hooks, u)
				}
			})
		}
	}
}
