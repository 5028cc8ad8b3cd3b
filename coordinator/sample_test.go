package coordinator_test

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
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/memory"
)

const site coordinator.Deployment = "site"

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	secret  = mustSecret("6f1c0b9e4d2a7385c4be91d07a36f8e25b0d9c8171e4a6f3902c5d8b7e6f1a43")
	another = mustSecret("0a9b8c7d6e5f40312233445566778899aabbccddeeff00112a3b4c5d6e7f8091")
)

func mustSecret(text string) coordinator.Secret {
	s, err := coordinator.ParseSecret(text)
	if err != nil {
		panic(err)
	}
	return s
}

// bed is a coordinator that tests open sessions with.
type bed struct {
	open func(t *testing.T, creds ...coordinator.Credential) coordinator.Store
}

func inMemory() bed {
	tree := memory.New()
	return bed{open: func(t *testing.T, creds ...coordinator.Credential) coordinator.Store {
		s := tree.Open(creds...)
		t.Cleanup(func() { s.Close() })
		return s
	}}
}

func (b bed) operator(t *testing.T) coordinator.Store {
	return b.open(t, secret.Operator(site))
}

func tokenOf(server contract.ServerPath) string { return secret.ServerToken(site, server) }

// session is that of a server's agent, without anything asked for yet.
func (b bed) session(t *testing.T, server contract.ServerPath) coordinator.Store {
	return b.open(t, coordinator.ServerCredential(server, tokenOf(server)))
}

