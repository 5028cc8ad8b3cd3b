//go:build e2e

package bed_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// says expects parts of `hotc status`, whatever its columns.
func (d *deployment) says(parts ...string) {
	d.t.Helper()
	text := d.on("status")
	words := strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(words, part) {
			d.t.Errorf("hotc status does not say %q:\n%s", part, text)
		}
	}
}

// stackOf is the name of the stack, nested or not, in which Heat has a machine.
func (d *deployment) stackOf(id string) string {
	d.t.Helper()
	for line := range strings.Lines(openstack(d.t, d.world, "stack", "resource", "list", "-n", "5", d.name, "-f", "value", "-c", "physical_resource_id", "-c", "stack_name")) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == id {
			return words[1]
		}
	}
	d.t.Fatalf("Heat has no machine %s", id)
	return ""
}

// Members are replaced, and a balancer follows: one that was marked unhealthy, one that Heat finds to be gone, and
// then all of them in a rolling update. Heat is complete only when the balancer has whom Heat has;
// who is gone is never in its list again; and it always has somebody to send requests to.
func TestRelayBalancerFollowsReplacedMembers(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/joining.yaml", "replaced")
	d.relay()
	open(t, d.machine("app/0", nil), "go")
	d.ends("CREATE_COMPLETE")
	d.balances("web/0", "web/1", "app/0")
	gone := map[string]int{} // since which list
	replaced := func(path string, old *bed.Server) {
		t.Helper()
		lists := d.listed()
		now := d.status()[path]
		if now.Instance == old.ID || !strings.Contains(lists[len(lists)-1], now.Instance) {
			t.Errorf("the stack is complete, %s is %s and was %s, and the balancer has %q", path, now.Instance, old.ID, lists[len(lists)-1])
		}
		until(t, "the balancer to be without the old machine", func() bool { return !strings.Contains(d.balanced(), old.ID) })
		gone[old.ID] = len(d.listed()) - 1
		for i, list := range d.listed() {
			if !strings.Contains(list, " ") {
				t.Errorf("the balancer's list %d has less than two members: %q", i, list)
			}
			for id, since := range gone {
				if i >= since && strings.Contains(list, id) {
					t.Errorf("%s is gone, and in the balancer's list %d again: %q", id, i, list)
				}
			}
		}
	}

	first := d.machine("web/0", nil)
	openstack(t, d.world, "stack", "resource", "mark", "unhealthy", d.stackOf(first.ID), "server", "it smokes")
	d.stack.Update(t, d.with())
	d.ends("UPDATE_COMPLETE")
	replaced("web/0", first)
	d.balances("web/0", "web/1", "app/0")
	d.says("web/0 join done", "balancer proxy done", "4 roles: 4 done")

	second := d.machine("web/1", nil)
	d.bed.Oracle.LoseServer(t, second.ID)
	until(t, "its agent to be gone", func() bool { return !d.status()["web/1"].Alive })
	if list := d.balanced(); !strings.Contains(list, second.ID) {
		t.Errorf("Heat has not said that %s is gone, and the balancer has %q", second.ID, list)
	}
	d.says("web/1 - gone")
	openstack(t, d.world, "stack", "check", d.name)
	d.ends("CHECK_FAILED")
	d.stack.Update(t, d.with())
	d.ends("UPDATE_COMPLETE")
	replaced("web/1", second)
	d.balances("web/0", "web/1", "app/0")
	d.says("web/1 join done", "4 roles: 4 done")

	before := map[string]*bed.Server{}
	for _, path := range []string{"web/0", "web/1", "app/0"} {
		before[path] = d.machine(path, nil)
	}
	d.stack.Update(t, d.with("batch", "b"))
	open(t, d.machine("app/0", before["app/0"]), "go")
	d.ends("UPDATE_COMPLETE")
	for path, old := range before {
		replaced(path, old)
	}
	d.balances("web/0", "web/1", "app/0")
	for _, r := range d.stack.Resources(t) {
		if r.Type == "OS::Nova::Server" && slices.ContainsFunc([]string{"web/0", "web/1", "app/0"}, func(p string) bool { return before[p].ID == r.ID }) {
			t.Errorf("Heat still has %s", r.ID)
		}
	}
	d.says("4 roles: 4 done")
}
