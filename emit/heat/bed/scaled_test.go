//go:build e2e

package bed_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/bed"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// sized is what Heat gets for a group of so many members.
func (d *deployment) sized(capacity int) heattest.Input {
	in := d.input(d.dir)
	in.Parameters = map[string]any{"capacity": capacity}
	return in
}

// slot waits until the member in a slot has run its roles, and gives its machine.
func (d *deployment) slot(number int) *bed.Server {
	d.t.Helper()
	path := fmt.Sprintf("app/%d", number)
	d.await(path, "count", "done")
	s, err := d.bed.Server(d.status()[path].Instance)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// A group whose members Heat names: an update, and a policy, make it larger, and each new
// member runs its roles in a slot of its own while the others go on; a reboot leaves a
// member in its slot; and a stack that is made anew begins with the first one.
func TestScaledGroup(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/scaled.yaml").deploy("scaled")
	d.stack.Complete(t)
	first, second := d.slot(0), d.slot(1)
	if first == second {
		t.Fatal("two members have one slot")
	}
	var names []string
	if err := json.Unmarshal(d.stack.Outputs(t)["names"].Value, &names); err != nil || len(names) != 2 {
		t.Errorf("names: %v %v", names, err)
	}

	d.stack.Signal(t, "more")
	third := d.slot(2)
	do(t, first.Reboot())
	d.rebooted("app/0", first, 2)
	d.stack.Update(t, d.sized(3))
	if s := d.stack.Wait(t); s.String() != "UPDATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	if now := d.slot(0); now != first {
		t.Errorf("the first slot is that of %s, and was that of %s", now.Name, first.Name)
	}
	for _, s := range []*bed.Server{first, second, third} {
		expectFile(t, s, "var/lib/runs", "run\n")
	}

	d.stack.Update(t, d.sized(1))
	if s := d.stack.Wait(t); s.String() != "UPDATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	until(t, "two members to be gone", func() bool {
		alive := 0
		for _, s := range d.status() {
			if s.Alive {
				alive++
			}
		}
		return alive == 1
	})

	d.stack.Delete(t)
	again := d.create("scaled")
	again.stack.Complete(t)
	for _, path := range []string{"app/0", "app/1"} {
		if s := again.status()[path]; s.Incarnation != 2 || !s.Alive {
			t.Errorf("after the stack was made anew %s is %+v", path, s)
		}
	}
}
