//go:build e2e

package bed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A balancer runs without a member that leaves its group before the member's delete hook does.
func TestBalancerDropsAMemberBeforeItsDeleteHook(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/draining.yaml", "draining")
	r := d.relay()
	d.ends("CREATE_COMPLETE")
	balancer := d.server("balancer")
	members := map[string]string{}
	for _, path := range d.members("app") {
		members[path] = d.status()[path].Instance
	}
	openstack(t, d.world, "stack", "resource", "signal", d.name, "less")
	r.tells(t, "first the roles that follow it run without it: balancer.proxy", 1)
	until(t, "the balancer's hook to run", func() bool { return strings.Contains(d.on("status"), "updating") })
	for path := range members {
		if _, err := d.machine(path, nil).Read("var/lib/gone"); err == nil {
			t.Errorf("the delete hook of %s has run before the balancer has dropped it", path)
		}
	}
	open(t, balancer, "go")
	r.tells(t, "its delete hooks have run", 1)
	until(t, "one member", func() bool { return len(d.members("app")) == 1 })
	text, err := balancer.Read("var/lib/lists")
	do(t, err)
	if lists := strings.Split(strings.TrimSpace(text), "\n"); len(lists) != 2 || lists[1] != members[d.members("app")[0]] {
		t.Errorf("of %v the balancer had %q", members, lists)
	}
	openstack(t, d.world, "stack", "delete", "--yes", d.name) // the relay has the other hook run
	d.ends("DELETE_COMPLETE")
}

// hotc up announces that a condition of Heat's removes a server, runs its delete hook first, and names
// the reader that runs: with the parameter's default, and with -P.
func TestUpSwitchesAServerOff(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("switched")
	text, err := os.ReadFile("testdata/switched.yaml")
	do(t, err)
	template := filepath.Join(t.TempDir(), "site.yaml")
	is := func(cached string) {
		do(t, os.WriteFile(template, []byte(strings.Replace(string(text), "CACHED", cached, 1)), 0o600))
	}
	is("true")
	o.expect(0, up(template, "switched"), "CREATE_COMPLETE", "url = redis")
	is("false")
	o.expect(0, up(template, "switched", "--yes"), "Heat deletes cache", "cache.redis: its delete hook runs first", "web.app: cache is removed", "it runs again",
		"cache.redis: the delete hook is done", "UPDATE_COMPLETE")
	is("true")
	o.expect(0, up(template, "switched", "--yes"), "Heat creates cache", "web.app: cache is added", "UPDATE_COMPLETE", "url = redis")
	o.expect(0, up(template, "switched", "--yes", "-P", "cached=false"), "cache.redis: the delete hook is done", "UPDATE_COMPLETE", "url = null", "the output url is null: the stack has no cache now")
}
