package localrun

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// pair is a plan whose server app reads what db writes, and prints it; with its files.
func pair(dbScript string) (*contract.Plan, map[string][]byte) {
	const webScript = `echo "got $(hotc-agent get url)"`
	sql, web := role("sql", "pair.yaml:5:9", dbScript), role("web", "pair.yaml:11:9", webScript)
	sql.Outputs = []contract.Output{{Name: "url", Cell: "db.sql:url", Type: contract.String, At: "pair.yaml:6:9"}}
	web.Inputs = []contract.Input{{Name: "url", Time: contract.Run, Expr: json.RawMessage(`{"$cell":"db.sql:url"}`), At: map[string]contract.Position{"": "pair.yaml:12:9"}, Reads: []contract.CellName{"db.sql:url"}}}
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "pair.yaml", Signal: contract.NobodySignals,
		Servers: []contract.Server{
			{Path: "db", At: "pair.yaml:3:3", Roles: []contract.Role{sql}},
			{Path: "app", At: "pair.yaml:9:3", Roles: []contract.Role{web}},
		},
		Cells: []contract.Cell{
			{Name: "db.sql:url", Server: "db", Role: "sql"},
			{Name: "db.sql", Server: "db", Role: "sql"}, {Name: "app.web", Server: "app", Role: "web"}},
		Outputs: []contract.StackOutput{{Name: "url", Expr: json.RawMessage(`{"$cell":"db.sql:url"}`)}},
		Files:   []contract.File{{Digest: sql.Files[0], Size: int64(len(dbScript)), Name: "db.sh"}, {Digest: web.Files[0], Size: int64(len(webScript)), Name: "web.sh"}},
	}
	p.Derive()
	return p, map[string][]byte{sql.Files[0]: []byte(dbScript), web.Files[0]: []byte(webScript)}
}

// role is one whose script is a file of the plan.
func role(name, at, text string) contract.Role {
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	return contract.Role{Name: name, At: contract.Position(at), Driver: "script", Files: []string{digest},
		Source: json.RawMessage(fmt.Sprintf(`{"file": %q, "interpreter": ["/bin/sh"]}`, digest))}
}

// play runs a plan with a real agent, and returns what was reported.
func play(t *testing.T, dbScript string) (*Run, *Result, []string) {
	t.Helper()
	p, files := pair(dbScript)
	agent := filepath.Join(t.TempDir(), "hotc-agent")
	build := exec.Command("go", "build", "-o", agent, "github.com/hotc-dev/hotc/cmd/hotc-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as elsewhere: uses the build cache
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	r, err := Start(t.Context(), Setup{Plan: p, JSON: text, Files: files, Agent: agent, Workdir: t.TempDir(), Boots: []contract.Boot{boot("db"), boot("app")},
		Changed: func(role contract.RoleKey, _, now protocol.RoleState) {
			told = append(told, string(role)+" "+string(now.Status))
		},
		Beside:  func(contract.RoleKey, status.Cycle) {},
		Printed: func(role contract.RoleKey, line []byte) { told = append(told, string(role)+" | "+string(line)) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	result, err := r.Roles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, result, told
}

// A plan runs without a command line: its roles, what they print, and its outputs.
func TestPlanRuns(t *testing.T) {
	r, result, told := play(t, "printf mysql://db | hotc-agent put url")
	for _, server := range []contract.ServerPath{"db", "app"} {
		if phase := result.States[server].Phase; phase != protocol.PhaseDone {
			t.Errorf("%s is %s: %s", server, phase, r.Trouble(server))
		}
	}
	for _, want := range []string{"db.sql done", "app.web done", "app.web | got mysql://db"} {
		if !slices.Contains(told, want) {
			t.Errorf("nobody was told %q, but\n%s", want, strings.Join(told, "\n"))
		}
	}
	out, err := r.Evaluate(t.Context(), r.setup.Plan).Named("url")
	if err != nil || out.State != operate.OutputValue || string(out.Value) != `"mysql://db"` {
		t.Errorf("the output is %+v (%v)", out, err)
	}
}

// A failure reaches the readers, with its cause.
func TestFailureReachesReaders(t *testing.T) {
	r, result, _ := play(t, "exit 7")
	app := result.States["app"]
	if app.Phase != protocol.PhaseFailed || app.Roles[0].Cause == nil || app.Roles[0].Cause.Root().Role != "db.sql" {
		t.Errorf("app is %+v", app)
	}
	out, err := r.Evaluate(t.Context(), r.setup.Plan).Named("url")
	if err != nil || out.State != operate.OutputFailed {
		t.Errorf("the output is %+v (%v)", out, err)
	}
}

func boot(server contract.ServerPath) contract.Boot {
	return contract.Boot{Format: contract.Format, Deployment: string(Name), Server: server, Facts: map[contract.Fact]json.RawMessage{contract.FactID: json.RawMessage(`"i-` + string(server) + `"`)}}
}
