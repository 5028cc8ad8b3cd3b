package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// failed has db.mysql failed, and app.web because of it.
func (d *desk) failed(t *testing.T) (db, app *member.Session) {
	t.Helper()
	d.apply(t)
	db, app = d.agent(t, "db"), d.agent(t, "app")
	first := &protocol.Cause{Role: "db.mysql", Reason: "exit status 7", At: "site.yaml:12:13"}
	second := &protocol.Cause{Role: "app.web", Reason: "blocked on db.mysql:endpoint (input db)", At: "site.yaml:22:15", Cause: first}
	report(t, db, map[contract.CellName]*protocol.Cause{"db.mysql": first, "db.mysql:endpoint": first}, failure("mysql", first, ""))
	put(t, app, "app.base", `null`)
	report(t, app, map[contract.CellName]*protocol.Cause{"app.web": second, "app.web:port": second}, done("base"), failure("web", second, ""))
	return db, app
}

func asksFor(t *testing.T, m *member.Session) string {
	t.Helper()
	asked, err := m.Asked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var asks []string
	for _, r := range asked.Requests {
		asks = append(asks, string(r.Kind)+" "+r.Role+" "+string(r.Values["endpoint"]))
	}
	return strings.Join(asks, ", ")
}

func TestRetryAsksForTheRoleAndForWhatFailedBecauseOfIt(t *testing.T) {
	d := newDesk(t)
	db, app := d.failed(t)
	out, err := d.on(t, newRetryCommand, "db")
	if want := "db.mysql runs again.\napp.web also runs again: it failed because of it.\n"; err != nil || out != want {
		t.Errorf("%v\n%swant\n%s", err, out, want)
	}
	if db, app := asksFor(t, db), asksFor(t, app); db != "retry mysql " || app != "retry web " {
		t.Errorf("db is asked for %q, app for %q", db, app)
	}
	for _, cell := range []contract.CellName{"app.web", "app.web:port"} {
		if record, err := app.Cell(t.Context(), cell); err != nil || record.State != protocol.Empty {
			t.Errorf("%s is %v, %v", cell, record.State, err)
		}
	}
	if record, err := app.Cell(t.Context(), "app.base"); err != nil || record.State != protocol.Valued {
		t.Errorf("app.base is %v, %v", record.State, err)
	}
}

func TestRetryWithSkip(t *testing.T) {
	d := newDesk(t)
	db, app := d.failed(t)
	out, err := d.on(t, newRetryCommand, "db.mysql", "--skip", "--output", "endpoint=mysql://by-hand", "--json")
	if err != nil || !strings.Contains(out, `"db.mysql"`) {
		t.Errorf("%v\n%s", err, out)
	}
	if db, app := asksFor(t, db), asksFor(t, app); db != `skip mysql "mysql://by-hand"` || app != "retry web " {
		t.Errorf("db is asked for %q, app for %q", db, app)
	}
}

func TestRetryRefusesWhatWouldComeToNothing(t *testing.T) {
	d := newDesk(t)
	d.failed(t)
	for _, c := range []struct {
		args  []string
		code  source.Code
		texts []string
	}{
		{[]string{"app.web"}, source.OperationFailed, []string{"app.web failed because db.mysql did", "hotc retry site db.mysql"}},
		{[]string{"app.base"}, source.OperationFailed, []string{"app.base has not failed: it is done"}},
		{[]string{"lb"}, source.OperationFailed, []string{"no role of server lb has failed"}},
		{[]string{"db.mysq"}, source.UnknownName, []string{"has no role mysq", "did you mean db.mysql?"}},
		{[]string{"db.mysql", "--skip"}, source.Usage, []string{"outputs without a value: endpoint"}},
		{[]string{"db.mysql", "--skip", "--output", "endpont=x"}, source.UnknownName, []string{"no output endpont", "did you mean endpoint?"}},
		{[]string{"db.mysql", "--skip", "--outputs", "nowhere.json"}, source.Usage, []string{"cannot read the outputs"}},
	} {
		_, err := d.on(t, newRetryCommand, c.args...)
		expectCode(t, err, c.code, c.texts...)
	}
}

// What a failed attempt has published is taken back; who has read it, and would keep it, is
// named before the retry starts.
func TestRetryAsksAboutPublishedOutputs(t *testing.T) {
	for _, c := range []struct {
		name             string
		idempotent, read bool
	}{
		{"read by a role that does not follow it", false, true},
		{"read, and the role vouches for the same value", true, true},
		{"not read yet", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			dir := "testdata/site"
			if c.idempotent {
				dir = idempotentSite(t)
			}
			if _, err := d.on(t, newApplyCommand, dir); err != nil {
				t.Fatal(err)
			}
			app, lb := d.agent(t, "app"), d.agent(t, "lb")
			cause := &protocol.Cause{Role: "app.web", Reason: "interrupted: the agent was ended"}
			put(t, app, "app.base", `null`)
			put(t, app, "app.web:port", `8080`)
			report(t, app, map[contract.CellName]*protocol.Cause{"app.web": cause}, done("base"), failure("web", cause, ""))
			want := "app.web runs again.\n"
			if c.read {
				report(t, lb, nil, done("proxy"))
				want += "app.web:port is withdrawn; a role that has read it and does not follow it keeps the value that it read.\n"
			}
			if c.read && !c.idempotent {
				_, err := d.on(t, newRetryCommand, "app.web")
				expectCode(t, err, source.OperationFailed, "app.web published outputs before it failed", "app.web:port was published at", "lb.proxy would keep that value", "--yes", "--skip", "watch: true")
				if asked := asksFor(t, app); asked != "" {
					t.Fatalf("the agent was asked for %s before anybody decided", asked)
				}
			}
			out, err := d.on(t, newRetryCommand, "app.web", map[bool]string{true: "--yes", false: "--json=false"}[c.read && !c.idempotent])
			if err != nil || out != want {
				t.Errorf("%q, %v, want %q", out, err, want)
			}
		})
	}
	t.Run("skipped", func(t *testing.T) { // it does not run, and has all its outputs
		d := newDesk(t)
		d.apply(t)
		app := d.agent(t, "app")
		cause := &protocol.Cause{Role: "app.web", Reason: "interrupted"}
		put(t, app, "app.base", `null`)
		put(t, app, "app.web:port", `8080`)
		report(t, app, map[contract.CellName]*protocol.Cause{"app.web": cause}, done("base"), failure("web", cause, ""))
		if out, err := d.on(t, newRetryCommand, "app.web", "--skip"); err != nil || out != "app.web is marked as done.\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

// idempotentSite is testdata/site with a role app.web that may run again.
func idempotentSite(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "plan.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), `"name": "web",`, `"name": "web", "idempotent": true,`, 1)
	if changed == string(text) {
		t.Fatal("the plan has no role web")
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
