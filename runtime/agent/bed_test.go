package agent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/script"
	"github.com/hotc-dev/hotc/runtime/lazyfile"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// Roles call `hotc-agent get` and `put`. In these tests that is the test program
// itself: a link to it of that name stands first on their PATH.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hotc-agent" {
		if os.Args[1] == "guard" {
			if err := lazyfile.Guard(os.Stdin); err != nil {
				fmt.Fprintln(os.Stderr, "guard:", err)
				os.Exit(1)
			}
			os.Exit(0)
		}
		if err := playCommand(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "hotc-agent:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A program under the race detector sleeps for a second before it ends.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func playCommand(command, name string) error {
	path := os.Getenv(socket.Variable)
	if command == "get" {
		value, err := socket.Get(context.Background(), path, name)
		os.Stdout.Write(driver.Text(value))
		return err
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	return socket.PutText(context.Background(), path, name, text)
}

type rawMessage = json.RawMessage

const deployment protocol.Deployment = "blog"

// patience bounds what would otherwise hang a test for ever; no test is about it.
const patience = 2 * time.Minute

// bed is a coordinator, and a plan that grows until it is applied.
type bed struct {
	t      *testing.T
	tree   *memory.Tree
	secret protocol.Secret
	plan   contract.Plan
	files  map[string][]byte
	state  string // where servers keep theirs
	// unapplied takes what is to be published, where a test does that itself.
	unapplied func(deploy.Publication)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &bed{t: t, tree: memory.New(), secret: secret, files: map[string][]byte{}, state: t.TempDir(),
		plan: contract.Plan{Format: contract.Format, Compiler: "test", Template: "site.yaml", Signal: "heat",
			Outputs: []contract.StackOutput{}}}
}

// server adds a server with its roles.
func (b *bed) server(path contract.ServerPath, roles ...contract.Role) *contract.Server {
	s := contract.Server{Path: path, At: "site.yaml:1:1", Roles: roles}
	own := func(cell contract.CellName, role string) {
		b.plan.Cells = append(b.plan.Cells, contract.Cell{Name: cell, Server: path, Role: role})
	}
	for i, r := range roles {
		own(contract.CellName(string(path)+"."+r.Name), r.Name)
		for j, o := range r.Outputs {
			s.Roles[i].Outputs[j].Cell = contract.CellName(string(path) + "." + r.Name + ":" + o.Name)
			own(s.Roles[i].Outputs[j].Cell, r.Name)
		}
	}
	b.plan.Servers = append(b.plan.Servers, s)
	return &b.plan.Servers[len(b.plan.Servers)-1]
}

// fact makes a server tell one.
func (b *bed) fact(s *contract.Server, name contract.Fact) {
	cell := s.Path.Fact(name)
	s.Facts = append(s.Facts, name)
	b.plan.Cells = append(b.plan.Cells, contract.Cell{Name: cell, Server: s.Path})
}

// sh is a role whose script this is.
func (b *bed) sh(name, text string) contract.Role {
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	if _, known := b.files[digest]; !known {
		b.files[digest] = []byte(text)
		b.plan.Files = append(b.plan.Files, contract.File{Digest: digest, Size: int64(len(text)), Name: name})
	}
	return contract.Role{Name: name, At: "site.yaml:2:2", Driver: "script", Files: []string{digest},
		Source: json.RawMessage(fmt.Sprintf(`{"file":%q}`, digest))}
}

// with changes a role on its way into the plan.
func with(r contract.Role, changes ...func(*contract.Role)) contract.Role {
	for _, change := range changes {
		change(&r)
	}
	return r
}

func output(name string, t contract.Type) func(*contract.Role) {
	return func(r *contract.Role) {
		r.Outputs = append(r.Outputs, contract.Output{Name: name, Type: t, At: "site.yaml:3:3"})
	}
}

// input reads a cell.
func input(name string, cell contract.CellName, changes ...func(*contract.Input)) func(*contract.Role) {
	in := contract.Input{Name: name, Time: contract.Run, Expr: json.RawMessage(fmt.Sprintf(`{"$cell":%q}`, cell)),
		At: map[string]contract.Position{"": "site.yaml:4:4"}, Reads: []contract.CellName{cell}}
	for _, change := range changes {
		change(&in)
	}
	return func(r *contract.Role) { r.Inputs = append(r.Inputs, in) }
}

// static is an input that the compiler knew.
func static(name, value string) func(*contract.Role) {
	return func(r *contract.Role) {
		r.Inputs = append(r.Inputs, contract.Input{Name: name, Time: contract.Static, Expr: json.RawMessage(value),
			At: map[string]contract.Position{"": "site.yaml:4:4"}})
	}
}

func dependsOn(cell contract.CellName) func(*contract.Role) {
	return func(r *contract.Role) {
		r.DependsOn = append(r.DependsOn, contract.Dependency{Cell: cell, At: "site.yaml:5:5"})
	}
}

func enrolOnce(w *deploy.Publication) { w.Enrol = new(protocol.EnrolOnce) }

// apply publishes the plan.
func (b *bed) apply(with ...func(*deploy.Publication)) {
	b.t.Helper()
	b.plan.Derive()
	text, err := json.Marshal(b.plan)
	if err != nil {
		b.t.Fatal(err)
	}
	files := func(digest string) ([]byte, error) { return b.files[digest], nil }
	w := deploy.Publication{Deployment: deployment, Secret: b.secret, Plan: &b.plan, JSON: text, Files: files, Now: time.Now()}
	for _, change := range with {
		change(&w)
	}
	if b.unapplied != nil {
		b.unapplied(w)
		return
	}
	_, err = deploy.Publish(b.t.Context(), b.operator(), w)
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) operator() store.Session {
	s := b.tree.Open(b.secret.Operator(deployment))
	b.t.Cleanup(func() { s.Close() })
	return s
}

// running is an agent at work in this process.
type running struct {
	t       *testing.T
	server  contract.ServerPath
	work    string
	console *lines
	cancel  context.CancelFunc
	ended   chan error
}

// config is that of a server's agent.
func (b *bed) config(server contract.ServerPath) agent.Config {
	own := filepath.Join(b.state, store.Segment(string(server)))
	program, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	return agent.Config{
		Boot: contract.Boot{Format: contract.Format, Deployment: string(deployment), Server: server,
			Coordinator: "memory:", Token: b.secret.ServerToken(deployment, server)},
		Instance: "i-" + string(server), State: filepath.Join(own, "state"), Work: filepath.Join(own, "work"),
		Program: program, Version: "test", Environment: os.Environ(),
		Drivers: []driver.Driver{script.Driver{}},
		Open: func(_ context.Context, _ string, creds ...store.Credential) (store.Session, error) {
			return b.tree.Open(creds...), nil
		},
		Now: time.Now, Random: rand.Reader, Grace: time.Second, Once: true,
		Parting: 200 * time.Millisecond, Retry: time.Millisecond,
	}
}

// start starts a server's agent.
func (b *bed) start(server contract.ServerPath, changes ...func(*agent.Config)) *running {
	b.t.Helper()
	c := b.config(server)
	for _, change := range changes {
		change(&c)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r := &running{t: b.t, server: server, work: c.Work, console: newLines(), cancel: cancel, ended: make(chan error, 1)}
	c.Console = r.console
	go func() {
		r.ended <- agent.Run(ctx, c)
	}()
	b.t.Cleanup(func() {
		cancel()
		if err := <-r.ended; b.t.Failed() {
			b.t.Logf("the agent of %s ended with %v, console:\n%s", server, err, r.console)
		}
	})
	return r
}

// wait waits for the agent's end.
func (r *running) wait() error {
	r.t.Helper()
	err := <-r.ended
	r.ended <- err
	r.cancel()
	if errors.Is(err, context.DeadlineExceeded) {
		r.t.Fatalf("the agent of %s hangs", r.server)
	}
	return err
}

// mustBeDone waits for an agent whose roles all have to be done.
func (r *running) mustBeDone() {
	r.t.Helper()
	if err := r.wait(); err != nil {
		r.t.Fatalf("%s: %v\n%s", r.server, err, r.console)
	}
}

// mustFail waits for an agent whose roles have to fail.
func (r *running) mustFail() {
	r.t.Helper()
	if err := r.wait(); !errors.Is(err, agent.ErrRolesFailed) {
		r.t.Fatalf("%s: %v\n%s", r.server, err, r.console)
	}
}

// file is a file in or beside a role's folder.
func (r *running) file(path ...string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{r.work}, path...)...))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// reader reads, as an operator, what servers have written.
func (b *bed) reader() *deploy.Reader {
	b.t.Helper()
	reader, err := deploy.NewReader(b.t.Context(), b.operator(), deployment, b.secret, &b.plan)
	if err != nil {
		b.t.Fatal(err)
	}
	return reader
}

