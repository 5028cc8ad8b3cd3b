//go:build e2e

package bed_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// Who tells Heat changes by an update of the stack, and no server is replaced: from agents to
// a relay, which knows at once how the roles of all servers stand; back, where Heat waits for
// servers that have no credentials; and once more to a relay, which gets the stack out of that.
func TestSwitchWhoTellsHeat(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/relayed.yaml").owned("switch")
	open(t, d.machine("db", nil), "value")
	d.ends("CREATE_COMPLETE")
	ids := map[string]string{}
	for path, s := range d.status() {
		ids[path] = s.Instance
	}
	same := func() {
		t.Helper()
		for path, s := range d.status() {
			if s.Instance != ids[path] || s.Incarnation > 1 {
				t.Errorf("%s is another server: %+v, and was %s", path, s, ids[path])
			}
		}
		if got := string(d.stack.Outputs(t)["value"].Value); got != `"value"` {
			t.Errorf("the output is %s", got)
		}
	}
	agents, relays := d.dir, d.compile("testdata/relayed.yaml", "--signal=relay")
	d.stack.Update(t, d.input(relays))
	d.on("apply", relays)
	d.relay()
	d.ends("UPDATE_COMPLETE")
	same()

	d.stack.Update(t, d.input(agents))
	d.on("apply", agents)
	for range 5 {
		time.Sleep(time.Second)
		if s := d.stack.Status(t); s.String() != "UPDATE_IN_PROGRESS" {
			t.Fatalf("servers without credentials have told Heat, or it does not wait for them: %s: %s", s, s.Reason)
		}
	}
	d.stack.Update(t, d.input(relays))
	d.on("apply", relays)
	d.ends("UPDATE_COMPLETE")
	same()
}

// Heat answers no server, from the first one's boot to the end: with a relay nothing of it is
// missed. This test runs beside no other.
func TestRelayWhileServersDoNotReachHeat(t *testing.T) {
	b := theBed(t)
	var ports []string
	for _, address := range []string{b.Judge.Endpoints.AuthURL, b.Judge.Endpoints.HeatURL} {
		u, err := url.Parse(address)
		do(t, err)
		ports = append(ports, u.Port())
	}
	for _, port := range ports {
		do(t, b.Silence(port, true))
	}
	t.Cleanup(func() {
		for _, port := range ports {
			do(t, b.Silence(port, false))
		}
	})
	d := relayed(t, "testdata/relayed.yaml", "unreached")
	d.relay()
	db := d.machine("db", nil)
	if out, err := db.Exec(t.Context(), "python3", "-c", "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2)", b.Judge.Endpoints.AuthURL); err == nil || !strings.Contains(err.Error(), "timed out") {
		t.Fatalf("the server reaches Keystone: %s %v", out, err)
	}
	open(t, db, "first")
	d.ends("CREATE_COMPLETE")
	d.stack.Update(t, d.with("batch", "b"))
	open(t, d.machine("db", db), "fail")
	d.ends("UPDATE_FAILED", "db.gate: exit status 3")
}