// agent is one that has read its plan and is enrolled.
func (b bed) agent(t *testing.T, server contract.ServerPath) *member.Member {
	t.Helper()
	m := member.Join(b.session(t, server), site, server, tokenOf(server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Enrol(t.Context(), "journal-"+string(server), "i-"+string(server), false, noon); err != nil {
		t.Fatal(err)
	}
	return m
}

// publish applies a plan, which must succeed.
func (b bed) publish(t *testing.T, p *contract.Plan) deploy.Published {
	t.Helper()
	done, err := b.apply(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (b bed) apply(t *testing.T, p *contract.Plan) (deploy.Published, error) {
	return deploy.Publish(t.Context(), b.open(t), publication(p))
}

// publication is a plan as the bed publishes it, but for what is said otherwise.
func publication(p *contract.Plan, with ...func(*deploy.Publication)) deploy.Publication {
	w := deploy.Publication{Deployment: site, Secret: secret, Plan: p, JSON: text(p), Files: contents, Now: noon}
	for _, change := range with {
		change(&w)
	}
	return w
}

func enrolling(e coordinator.Enrolment) func(*deploy.Publication) {
	return func(w *deploy.Publication) { w.Enrol = &e }
}

func restored(w *deploy.Publication) { w.Restore = true }

func inRoot(root deploy.InRoot) func(*deploy.Publication) {
	return func(w *deploy.Publication) { w.Root = &root }
}

func text(p *contract.Plan) []byte {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err)
	}
	return data
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

var scripts = map[string]string{}

func script(content string) string {
	scripts[digest(content)] = content
	return digest(content)
}

var (
	mysqlScript = script("echo mysql\n")
	webScript   = script("echo web\n")
)

func contents(digest string) ([]byte, error) {
	content, known := scripts[digest]
	if !known {
		return nil, fmt.Errorf("no file %s", digest)
	}
	return []byte(content), nil
}

// threeTier is a database, an application that reads the database's endpoint, and
// a balancer that reads the application's port and waits for the database.
func threeTier() *contract.Plan {
	run := func(name string, reads ...contract.CellName) contract.Input {
		expr, _ := json.Marshal(map[string]any{"$cell": reads[0]})
		return contract.Input{Name: name, Time: contract.Run, Expr: expr, At: map[string]contract.Position{"": "site.yaml:9:9"}, Reads: reads}
	}
	p := &contract.Plan{
		Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: "none",
		Servers: []contract.Server{
			{
				Path: "db", At: "site.yaml:3:3", Facts: []string{contract.FactFirstAddress},
				Writes: []contract.CellName{"db:first_address", "db.mysql:endpoint", "db.mysql"},
				Roles: []contract.Role{{
					Name: "mysql", At: "site.yaml:5:9", Driver: "script", Source: json.RawMessage(`{"file":"` + mysqlScript + `"}`),
					Outputs: []contract.Output{{Name: "endpoint", Cell: "db.mysql:endpoint", Type: contract.String, At: "site.yaml:6:9"}},
					Files:   []string{mysqlScript},
				}},
			},
			{
				Path: "app", At: "site.yaml:13:3",
				Reads:  []contract.CellRef{{Cell: "db.mysql:endpoint", Server: "db"}, {Cell: "db:first_address", Server: "db"}},
				Writes: []contract.CellName{"app.web:port", "app.web"},
				Roles: []contract.Role{{
					Name: "web", At: "site.yaml:15:9", Driver: "script", Source: json.RawMessage(`{"file":"` + webScript + `"}`),
					Inputs:  []contract.Input{run("db", "db.mysql:endpoint"), run("host", "db:first_address")},
					Outputs: []contract.Output{{Name: "port", Cell: "app.web:port", Type: contract.Number, At: "site.yaml:16:9"}},
					Files:   []string{webScript},
				}},
			},
			{
				Path: "lb", At: "site.yaml:23:3",
				Reads:  []contract.CellRef{{Cell: "app.web:port", Server: "app"}, {Cell: "db.mysql", Server: "db"}},
				Writes: []contract.CellName{"lb.proxy"},
				Roles: []contract.Role{{
					Name: "proxy", At: "site.yaml:25:9", Driver: "script", Source: json.RawMessage(`{"text":"true"}`),
					Inputs:    []contract.Input{run("port", "app.web:port")},
					DependsOn: []contract.Dependency{{Cell: "db.mysql", At: "site.yaml:26:9"}},
				}},
			},
		},
		Cells: []contract.Cell{
			{Name: "db:first_address", Server: "db", Readers: []contract.ServerPath{"app"}},
			{Name: "db.mysql:endpoint", Server: "db", Role: "mysql", Readers: []contract.ServerPath{"app"}},
			{Name: "db.mysql", Server: "db", Role: "mysql", Readers: []contract.ServerPath{"lb"}},
			{Name: "app.web:port", Server: "app", Role: "web", Readers: []contract.ServerPath{"lb"}},
			{Name: "app.web", Server: "app", Role: "web"},
			{Name: "lb.proxy", Server: "lb", Role: "proxy"},
		},
		Outputs: []contract.StackOutput{{Name: "port", Expr: json.RawMessage(`{"$cell":"app.web:port"}`), At: map[string]contract.Position{"": "site.yaml:30:3"}}},
		Files: []contract.File{
			{Digest: mysqlScript, Size: 11, Name: "mysql.sh"},
			{Digest: webScript, Size: 9, Name: "web.sh"},
		},
	}
	return p
}

// fanOut is one writer whose cell n servers read; they also share a file.
func fanOut(n int) *contract.Plan {
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "fan.yaml", Signal: "none",
		Servers: []contract.Server{{Path: "head", Writes: []contract.CellName{"head.boss:key"}, Roles: []contract.Role{{Name: "boss", Driver: "script", Source: json.RawMessage(`{}`)}}}},
		Cells:   []contract.Cell{{Name: "head.boss:key", Server: "head", Role: "boss"}},
		Files:   []contract.File{{Digest: webScript, Size: 9, Name: "web.sh"}},
	}
	for i := range n {
		s := contract.ServerPath(fmt.Sprintf("node/%d", i))
		p.Servers = append(p.Servers, contract.Server{Path: s, Reads: []contract.CellRef{{Cell: "head.boss:key", Server: "head"}},
			Roles: []contract.Role{{Name: "work", Driver: "script", Source: json.RawMessage(`{}`), Files: []string{webScript}}}})
		p.Cells[0].Readers = append(p.Cells[0].Readers, s)
	}
	return p
}

// patience bounds what would otherwise hang a test for ever; no test is about it.
const patience = 5 * time.Minute

func within(t *testing.T, d time.Duration) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), d)
	t.Cleanup(stop)
	return ctx
}

func jsonString(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }

// soon takes what must come, and fails the test when it does not.
func soon[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("it does not come")
		panic("unreachable")
	}
}

// readCell reads a cell as the operator.
func readCell(ctx context.Context, s coordinator.Store, c contract.CellRef) (coordinator.CellRecord, error) {
	r, err := deploy.NewReader(ctx, s, site, secret, &contract.Plan{})
	if err != nil {
		return coordinator.CellRecord{}, err
	}
	return r.Cell(ctx, c)
}

// reading is an operator who reads what servers have written.
func reading(t *testing.T, s coordinator.Store) *deploy.Reader {
	t.Helper()
	r, err := deploy.NewReader(t.Context(), s, site, secret, threeTier())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