// cell is what a cell holds: its value, or "failed: " and the chain, or "empty".
func (b *bed) cell(cell contract.CellName) string {
	b.t.Helper()
	for _, c := range b.plan.Cells {
		if c.Name != cell {
			continue
		}
		record, err := b.reader().Cell(b.t.Context(), contract.CellRef{Cell: cell, Server: c.Server, Sealed: c.Sealed})
		if err != nil {
			b.t.Fatal(err)
		}
		switch record.State {
		case protocol.Valued:
			return string(record.Value)
		case protocol.Failed:
			return "failed: " + record.Cause.String()
		case protocol.Empty:
			return "empty"
		}
	}
	b.t.Fatalf("no cell %s", cell)
	return ""
}

func (b *bed) want(cell contract.CellName, want string) {
	b.t.Helper()
	if got := b.cell(cell); got != want {
		b.t.Errorf("%s is\n%s\nwant\n%s", cell, got, want)
	}
}

// awaitState waits until a server's state fulfils a condition.
func (b *bed) awaitState(server contract.ServerPath, fulfilled func(protocol.ServerState) bool) protocol.ServerState {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	store := b.operator()
	changes, err := store.Watch(ctx, deployment.State(server))
	if err != nil {
		b.t.Fatal(err)
	}
	var last protocol.ServerState
	for range changes {
		node, err := store.Read(ctx, deployment.State(server))
		last = protocol.ServerState{}
		if err == nil && len(node.Data) > 0 && json.Unmarshal(node.Data, &last) == nil && fulfilled(last) {
			return last
		}
	}
	b.t.Fatalf("the state of %s never came: %+v", server, last)
	return last
}

// blockedOn says that some role of a server waits for a cell.
func blockedOn(cell contract.CellName) func(protocol.ServerState) bool {
	return func(s protocol.ServerState) bool {
		for _, r := range s.Roles {
			for _, w := range r.Blocked {
				if w.Cell == cell {
					return true
				}
			}
		}
		return false
	}
}

func inPhase(p protocol.Phase) func(protocol.ServerState) bool {
	return func(s protocol.ServerState) bool { return s.Phase == p }
}

// lines are what an agent prints, and a way to wait for a line.
type lines struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newLines() *lines { return &lines{changed: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until a text was printed.
func (r *running) await(text string) {
	r.t.Helper()
	timeout := time.After(patience)
	for !strings.Contains(r.console.String(), text) {
		select {
		case <-r.console.changed:
		case <-timeout:
			r.t.Fatalf("%q was never said:\n%s", text, r.console)
		}
	}
}
