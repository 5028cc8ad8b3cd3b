//go:build e2e

package bed_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A role's run-time value becomes the property of a resource that another server
// needs. The role fails at first: the stack fails with its reason, and the other
// server does not boot. The operator mends the cause, has the role run again, and
// updates the stack.
func TestValueInAProperty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "testdata/crossing.yaml")
	d := w.deploy("crossing")
	db := d.server("db")
	if s := d.stack.Wait(t); s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "/tmp/open is missing") {
		t.Errorf("%s: %s", s, s.Reason)
	}
	for _, s := range d.stack.Booted(t) {
		if s.Path != "db" {
			t.Errorf("%s has booted without the value that it needs", s.Path)
		}
	}
	const label = `a "label" of the žluťoučký 🐎`
	open(t, db, label)
	d.on("retry", "db.sizes")
	d.await("db", "sizes", "done")
	until(t, "Heat to know", func() bool {
		log, _ := db.Read("var/log/hotc-agent.log")
		return strings.Contains(log, "signalled Heat about db.sizes: SUCCESS")
	})
	d.stack.Update(t, w.input(w.dir))
	if s := d.stack.Wait(t); s.String() != "UPDATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	expectFile(t, db, "var/lib/runs", "sizes\nsizes\n")
	expectFile(t, d.server("web"), "var/lib/value", label+" 17")
	outputs := d.stack.Outputs(t)
	for name, want := range map[string]any{"size": 17.0, "name": label, "label": label} {
		var got any
		do(t, json.Unmarshal(outputs[name].Value, &got))
		if got != want {
			t.Errorf("the output %s is %v, not %v", name, got, want)
		}
	}
	if fresh := d.server("db"); fresh.ID != db.ID {
		t.Error("the update has replaced db")
	}
}
