//go:build e2e

package bed_test

import (
	"slices"
	"strings"
	"testing"
)

// listed are the lists that the balancer has had, the last one last.
func (d *deployment) listed() []string {
	d.t.Helper()
	text, err := d.server("balancer").Read("var/lib/lists")
	do(d.t, err)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// balanced is the balancer's last list.
func (d *deployment) balanced() string {
	lists := d.listed()
	return lists[len(lists)-1]
}

// balances waits until the balancer's list is of the machines that some servers are now.
func (d *deployment) balances(paths ...string) {
	d.t.Helper()
	var got, want string
	defer func() {
		if d.t.Failed() {
			d.t.Logf("the balancer has %q, want %q", got, want)
		}
	}()
	until(d.t, "the balancer to have "+strings.Join(paths, " "), func() bool {
		now := d.status()
		var ids []string
		for _, path := range paths {
			ids = append(ids, now[path].Instance)
		}
		got, want = d.balanced(), strings.Join(ids, " ")
		return got == want
	})
	d.await("balancer", "proxy", "done")
}

// A balancer follows its groups: a ResourceGroup 2→3→1→2 by updates of the stack, and an
// AutoScalingGroup by policies, past a member that fails. What is gone is never in its list again.
func TestRelayBalancerFollowsGroups(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/joining.yaml", "joining")
	d.relay()
	open(t, d.machine("app/0", nil), "go")
	d.ends("CREATE_COMPLETE")
	d.balances("web/0", "web/1", "app/0")

	d.stack.Update(t, d.with("size", 3))
	d.ends("UPDATE_COMPLETE")
	third := d.status()["web/2"].Instance
	if list := d.balanced(); !strings.Contains(list, third) {
		t.Errorf("the stack is complete, and the balancer has %q, without %s", list, third)
	}
	d.balances("web/0", "web/1", "web/2", "app/0")
	second := d.status()["web/1"]
	d.stack.Update(t, d.with("size", 1))
	d.ends("UPDATE_COMPLETE")
	d.balances("web/0", "app/0")
	d.says("web/1 - left Heat has removed its machine from its group", "web/2 - left", "3 roles: 3 done")
	left := len(d.listed())
	d.stack.Update(t, d.with("size", 2))
	d.ends("UPDATE_COMPLETE")
	d.balances("web/0", "web/1", "app/0")
	if again := d.status()["web/1"]; again.Incarnation != second.Incarnation+1 || again.Instance == second.Instance {
		t.Errorf("web/1 was %+v, and is %+v", second, again)
	}
	for _, list := range d.listed()[left:] {
		if strings.Contains(list, second.Instance) || strings.Contains(list, third) {
			t.Errorf("somebody who is gone is in the list again: %q", list)
		}
	}

	openstack(t, d.world, "stack", "resource", "signal", d.name, "more") // by two
	failing := d.machine("app/1", nil)
	open(t, failing, "fail")
	d.await("app/1", "join", "failed")
	open(t, d.machine("app/2", nil), "go")
	d.balances("web/0", "web/1", "app/0", "app/2")
	d.says("app/1 join failed", "app/2 join done", "balancer proxy done")
	if s := d.stack.Status(t); s.String() != "UPDATE_COMPLETE" { // a policy does not touch it
		t.Errorf("the stack is %s: %s", s, s.Reason)
	}
	open(t, failing, "go")
	d.on("retry", "app/1.join")
	d.balances("web/0", "web/1", "app/0", "app/1", "app/2")
	openstack(t, d.world, "stack", "resource", "signal", d.name, "less")
	until(t, "the balancer to have whom Heat has", func() bool {
		var has []string
		for _, r := range d.stack.Resources(t) {
			if r.Type == "OS::Nova::Server" && r.Path != "balancer" {
				has = append(has, r.ID)
			}
		}
		list := strings.Fields(d.balanced())
		slices.Sort(has)
		slices.Sort(list)
		return len(has) < 5 && slices.Equal(has, list)
	})
}
