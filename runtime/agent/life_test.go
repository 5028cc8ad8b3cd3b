package agent_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/journal"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func stays(c *agent.Config) { c.Once = false }

func alive(pid string) bool {
	text, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestTheAgentStaysAndARebootRunsNothingAgain(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "echo run >>../count; printf up >$heat_outputs_path.endpoint"), output("endpoint", contract.String)))
	b.apply()
	for boot := range 3 {
		db := b.start("db", stays)
		db.await("incarnation 1")
		b.awaitState("db", inPhase(protocol.PhaseDone))
		if _, there, err := b.operator().Stat(t.Context(), deployment.Presence("db")); err != nil || !there {
			t.Errorf("boot %d: presence %v, %v", boot, there, err)
		}
		db.cancel()
		db.mustBeDone()
		if got := db.file("count"); got != "run\n" {
			t.Fatalf("boot %d: %q", boot, got)
		}
	}
}

func TestAnAgentWaitsForItsDeploymentAndSaysSo(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	db := b.start("db")
	db.await("waiting: the deployment blog is not applied yet")
	b.apply()
	db.mustBeDone()
}

func TestASigtermLeavesNothingRunning(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", `
sleep 600 & echo $! >child
setsid sh -c 'trap "" TERM; echo $$ >daemon.new; mv daemon.new daemon; while :; do sleep 1; done' &
until [ -e daemon ]; do sleep 0.01; done
printf up >$heat_outputs_path.ready; sleep 600`), output("ready", contract.String), output("never", contract.String)))
	b.apply()
	db := b.start("db")
	reader := member.Join(b.operator(), deployment, "db", b.secret.ServerToken(deployment, "db"))
	if _, err := reader.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Await(t.Context(), "db.mysql:ready", member.AwaitOptions{}); err != nil {
		t.Fatal(err)
	}
	db.cancel()
	db.mustFail()
	for _, name := range []string{"child", "daemon"} {
		if pid := db.file("mysql", name); alive(pid) {
			t.Errorf("the %s goes on", name)
			n, _ := strconv.Atoi(strings.TrimSpace(pid))
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
	b.want("db.mysql:never", "failed: db.mysql: interrupted: the agent was told to end (site.yaml:2:2)")
}

func TestWhatARoleLeftBehindEndsWithTheAgentOnRequestOnly(t *testing.T) {
	for name, end := range map[string]bool{"it stays": false, "it ends": true} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.server("db", b.sh("mysql", "sleep 600 & echo $! >daemon"))
			b.apply()
			db := b.start("db", func(c *agent.Config) { c.EndLeftovers = end })
			db.mustBeDone()
			pid := db.file("mysql", "daemon")
			if alive(pid) == end {
				t.Errorf("alive: %v", !end)
			}
			if n, err := strconv.Atoi(strings.TrimSpace(pid)); err == nil && !end {
				syscall.Kill(n, syscall.SIGKILL)
			}
		})
	}
}

// An agent is killed between any two lines of its journal. Whatever the next one
// finds, a role that was done does not run again, one that had started runs again
// only if it is idempotent, and readers learn the end of it.
func TestARestartAtEveryLineOfTheJournal(t *testing.T) {
	for _, again := range []bool{false, true} {
		for lost := range 7 {
			t.Run(fmt.Sprintf("idempotent %v, %d lines lost", again, lost), func(t *testing.T) {
				b := newBed(t)
				count := func(name string) contract.Role {
					r := with(b.sh(name, "echo "+name+" >>../count; printf up >$heat_outputs_path.out"), output("out", contract.String))
					r.Idempotent = again
					return r
				}
				b.server("db", count("first"), count("second"))
				b.server("web", with(b.sh("app", "hotc-agent get x"), input("x", "db.second:out")))
				b.apply()
				// The first agent gets to the end of a whole journal, which then loses lines; the
				// coordinator knows of none of it, as if it could never be reached.
				blind := newBed(t)
				blind.secret, blind.state, blind.files, blind.plan = b.secret, b.state, b.files, b.plan
				blind.apply()
				blind.start("db").mustBeDone()
				path := filepath.Join(b.config("db").State, "journal")
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
				lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, `"remembered"`) }) // it is another deployment
				if len(lines) != 7 {
					t.Fatalf("the journal has %d lines", len(lines))
				}
				kept := lines[:len(lines)-lost]
				if err := os.WriteFile(path, []byte(strings.Join(kept, "")+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				// Nor had it published anything.
				if err := os.Remove(filepath.Join(b.config("db").State, "values")); err != nil {
					t.Fatal(err)
				}
				// What it had published before, it had published in the coordinator that is left, too.
				history := strings.Join(kept, "")
				b.replay(history)
				ran := blindCount(t, b)
				err = b.start("db").wait()
				interrupted := strings.Count(history, `"running"`) > strings.Count(history, `"done"`)
				if failed := errors.Is(err, agent.ErrRolesFailed); failed != (interrupted && !again) {
					t.Errorf("interrupted %v, idempotent %v, but: %v", interrupted, again, err)
				}
				now := blindCount(t, b)
				for _, name := range []string{"first", "second"} {
					more := strings.Count(now, name) - strings.Count(ran, name)
					started := strings.Contains(history, `"role":"`+name+`","status":"running"`)
					done := strings.Contains(history, `"role":"`+name+`","status":"done"`)
					may := !started || again && !done
					if done && more > 0 || started && !again && more > 0 || more > 1 || may && err == nil && more == 0 {
						t.Errorf("%s ran %d more times (started %v, done %v)", name, more, started, done)
					}
				}
				web := b.start("web")
				if err == nil {
					web.mustBeDone()
				} else {
					web.mustFail()
				}
			})
		}
	}
}

func blindCount(t *testing.T, b *bed) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.config("db").Work, "count"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// replay brings a coordinator to where it must be for a journal: an output is
// published before its role is noted as done, an incarnation before it is noted.
func (b *bed) replay(history string) {
	b.t.Helper()
	j, err := journal.Open(journal.Folder(b.config("db").State), journal.Machine{Deployment: string(deployment), Server: "db", Instance: "i-db"}, rand.Reader, time.Now)
	if err != nil {
		b.t.Fatal(err)
	}
	id := j.ID()
	j.Close()
	if !strings.Contains(history, `"enrolled"`) {
		return
	}
	store := b.tree.Open(protocol.ServerCredential("db", b.secret.ServerToken(deployment, "db")))
	defer store.Close()
	m := member.Join(store, deployment, "db", b.secret.ServerToken(deployment, "db"))
	if _, err := m.Plan(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	s, err := m.Enrol(b.t.Context(), id, "i-db", false, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		if strings.Contains(history, `"role":"`+name+`","status":"done"`) {
			if err := s.Put(b.t.Context(), contract.CellName("db."+name+":out"), rawMessage(`"up"`), time.Now()); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

func TestADiskThatWasPutBackRunsNothingThatHasEnded(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", "echo run >>../count"))
	b.apply()
	db := b.start("db")
	db.mustBeDone()
	path := filepath.Join(b.config("db").State, "journal")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(path, []byte(strings.Join(lines[:4], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start("db").mustBeDone()
	if got := db.file("count"); got != "run\n" {
		t.Errorf("it ran %q", got)
	}
}

func TestAServerThatWasBuiltAnewTakesOverAndItsPredecessorEnds(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", `printf "$(cat ../name)" >$heat_outputs_path.endpoint; [ "$(cat ../name)" = new ] || sleep 600`), output("endpoint", contract.String)))
	b.apply()
	named := func(name string) func(*agent.Config) {
		return func(c *agent.Config) {
			c.Instance, c.State, c.Work = "i-"+name, c.State+name, c.Work+name
			if err := os.MkdirAll(c.Work, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(c.Work, "name"), []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := b.start("db", stays, named("old"))
	b.awaitState("db", func(s protocol.ServerState) bool {
		return len(s.Roles) > 0 && s.Roles[0].Status == protocol.RoleRunning
	})
	b.start("db", named("new")).mustBeDone()
	if err := old.wait(); !errors.Is(err, member.ErrFenced) {
		t.Errorf("the predecessor ended with %v", err)
	}
	b.want("db.mysql:endpoint", `"new"`)
	b.want("db.mysql", "null")
	// Neither does it come back.
	if err := b.start("db", stays, named("old")).wait(); !errors.Is(err, member.ErrFenced) {
		t.Errorf("the predecessor's second agent ended with %v", err)
	}
}

func TestTwoAgentsWithOneStateFolder(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	first := b.start("db", stays)
	first.await("waiting: the deployment blog")
	if err := b.start("db").wait(); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("the second one: %v", err)
	}
	b.apply()
	first.await("db.mysql: done")
}

func TestARefusedTokenIsToldApartAndTriedAgain(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	b.apply()
	heat := newHeat(t)
	db := b.start("db", heat.tell, func(c *agent.Config) { c.Boot.Token = strings.Repeat("0", 64) })
	db.await("the coordinator refuses this server's token: the deployment blog was applied with a different secret than the stack's")
	if got := heat.next(); got.Status != "FAILURE" || got.ID != "db" || !strings.Contains(got.Reason, "refuses this server's token") {
		t.Errorf("Heat got %+v", got)
	}
	db.cancel()
	if err := db.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	other := b.start("web", heat.tell)
	other.await("the deployment blog has no server web")
	if got := heat.next(); got.Status != "FAILURE" || got.ID != "web" {
		t.Errorf("Heat got %+v", got)
	}
}

func TestADestroyedDeploymentEndsTheAgent(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "hotc-agent get x"), input("x", "web.app:x")))
	b.server("web", with(b.sh("app", ""), output("x", contract.String)))
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", blockedOn("web.app:x"))
	if err := deploy.Destroy(t.Context(), b.operator(), deployment); err != nil {
		t.Fatal(err)
	}
	if err := db.wait(); !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("it ended with %v", err)
	}
}

// TestTheAgentJoinsWhileItsServerBoots: until it has booted, no role runs and nobody
// takes the machine for the server.
func TestTheAgentJoinsWhileItsServerBoots(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", "echo run >>../count"))
	b.apply()
	booted := make(chan struct{})
	db := b.startBooting("db", booted)
	time.Sleep(50 * time.Millisecond)
	if version, _, err := b.operator().Stat(t.Context(), deployment.Server("db")); err != nil || version != 0 {
		t.Errorf("before the server has booted: version %d, %v", version, err)
	}
	close(booted)
	db.mustBeDone()
	if got := db.file("count"); got != "run\n" {
		t.Errorf("%q", got)
	}
}

// TestADeploymentIsMadeAnewWhileItsServerBoots: what the agent has read before its
// server had booted may not be any more.
func TestADeploymentIsMadeAnewWhileItsServerBoots(t *testing.T) {
	for name, publishOnce := range map[string][]func(*deploy.Publication){"tokens stay good": nil, "tokens are good once": {enrolOnce}} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.server("db", b.sh("mysql", "echo old >>../count"))
			b.apply(publishOnce...)
			booted := make(chan struct{})
			db := b.startBooting("db", booted)
			if err := deploy.Destroy(t.Context(), b.operator(), deployment); err != nil {
				t.Fatal(err)
			}
			close(booted)
			db.await("waiting: the deployment blog is not applied yet")
			b.plan.Servers, b.plan.Cells, b.plan.Files = nil, nil, nil
			b.server("db", b.sh("mysql", "echo new >>../count"))
			b.apply(publishOnce...)
			db.mustBeDone()
			if got := db.file("count"); got != "new\n" {
				t.Errorf("%q", got)
			}
		})
	}
}

// startBooting starts the agent of a server that has not booted yet, and waits until it has
// read all that it reads before.
func (b *bed) startBooting(server contract.ServerPath, booted <-chan struct{}) *running {
	b.t.Helper()
	read := make(chan struct{}, 1)
	r := b.start(server, func(c *agent.Config) { c.Booted = booted }, whenItReads(deployment.Keys(server), func() {
		select {
		case read <- struct{}{}:
		default:
		}
	}))
	<-read
	return r
}

// whenItReads lets something be done after each of an agent's reads of a node.
func whenItReads(path store.Path, do func()) func(*agent.Config) {
	return func(c *agent.Config) {
		open := c.Open
		c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
			s, err := open(ctx, url, creds...)
			return notices{s, path, do}, err
		}
	}
}

// notices tells that a node was read.
type notices struct {
	store.Session
	path store.Path
	read func()
}

func (n notices) Read(ctx context.Context, path store.Path) (store.Node, error) {
	node, err := n.Session.Read(ctx, path)
	if path == n.path {
		n.read()
	}
	return node, err
}

// TestWhatWasMissingComesWithTheBoot: a coordinator that cannot be reached before the
// user's own part has run is tried again at once afterwards.
func TestWhatWasMissingComesWithTheBoot(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	b.apply()
	booted := make(chan struct{})
	db := b.start("db", func(c *agent.Config) {
		c.Booted, c.Retry = booted, time.Hour
		open := c.Open
		c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
			select {
			case <-booted:
				return open(ctx, url, creds...)
			default:
				return nil, errors.New("client.pem: no such file or directory")
			}
		}
	})
	db.await("client.pem: no such file or directory; next attempt in 1h0m0s")
	close(booted)
	db.mustBeDone()
}

func TestAnAgentThatWaitsForTheBootEnds(t *testing.T) {
	b := newBed(t)
	b.server("db", b.sh("mysql", ""))
	b.apply()
	db := b.start("db", stays, func(c *agent.Config) { c.Booted = make(chan struct{}) })
	time.Sleep(50 * time.Millisecond)
	db.cancel()
	db.mustBeDone()
}
