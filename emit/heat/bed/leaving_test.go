//go:build e2e

package bed_test

import (
	"strings"
	"testing"
)

// tells waits until a relay has said something so many times.
func (r *runningRelay) tells(t *testing.T, what string, times int) {
	t.Helper()
	until(t, "the relay to say "+what, func() bool { return strings.Count(r.said.String(), what) >= times })
}

// Heat waits with each member that leaves its group until its delete hooks have run, which the
// relay has the members' agents do: by a plain update of the stack, and by a policy; and it goes on
// where a hook fails.
func TestRelayMembersLeave(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/leaving.yaml", "leaving")
	r := d.relay()
	d.ends("CREATE_COMPLETE")
	openstack(t, d.world, "stack", "update", "--existing", "--parameter", "size=2", d.name)
	d.ends("UPDATE_COMPLETE")
	if said := r.said.String(); strings.Count(said, "Heat continues with web/2/server: its delete hooks have run") != 1 || strings.Count(said, "Heat continues") != 1 {
		t.Error("Heat has not gone on with web/2/server, and it alone")
	}
	openstack(t, d.world, "stack", "resource", "signal", d.name, "less")
	r.tells(t, "its delete hooks have run", 2)
	until(t, "two members", func() bool { return len(d.members("app")) == 2 })
	for _, path := range d.members("app") {
		open(t, d.machine(path, nil), "stuck")
	}
	openstack(t, d.world, "stack", "resource", "signal", d.name, "less")
	r.tells(t, "a delete hook failed: app/", 1)
	until(t, "one member", func() bool { return len(d.members("app")) == 1 })
	openstack(t, d.world, "stack", "delete", "--yes", d.name) // a relay has the hooks run for that, too
	d.ends("DELETE_COMPLETE")
}

// members are the paths of a group's servers whose agents are there.
func (d *deployment) members(group string) (paths []string) {
	d.t.Helper()
	for path, s := range d.status() {
		if strings.HasPrefix(path, group+"/") && s.Alive {
			paths = append(paths, path)
		}
	}
	return paths
}

// hotc up makes a group smaller: the plan has the members no more, whose hooks it has run before.
func TestUpMembersLeave(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upleaves")
	o.expect(0, up("testdata/leaving.yaml", "upleaves"), "CREATE_COMPLETE")
	o.expect(0, up("testdata/leaving.yaml", "upleaves", "--yes", "-P", "size=1"), "web/2/server.serve: the delete hook is done", "Heat continues with web/1/server", "Heat continues with web/2/server", "UPDATE_COMPLETE")
	o.expect(0, []string{"down", "upleaves", "--yes"}, "upleaves is deleted: the stack and the deployment.")
}
