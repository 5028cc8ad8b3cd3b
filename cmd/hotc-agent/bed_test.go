package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A link to the test program that is called hotc-agent is hotc-agent: so agents
// are processes of their own here, and can be killed.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hotc-agent" {
		main()
	}
	if filepath.Base(os.Args[0]) == bareProgram {
		bareSession(os.Args[1])
	}
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	os.Exit(m.Run())
}

const deployment protocol.Deployment = "blog"

// patience bounds what would otherwise hang a test for ever; no test is about it.
const patience = 2 * time.Minute

// bed is a coordinator with one deployment of one server, db.
type bed struct {
	t       testing.TB
	folder  string
	program string
	secret  protocol.Secret
	url     string // of the coordinator
	open    func(...store.Credential) store.Session
	plan    contract.Plan
	scripts map[string][]byte // by digest
}

// startCoordinator starts one, and gives its URL and a way to open it here.
type startCoordinator func(t testing.TB, folder string) (string, func(...store.Credential) store.Session)

// inMemory serves a coordinator on a unix socket.
func inMemory(t testing.TB, folder string) (string, func(...store.Credential) store.Session) {
	path, tree := filepath.Join(folder, "coordinator"), memory.New()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- memory.Serve(ctx, tree, path) }()
	t.Cleanup(func() { cancel(); <-served })
	return "unix://" + path, tree.Open
}

// newBed makes a server whose roles are these scripts, in order. The last one may
// read $x, which nobody writes unless the test does.
func newBed(t testing.TB, idempotent bool, scripts ...string) *bed {
	t.Helper()
	return newBedOn(t, inMemory, idempotent, scripts...)
}

func newBedOn(t testing.TB, start startCoordinator, idempotent bool, scripts ...string) *bed {
	t.Helper()
	return newBedOf(t, start, func(digest string) contract.Role {
		return contract.Role{Driver: "script", Idempotent: idempotent, Source: json.RawMessage(fmt.Sprintf(`{"file":%q}`, digest))}
	}, scripts...)
}

// newBedOf makes a server whose roles run these files by any driver.
func newBedOf(t testing.TB, start startCoordinator, as func(digest string) contract.Role, scripts ...string) *bed {
	t.Helper()
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// A short path: it has a socket in it.
	folder, err := os.MkdirTemp("", "hotc-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	b := &bed{t: t, folder: folder, program: filepath.Join(folder, "hotc-agent"), secret: secret}
	b.url, b.open = start(t, folder)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, b.program); err != nil {
		t.Fatal(err)
	}
	db := contract.Server{Path: "db", At: "site.yaml:1:1"}
	web := contract.Server{Path: "web", Roles: []contract.Role{}}
	files := map[string][]byte{}
	b.scripts = files
	b.plan = contract.Plan{Format: contract.Format, Signal: "none", Outputs: []contract.StackOutput{},
		Cells: []contract.Cell{{Name: "web.app:x", Server: "web"}}}
	for i, script := range scripts {
		sum := sha256.Sum256([]byte(script))
		digest, name := hex.EncodeToString(sum[:]), fmt.Sprintf("r%d", i+1)
		files[digest] = []byte(script)
		b.plan.Files = append(b.plan.Files, contract.File{Digest: digest, Size: int64(len(script)), Name: name})
		cell := contract.CellName("db." + name)
		b.plan.Cells = append(b.plan.Cells, contract.Cell{Name: cell, Server: "db", Role: name})
		role := as(digest)
		role.Name, role.At, role.Files = name, "site.yaml:2:2", []string{digest}
		role.Inputs = []contract.Input{{Name: "x", Time: contract.Run, Expr: json.RawMessage(`{"$cell":"web.app:x"}`), Reads: []contract.CellName{"web.app:x"}}}
		db.Roles = append(db.Roles, role)
	}
	b.plan.Servers = []contract.Server{db, web}
	b.plan.Derive()
	text, err := json.Marshal(b.plan)
	if err != nil {
		t.Fatal(err)
	}
	_, err = deploy.Publish(context.Background(), b.operator(), deploy.Publication{Deployment: deployment, Secret: secret, Plan: &b.plan, JSON: text,
		Files: func(digest string) ([]byte, error) { return files[digest], nil }, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	b.writeBoot()
	return b
}

func (b *bed) operator() store.Session {
	s := b.open(b.secret.Operator(deployment))
	b.t.Cleanup(func() { s.Close() })
	return s
}

func (b *bed) writeBoot() {
	b.t.Helper()
	text, err := json.Marshal(contract.Boot{Format: contract.Format, Deployment: string(deployment), Server: "db",
		Coordinator: b.url, Token: b.secret.ServerToken(deployment, "db")})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.folder, "boot.json"), text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// screen is what a process prints, while it does.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// agentProcess is an agent at work.
type agentProcess struct {
	*exec.Cmd
	printed *screen
	ended   chan error
}

func (b *bed) start(flags ...string) *agentProcess {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p := &agentProcess{printed: &screen{}, ended: make(chan error, 1)}
	p.Cmd = exec.CommandContext(ctx, b.program, append([]string{"run", "--boot", filepath.Join(b.folder, "boot.json"),
		"--state", filepath.Join(b.folder, "state"), "--work", b.work(), "--instance-id", "i-1", "--grace", "1s"}, flags...)...)
	p.Stdout, p.Stderr = p.printed, p.printed
	if err := p.Start(); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		p.ended <- p.Wait()
		cancel()
	}()
	b.t.Cleanup(func() { p.Process.Kill() })
	return p
}

// status waits for the end of an agent, and is how a shell would see it; -1 when
// it was killed.
func (p *agentProcess) status() int {
	err := <-p.ended
	p.ended <- err
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func (b *bed) work() string { return filepath.Join(b.folder, "work") }

// log is what roles wrote to a file beside their folders.
func (b *bed) log() string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.work(), "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}

// reader reads, as an operator, what servers have written.
func (b *bed) reader() *deploy.Reader {
	b.t.Helper()
	reader, err := deploy.NewReader(context.Background(), b.operator(), deployment, b.secret, &b.plan)
	if err != nil {
		b.t.Fatal(err)
	}
	return reader
}

// cell is the value of a cell of db, or "failed: " and the chain, or "empty".
func (b *bed) cell(name contract.CellName) string {
	b.t.Helper()
	record, err := b.reader().Cell(context.Background(), contract.CellRef{Cell: name, Server: "db"})
	if err != nil {
		b.t.Fatal(err)
	}
	switch record.State {
	case protocol.Valued:
		return string(record.Value)
	case protocol.Failed:
		return "failed: " + record.Cause.String()
	case protocol.Empty:
	}
	return "empty"
}

// awaitBlocked waits until a role waits for $x.
func (b *bed) awaitBlocked() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	store := b.operator()
	changes, err := store.Watch(ctx, deployment.State("db"))
	if err != nil {
		b.t.Fatal(err)
	}
	for range changes {
		node, err := store.Read(ctx, deployment.State("db"))
		if err == nil && bytes.Contains(node.Data, []byte(`"blocked":[{"cell":"web.app:x"`)) {
			return
		}
	}
	b.t.Fatal("no role ever waited")
}
