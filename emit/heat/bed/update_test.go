//go:build e2e

package bed_test

import (
	"slices"
	"strings"
	"testing"
)

// A live deployment's roles are changed: Heat, by its own preview, replaces no server
// and by its update none, and `hotc apply` has the hook run where the role had. A
// restarted server runs nothing again.
func TestChangedInPlace(t *testing.T) {
	t.Parallel()
	theBed(t)
	w := worldOn(t, place.zk.URL("hotc"), "testdata/changing.yaml", "-P", "level=1")
	d := w.deploy("changing")
	d.stack.Complete(t)
	ids := map[string]string{}
	for _, s := range d.stack.Booted(t) {
		ids[s.Path] = s.ID
	}
	expectFile(t, d.server("db"), "var/lib/count", "run 1\n")
	next := w.compile("testdata/changing.yaml", "-P", "level=2")
	c := d.stack.Preview(t, w.input(next))
	for _, name := range []string{"db", "worker"} {
		if slices.Contains(c.Replaced, name) || slices.Contains(c.Deleted, name) {
			t.Errorf("the update would replace %s: %+v", name, c)
		}
	}
	d.stack.Update(t, w.input(next))
	if s := d.stack.Wait(t); s.String() != "UPDATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	if out := d.on("apply", next); !strings.Contains(out, "db.base: input level changes (parameter level): its update hook runs.") || strings.Contains(out, "worker.work") {
		t.Errorf("apply says:\n%s", out)
	}
	d.awaitUpdated("db", "base")
	updated := "run 1\nupdate 2 with level=2\n"
	expectFile(t, d.server("db"), "var/lib/count", updated)
	expectFile(t, d.server("worker"), "var/lib/count", "up")
	for _, s := range d.stack.Booted(t) {
		if ids[s.Path] != s.ID {
			t.Errorf("%s was replaced", s.Path)
		}
	}
	d.on("apply", next)
	do(t, d.server("db").Reboot())
	d.booted("db")
	d.awaitUpdated("db", "base")
	expectFile(t, d.server("db"), "var/lib/count", updated)
}

// awaitUpdated waits until a role's hook update is done, and its agent there.
func (d *deployment) awaitUpdated(server, role string) {
	d.t.Helper()
	until(d.t, "the update of "+server+"."+role, func() bool {
		s := d.status()[server]
		for _, r := range s.Roles {
			if r.Name == role && s.Alive && s.Phase == "done" {
				return r.Update.Status == "done" && !r.ToUpdate
			}
		}
		return false
	})
}
