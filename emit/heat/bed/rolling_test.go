//go:build e2e

package bed_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// Both kinds of group are updated member by member: Heat begins with the next one when the
// roles of the one before are done.
func TestRelayRollsGroups(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/rolling.yaml", "rolling")
	d.relay()
	d.ends("CREATE_COMPLETE")
	paths := []string{"web/0", "web/1", "app/0", "app/1"}
	before := map[string]string{}
	for path, s := range d.status() {
		before[path] = s.Instance
	}
	d.stack.Update(t, d.with("batch", "b"))
	for range 2 { // of each group one
		var begun []string
		until(t, "a member of each group", func() bool {
			begun = nil
			now := d.status()
			for _, path := range paths {
				if now[path].Instance != before[path] && d.roleOf(now, path) == "running" {
					begun = append(begun, path)
				}
			}
			return len(begun) == 2
		})
		for range 3 {
			time.Sleep(time.Second) // Heat looks once a second
			now := d.status()
			for _, path := range paths {
				if !slices.Contains(begun, path) && now[path].Instance != before[path] {
					t.Fatalf("%s is replaced while %v have not run their roles", path, begun)
				}
			}
			if s := d.stack.Status(t); s.String() != "UPDATE_IN_PROGRESS" {
				t.Fatalf("%v run their roles, and the stack is %s", begun, s)
			}
		}
		now := d.status()
		for _, path := range begun {
			s, err := d.bed.Server(now[path].Instance)
			do(t, err)
			open(t, s, "go")
			before[path] = now[path].Instance
		}
	}
	d.ends("UPDATE_COMPLETE")
}

// roleOf is how the only role of a server stands.
func (d *deployment) roleOf(now map[string]standing, path string) string {
	if roles := now[path].Roles; len(roles) == 1 {
		return roles[0].Status
	}
	return ""
}

// A policy adds a member, whose role fails: the group says so, and the stack above, which
// Heat does not touch, stays as it was. The next update mends it.
func TestRelayScalingPolicy(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/rolling.yaml", "policy", "batch=b")
	d.relay()
	for _, path := range []string{"app/0", "app/1", "web/0", "web/1"} {
		open(t, d.machine(path, nil), "go")
	}
	d.ends("CREATE_COMPLETE")
	openstack(t, d.world, "stack", "resource", "signal", d.name, "more") // as an alarm does, which does not wait
	third := d.machine("app/2", nil)
	d.await("app/2", "join", "running")
	open(t, third, "fail")
	until(t, "the member's stack to have failed", func() bool {
		return slices.ContainsFunc(d.stack.Resources(t), func(r heattest.Resource) bool {
			return strings.HasPrefix(r.Path, "app/") && r.Name == "hotc_done" && strings.Contains(r.Reason, "app/2.join: exit status 3")
		})
	})
	if s := d.stack.Status(t); s.String() != "CREATE_COMPLETE" {
		t.Errorf("the stack is %s: %s", s, s.Reason)
	}
	open(t, third, "go")
	d.on("retry", "app/2.join")
	d.await("app/2", "join", "done")
	d.stack.Update(t, d.with("batch", "b"))
	d.ends("UPDATE_COMPLETE")
	for _, r := range d.stack.Resources(t) {
		if r.Status != "COMPLETE" {
			t.Errorf("%s is %s_%s: %s", r.Path, r.Action, r.Status, r.Reason)
		}
	}
}
