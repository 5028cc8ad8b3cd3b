package deploytest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

const Site protocol.Deployment = "site"

var (
	Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	Secret  = MustSecret("6f1c0b9e4d2a7385c4be91d07a36f8e25b0d9c8171e4a6f3902c5d8b7e6f1a43")
	Another = MustSecret("0a9b8c7d6e5f40312233445566778899aabbccddeeff00112a3b4c5d6e7f8091")
)

func MustSecret(text string) protocol.Secret {
	s, err := protocol.ParseSecret(text)
	if err != nil {
		panic(err)
	}
	return s
}

// Bed is a coordinator that tests open sessions with.
type Bed struct {
	Open func(t *testing.T, creds ...store.Credential) store.Session
}

func InMemory() Bed {
	tree := memory.New()
	return Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		s := tree.Open(creds...)
		t.Cleanup(func() { s.Close() })
		return s
	}}
}

func (b Bed) Operator(t *testing.T) store.Session {
	return b.Open(t, Secret.Operator(Site))
}

func TokenOf(server contract.ServerPath) string { return Secret.ServerToken(Site, server) }

// Session is that of a server's agent, before any request.
func (b Bed) Session(t *testing.T, server contract.ServerPath) store.Session {
	return b.Open(t, protocol.ServerCredential(server, TokenOf(server)))
}

