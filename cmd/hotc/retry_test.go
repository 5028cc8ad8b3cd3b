package main

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// failed has db.mysql failed, and app.web because of it.
func (d *desk) failed(t *testing.T) (db, app *coordinator.Member) {
	t.Helper()
	d.apply(t)
	db, app = d.agent(t, "db"), d.agent(t, "app")
	first := &coordinator.Cause{Role: "db.mysql", Reason: "exit status 7", At: "site.yaml:12:13"}
	second := &coordinator.Cause{Role: "app.web", Reason: "blocked on db.mysql:endpoint (input db)", At: "site.yaml:22:15", Cause: first}
	report(t, db, map[plan.CellName]*coordinator.Cause{"db.mysql": first, "db.mysql:endpoint": first}, failure("mysql", first, ""))
	put(t, app, "app.base", `null`)
	report(t, app, map[plan.CellName]*coordinator.Cause{"app.web": second, "app.web:port": second}, done("base"), failure("web", second, ""))
	return db, app
}

func asksFor(t *testing.T, m *coordinator.Member) string {
	t.Helper()
	requests, err := m.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var asks []string
	for _, r := range requests {
		asks = append(asks, string(r.Kind)+" "+r.Role+" "+string(r.Values["endpoint"]))
	}
	return strings.Join(asks, ", ")
}

func TestRetryAsksForTheRoleAndForWhatFailedBecauseOfIt(t *testing.T) {
	d := newDesk(t)
	db, app := d.failed(t)
	out, err := d.on(t, newRetryCommand, "db")
	if want := "db.mysql runs again.\napp.web runs again, too: it failed because of it.\n"; err != nil || out != want {
		t.Errorf("%v\n%swant\n%s", err, out, want)
	}
	if db, app := asksFor(t, db), asksFor(t, app); db != "retry mysql " || app != "retry web " {
		t.Errorf("db is asked for %q, app for %q", db, app)
	}
	for _, cell := range []plan.CellName{"app.web", "app.web:port"} {
		if record, err := app.Cell(t.Context(), cell); err != nil || record.State != coordinator.Empty {
			t.Errorf("%s is %v, %v", cell, record.State, err)
		}
	}
	if record, err := app.Cell(t.Context(), "app.base"); err != nil || record.State != coordinator.Valued {
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
		{[]string{"app.web"}, source.OperationFailed, []string{"app.web failed because db.mysql did", "hotc retry db.mysql"}},
		{[]string{"app.base"}, source.OperationFailed, []string{"app.base has not failed: it is done"}},
		{[]string{"lb"}, source.OperationFailed, []string{"no role of server lb has failed"}},
		{[]string{"db.mysq"}, source.UnknownName, []string{"has no role mysq", "did you mean db.mysql?"}},
		{[]string{"db.mysql", "--skip"}, source.Usage, []string{"outputs that nobody gives: endpoint"}},
		{[]string{"db.mysql", "--skip", "--output", "endpont=x"}, source.UnknownName, []string{"no output endpont", "did you mean endpoint?"}},
		{[]string{"db.mysql", "--skip", "--outputs", "nowhere.json"}, source.Usage, []string{"cannot be read"}},
	} {
		_, err := d.on(t, newRetryCommand, c.args...)
		expectCode(t, err, c.code, c.texts...)
	}
}
