package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// post asks a server's agent for something, and takes back cells of db.
func (b *bed) post(server contract.ServerPath, r protocol.Request, cells ...contract.CellName) {
	b.t.Helper()
	r.Incarnation, r.Since = max(r.Incarnation, 1), time.Now()
	var refs []contract.CellRef
	for _, cell := range cells {
		refs = append(refs, contract.CellRef{Cell: cell, Server: server})
	}
	if err := b.reader().Post(b.t.Context(), []deploy.Posting{{Server: server, Request: r}}, refs); err != nil {
		b.t.Fatal(err)
	}
}

// failsOnce is a role that fails unless a file is there, and notes each run.
const failsOnce = `echo run >>../count; [ -e ../mended ] || exit 3; printf up >$heat_outputs_path.endpoint`

func mend(t *testing.T, r *running) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.work, "mended"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAFailedRoleRunsAgainByRequestAndItsReadersGoOn(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", failsOnce), output("endpoint", contract.String)), b.sh("backup", "echo backup >>../count"))
	b.server("web", with(b.sh("app", "hotc-agent get url"), input("url", "db.mysql:endpoint")))
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseFailed))
	mend(t, db)
	b.post("db", protocol.Request{ID: "r1", Kind: protocol.Retry, Role: "mysql"}, "db.mysql", "db.mysql:endpoint", "db.backup")
	state := b.awaitState("db", inPhase(protocol.PhaseDone))
	if state.Roles[0].Attempt != 1 {
		t.Errorf("db reports %+v", state.Roles[0])
	}
	web := b.start("web")
	web.mustBeDone()
	if got := db.file("count"); got != "run\nrun\nbackup\n" {
		t.Errorf("it ran %q", got)
	}
	if got := web.file("app.stdout"); got != "up" {
		t.Errorf("web read %q", got)
	}
	// The same request again, and one for a role that is done, come to nothing.
	b.post("db", protocol.Request{ID: "r2", Kind: protocol.Retry, Role: "mysql", Attempt: 1})
	db.await("request retry mysql: refused: the role mysql has not failed: it is done")
}

func TestAFailedRoleIsSkippedWithItsOutputsGivenByHand(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", failsOnce), output("endpoint", contract.String)), b.sh("backup", "echo backup >>../count"))
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseFailed))
	b.post("db", protocol.Request{ID: "r1", Kind: protocol.Skip, Role: "mysql", Values: map[string]rawMessage{"endpoint": rawMessage(`"by hand"`)}})
	state := b.awaitState("db", inPhase(protocol.PhaseDone))
	if r := state.Roles[0]; !r.ByHand || r.Status != protocol.RoleDone {
		t.Errorf("db reports %+v", r)
	}
	b.want("db.mysql:endpoint", `"by hand"`)
	if got := db.file("count"); got != "run\nbackup\n" {
		t.Errorf("it ran %q", got)
	}
}

var errKilled = errors.New("the disk is gone: as if the agent were killed")

// mortal is a disk of which the n-th line of the journal is the last: before or
// after that the agent gets no further.
type mortal struct {
	journal.Disk
	left  *int
	after bool
}

type mortalFile struct {
	journal.File
	disk mortal
}

func (d mortal) Append(name string) (journal.File, error) {
	f, err := d.Disk.Append(name)
	return mortalFile{f, d}, err
}

func (f mortalFile) Write(line []byte) (int, error) {
	*f.disk.left--
	if *f.disk.left > 0 {
		return f.File.Write(line)
	}
	if *f.disk.left == 0 && f.disk.after {
		if n, err := f.File.Write(line); err != nil {
			return n, err
		}
	}
	return 0, errKilled
}

// Truncate would take a line back that is there.
func (f mortalFile) Truncate(size int64) error {
	if *f.disk.left > 0 {
		return f.File.Truncate(size)
	}
	return errKilled
}

// An agent is killed before and after each line that a request adds to its journal.
// The role runs once more for the request, or was interrupted; an action and a hook
// never run twice; all are answered.
func TestAKillAtEveryLineOfTheJournalOfARequest(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; n <= seedtest.Cases(8, 2); n++ {
			t.Run(fmt.Sprintf("line %d, after it %v", n, after), func(t *testing.T) {
				b := newBed(t)
				role := with(b.sh("mysql", failsOnce), output("endpoint", contract.String))
				task := b.sh("act", "echo act $level >>../count; echo said")
				role.Actions = []contract.Task{{Name: "act", Source: task.Source, Files: task.Files}}
				role.Hooks = []contract.Task{b.task(contract.HookSuspend, "echo suspend >>../count"), b.task(contract.HookCreate, "echo create >>../count")}
				b.server("db", role)
				b.apply()
				first := b.start("db")
				first.mustFail()
				mend(t, first)
				b.post("db", protocol.Request{ID: "r1", Kind: protocol.Retry, Role: "mysql"}, "db.mysql", "db.mysql:endpoint")
				b.post("db", protocol.Request{ID: "r2", Kind: protocol.Action, Role: "mysql", Name: "act", Values: map[string]rawMessage{"level": rawMessage(`"9"`)}})
				b.post("db", protocol.Request{ID: "r3", Kind: protocol.Hook, Role: "mysql", Name: contract.HookSuspend})
				left := n
				_ = b.start("db", func(c *agent.Config) {
					c.Disk = mortal{journal.Folder(c.State), &left, after}
				}).wait()
				last := b.start("db", stays)
				answers := b.awaitAnswers("db", 3)
				if answers[0].Status != protocol.AnswerDone {
					t.Errorf("retry: %+v", answers[0])
				}
				ran := last.file("count")
				if runs := strings.Count(ran, "run\n"); runs != 2 && runs != 1 {
					t.Errorf("it ran %q", ran)
				}
				if acts := strings.Count(ran, "act 9\n"); acts > 1 || answers[1].Status == protocol.AnswerDone && (acts != 1 || answers[1].Output != "said\n") {
					t.Errorf("the action ran %d times: %+v", acts, answers[1])
				}
				hooks := strings.Count(ran, "suspend\n")
				if hooks > 1 || answers[2].Status == protocol.AnswerDone && hooks != 1 {
					t.Errorf("the hook ran %d times: %+v", hooks, answers[2])
				}
				if created := strings.Count(ran, "create\n"); created > 1 {
					t.Errorf("the hook create ran %d times", created)
				}
				if s := answers[1]; s.Status == protocol.AnswerFailed && !strings.Contains(s.Reason, "interrupted") {
					t.Errorf("the action: %+v", s)
				}
			})
		}
	}
}