// Agent is one that has read its plan and is enrolled.
func (b Bed) Agent(t *testing.T, server contract.ServerPath) *member.Session {
	t.Helper()
	m := member.Join(b.Session(t, server), Site, server, TokenOf(server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	return Enrolled(t, m, "journal-"+string(server), false)
}

// Publish applies a plan, which must succeed.
func (b Bed) Publish(t *testing.T, p *contract.Plan) deploy.Published {
	t.Helper()
	done, err := b.Apply(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (b Bed) Apply(t *testing.T, p *contract.Plan) (deploy.Published, error) {
	return deploy.Publish(t.Context(), b.Open(t), Publication(p))
}

// Publication is a plan as the bed publishes it, with changes.
func Publication(p *contract.Plan, with ...func(*deploy.Publication)) deploy.Publication {
	p.Derive()
	w := deploy.Publication{Deployment: Site, Secret: Secret, Plan: p, JSON: Text(p), Files: Contents, Now: Noon}
	for _, change := range with {
		change(&w)
	}
	return w
}

func Enrolling(e protocol.Enrolment) func(*deploy.Publication) {
	return func(w *deploy.Publication) { w.Enrol = &e }
}

func Restored(w *deploy.Publication) { w.Restore = true }

func InRoot(root deploy.InRoot) func(*deploy.Publication) {
	return func(w *deploy.Publication) { w.Root = &root }
}

func Text(p *contract.Plan) []byte {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err)
	}
	return data
}

func Digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

var Scripts = map[string]string{}

func Script(content string) string {
	Scripts[Digest(content)] = content
	return Digest(content)
}

var (
	MysqlScript = Script("echo mysql\n")
	WebScript   = Script("echo web\n")
)

func Contents(digest string) ([]byte, error) {
	content, known := Scripts[digest]
	if !known {
		return nil, fmt.Errorf("no file %s", digest)
	}
	return []byte(content), nil
}

// InputOf is an input that reads a cell.
func InputOf(name string, cell contract.CellName) contract.Input {
	expr, _ := json.Marshal(map[string]any{"$cell": cell})
	return contract.Input{Name: name, Time: contract.Run, Expr: expr, At: map[string]contract.Position{"": "site.yaml:9:9"}, Reads: []contract.CellName{cell}}
}

// ThreeTier is a database, an application that reads the database's endpoint, and
// a balancer that reads the application's port and waits for the database.
func ThreeTier() *contract.Plan {
	p := &contract.Plan{
		Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: "none",
		Servers: []contract.Server{
			{
				Path: "db", At: "site.yaml:3:3", Facts: []contract.Fact{contract.FactFirstAddress},
				Roles: []contract.Role{{
					Name: "mysql", At: "site.yaml:5:9", Driver: "script", Source: json.RawMessage(`{"file":"` + MysqlScript + `"}`),
					Outputs: []contract.Output{{Name: "endpoint", Cell: "db.mysql:endpoint", Type: contract.String, At: "site.yaml:6:9"}},
					Files:   []string{MysqlScript},
				}},
			},
			{
				Path: "app", At: "site.yaml:13:3",
				Roles: []contract.Role{{
					Name: "web", At: "site.yaml:15:9", Driver: "script", Source: json.RawMessage(`{"file":"` + WebScript + `"}`),
					Inputs:  []contract.Input{InputOf("db", "db.mysql:endpoint"), InputOf("host", "db:first_address")},
					Outputs: []contract.Output{{Name: "port", Cell: "app.web:port", Type: contract.Number, At: "site.yaml:16:9"}},
					Files:   []string{WebScript},
				}},
			},
			{
				Path: "lb", At: "site.yaml:23:3",
				Roles: []contract.Role{{
					Name: "proxy", At: "site.yaml:25:9", Driver: "script", Source: json.RawMessage(`{"text":"true"}`),
					Inputs:    []contract.Input{InputOf("port", "app.web:port")},
					DependsOn: []contract.Dependency{{Cell: "db.mysql", At: "site.yaml:26:9"}},
				}},
			},
		},
		Cells: []contract.Cell{
			{Name: "db:first_address", Server: "db"},
			{Name: "db.mysql:endpoint", Server: "db", Role: "mysql"},
			{Name: "db.mysql", Server: "db", Role: "mysql"},
			{Name: "app.web:port", Server: "app", Role: "web"},
			{Name: "app.web", Server: "app", Role: "web"},
			{Name: "lb.proxy", Server: "lb", Role: "proxy"},
		},
		Outputs: []contract.StackOutput{{Name: "port", Expr: json.RawMessage(`{"$cell":"app.web:port"}`), At: map[string]contract.Position{"": "site.yaml:30:3"}}},
		Files: []contract.File{
			{Digest: MysqlScript, Size: 11, Name: "mysql.sh"},
			{Digest: WebScript, Size: 9, Name: "web.sh"},
		},
	}
	p.Derive()
	return p
}

// FanOut is one writer whose cell n servers read; they also share a file.
func FanOut(n int) *contract.Plan {
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "fan.yaml", Signal: "none",
		Servers: []contract.Server{{Path: "head", Roles: []contract.Role{{Name: "boss", Driver: "script", Source: json.RawMessage(`{}`)}}}},
		Cells:   []contract.Cell{{Name: "head.boss:key", Server: "head", Role: "boss"}},
		Files:   []contract.File{{Digest: WebScript, Size: 9, Name: "web.sh"}},
	}
	for i := range n {
		s := contract.ServerPath(fmt.Sprintf("node/%d", i))
		p.Servers = append(p.Servers, contract.Server{Path: s, Roles: []contract.Role{{Name: "work", Driver: "script", Source: json.RawMessage(`{}`),
			Files: []string{WebScript}, Inputs: []contract.Input{InputOf("key", "head.boss:key")}}}})
	}
	p.Derive()
	return p
}

// Patience bounds what would otherwise block a test for ever; no test is about it.
const Patience = 5 * time.Minute

func Within(t *testing.T, d time.Duration) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), d)
	t.Cleanup(stop)
	return ctx
}

func JsonString(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }

// Soon receives what must come, and fails the test when it does not.
func Soon[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatal("it does not come")
		panic("unreachable")
	}
}

// ReadCell reads a cell as the operator.
func ReadCell(ctx context.Context, s store.Session, c contract.CellRef) (protocol.CellRecord, error) {
	r, err := deploy.NewReader(ctx, s, Site, Secret, &contract.Plan{})
	if err != nil {
		return protocol.CellRecord{}, err
	}
	return r.Cell(ctx, c)
}

// Reading is an operator who reads what servers have written.
func Reading(t *testing.T, s store.Session) *deploy.Reader {
	t.Helper()
	r, err := deploy.NewReader(t.Context(), s, Site, Secret, ThreeTier())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