// awaitAnswers waits until a server has given so many final answers.
func (b *bed) awaitAnswers(server contract.ServerPath, n int) []protocol.Answer {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	store := b.operator()
	changes, err := store.Watch(ctx, deployment.Answers(server))
	if err != nil {
		b.t.Fatal(err)
	}
	reader := b.reader()
	var answers []protocol.Answer
	for range changes {
		if answers, err = reader.Answers(ctx, server); err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.t.Fatal(err)
		}
		final := 0
		for _, a := range answers {
			if a.Final() {
				final++
			}
		}
		if final == n {
			return answers
		}
	}
	b.t.Fatalf("%d answers never came: %+v", n, answers)
	return nil
}

// asPlanned waits until the roles of a server are done as the plan defines them, or their update has failed.
func (b *bed) asPlanned(server contract.ServerPath) protocol.ServerState {
	b.t.Helper()
	return b.awaitState(server, func(s protocol.ServerState) bool {
		for _, planned := range b.plan.Servers {
			for i := range planned.Roles {
				r := &planned.Roles[i]
				is := s.Role(r.Name)
				if planned.Path == server && (is.Status != protocol.RoleDone || r.OutOfDate(is.Made) || is.Update != nil && is.Update.Status == protocol.RoleRunning) {
					return false
				}
			}
		}
		return true
	})
}

// act asks a server's agent for an action of a role and gives the answer.
func (b *bed) act(server contract.ServerPath, id, role, name string) protocol.Answer {
	b.t.Helper()
	b.post(server, protocol.Request{ID: id, Kind: protocol.Action, Role: role, Name: name})
	for _, a := range b.awaitAnswers(server, 1) {
		if a.ID == id {
			return a
		}
	}
	b.t.Fatalf("%s was not answered", id)
	return protocol.Answer{}
}

// task is another source of a role.
func (b *bed) task(name, text string) contract.Task {
	r := b.sh(name, text)
	return contract.Task{Name: name, At: "site.yaml:9:9", Source: r.Source, Files: r.Files}
}

func TestWhatAnActionPrintsIsAnsweredWithoutSecrets(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "printf hunter2hunter2 | hotc-agent put password"), output("password", contract.String)))
	web := with(b.sh("app", "hotc-agent get password >/dev/null"), input("password", "db.mysql:password", func(in *contract.Input) { in.Secret = true }))
	web.Actions = []contract.Task{b.task("show", `echo "it is $(hotc-agent get password)"; exit 3`)}
	b.server("web", web)
	b.apply()
	b.start("db", stays)
	b.start("web", stays)
	b.awaitState("web", inPhase(protocol.PhaseDone))
	a := b.act("web", "r1", "app", "show")
	if a.Status != protocol.AnswerFailed || a.ExitCode == nil || *a.ExitCode != 3 || a.Output != "it is (secret)\n" || strings.Contains(a.Reason, "hunter2") {
		t.Errorf("%+v", a)
	}
	// An agent that only remembers the action knows the secret no longer, and shows nothing.
	text, err := os.ReadFile(filepath.Join(b.config("web").Work, "app.action.show.stdout"))
	if err != nil || string(text) != "it is "+strings.Repeat("*", len("hunter2hunter2"))+"\n" {
		t.Errorf("on the server: %q, %v", text, err)
	}
}

func TestTheCreateHookIsAPartOfTheRole(t *testing.T) {
	b := newBed(t)
	role := func(hook string) contract.Role {
		r := with(b.sh("mysql", "echo $HOTC_HOOK role >>../count; echo from the role; printf up | hotc-agent put endpoint"),
			output("endpoint", contract.String), output("seeded", contract.String), static("level", `"9"`))
		r.Hooks = []contract.Task{b.task(contract.HookCreate, hook)}
		return r
	}
	b.server("good", role(`echo $HOTC_HOOK hook $level >>../count; echo from the hook; hotc-agent put seeded <../count`))
	b.server("bad", role("echo no seed >&2; exit 4"))
	b.apply()
	good := b.start("good")
	good.mustBeDone()
	if got := good.file("count"); got != "role\ncreate hook 9\n" {
		t.Errorf("it ran %q", got)
	}
	if got := good.file("mysql.stdout"); got != "from the role\nfrom the hook\n" {
		t.Errorf("it printed %q", got)
	}
	log, err := deploy.ReadLog(t.Context(), b.operator(), deployment, "good", "mysql")
	if err != nil || string(log) != "from the role\nfrom the hook\n" {
		t.Errorf("the log is %q, %v", log, err)
	}
	b.want("good.mysql:seeded", `"role\ncreate hook 9\n"`)
	b.start("good").mustBeDone()
	if got := good.file("count"); strings.Count(got, "hook") != 1 {
		t.Errorf("after a restart it ran %q", got)
	}
	b.start("bad").mustFail()
	b.want("bad.mysql", "failed: bad.mysql: hook create: exit status 4: no seed (site.yaml:9:9)")
}
