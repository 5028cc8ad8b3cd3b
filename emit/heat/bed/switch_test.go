//go:build e2e

package bed_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Who tells Heat changes by an update of the stack, and no server is replaced: from agents to
// a relay, which knows at once how the roles of all servers stand; back to agents, where the
// relay tells in the place of servers that have no credentials for the new handle, with what
// they wrote; to nobody, and to a relay again.
func TestSwitchWhoTellsHeat(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/relayed.yaml").owned("switch")
	open(t, d.machine("db", nil), "value")
	d.ends("CREATE_COMPLETE")
	ids := map[string]string{}
	for path, s := range d.status() {
		ids[path] = s.Instance
	}
	d.relay()
	for _, signal := range []string{"relay", "heat", "relay", "none", "relay"} {
		template := "testdata/relayed.yaml"
		if signal == "none" {
			template = withoutOutputs(t, template)
		}
		next := d.compile(template, "--signal="+signal)
		if out := d.on("apply", next); signal == "heat" && !strings.Contains(out, "have no credentials to report this to Heat") {
			t.Errorf("from a relay to agents:\n%s", out)
		}
		d.stack.Update(t, d.input(next))
		d.ends("UPDATE_COMPLETE")
		for path, s := range d.status() {
			if s.Instance != ids[path] || s.Incarnation > 1 {
				t.Errorf("%s is another server: %+v, and was %s", path, s, ids[path])
			}
		}
		if got := string(d.stack.Outputs(t)["value"].Value); signal != "none" && got != `"value"` {
			t.Errorf("with %s the output is %s", signal, got)
		}
	}
}

// Who tells Heat changes while Heat waits for a role of its own: what reads the role's value gets
// it, neither too early nor never, whether the stack's update comes before the role's end or after.
func TestSwitchWhileARoleIsWaitedFor(t *testing.T) {
	t.Parallel()
	theBed(t)
	for _, from := range []string{"relay", "heat"} {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprint("from ", from, ", updated before the end ", early), func(t *testing.T) {
				t.Parallel()
				w := worldOn(t, place.zk.URL("hotc"), "testdata/copied.yaml", "--signal="+from)
				d := w.owned(fmt.Sprintf("midway-%s-%t", from, early))
				d.relay()
				db := d.machine("db", nil)
				d.await("db", "gate", "running")
				to := map[string]string{"relay": "heat", "heat": "relay"}[from]
				next := d.compile("testdata/copied.yaml", "--signal="+to)
				d.on("apply", next)
				for range 4 {
					time.Sleep(time.Second) // Heat looks once a second
					if s := d.stack.Status(t); s.String() != "CREATE_IN_PROGRESS" {
						t.Fatalf("the role runs, and the stack is %s", s)
					}
				}
				if early {
					d.stack.Update(t, d.input(next))
				}
				open(t, db, "value")
				d.await("db", "after", "done")
				if !early {
					d.ends("CREATE_COMPLETE")
					if got := string(d.stack.Outputs(t)["copied"].Value); got != `"value"` {
						t.Errorf("the output is %s", got)
					}
					d.stack.Update(t, d.input(next))
				}
				d.ends("UPDATE_COMPLETE")
				if got := string(d.stack.Outputs(t)["copied"].Value); got != `"value"` {
					t.Errorf("the output is %s", got)
				}
			})
		}
	}
}

// An update to agents waits for a role of a server that has no credentials for that, and an update
// back to the relay comes over it: the relay ends the wait by the handles, too.
func TestSwitchThereAndBackWhileARoleIsWaitedFor(t *testing.T) {
	t.Parallel()
	theBed(t)
	d := worldOn(t, place.zk.URL("hotc"), "testdata/copied.yaml", "--signal=relay").owned("midway-back")
	d.relay()
	db := d.machine("db", nil)
	d.await("db", "gate", "running")
	for _, signal := range []string{"heat", "relay"} {
		next := d.compile("testdata/copied.yaml", "--signal="+signal)
		d.on("apply", next)
		d.stack.Update(t, d.input(next))
		time.Sleep(2 * time.Second) // Heat comes to some of it
	}
	open(t, db, "value")
	d.ends("UPDATE_COMPLETE")
	if got := string(d.stack.Outputs(t)["copied"].Value); got != `"value"` {
		t.Errorf("the output is %s", got)
	}
}

// The role fails that Heat waits for, after an update to agents has come over the relay's wait: the
// stack does not hang, and is mended by the next update.
func TestSwitchWhileARoleThatFailsIsWaitedFor(t *testing.T) {
	t.Parallel()
	theBed(t)
	d := worldOn(t, place.zk.URL("hotc"), "testdata/copied.yaml", "--signal=relay").owned("midway-fails")
	r := d.relay()
	db := d.machine("db", nil)
	d.await("db", "gate", "running")
	next := d.compile("testdata/copied.yaml", "--signal=heat")
	d.on("apply", next)
	d.stack.Update(t, d.input(next))
	open(t, db, "fail")
	d.ends("UPDATE_FAILED", "db.gate: exit status 3")
	open(t, db, "value")
	d.on("retry", "db.gate", "--yes")
	d.await("db", "after", "done")
	until(t, "Heat to have heard of it", func() bool {
		said := r.said.String()
		return strings.Contains(said, "hotc_done_handle to Heat for server db: SUCCESS") && strings.Contains(said, "hotc_handle_db.gate to Heat for server db: SUCCESS")
	})
	d.stack.Update(t, d.input(next))
	d.ends("UPDATE_COMPLETE")
	if got := string(d.stack.Outputs(t)["copied"].Value); got != `"value"` {
		t.Errorf("the output is %s", got)
	}
}

// withoutOutputs is a template less its stack's outputs, which need somebody who tells Heat.
func withoutOutputs(t *testing.T, template string) string {
	text, err := os.ReadFile(template)
	do(t, err)
	before, _, found := strings.Cut(string(text), "\noutputs:\n")
	if !found {
		t.Fatalf("%s has no outputs", template)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(template))
	do(t, os.WriteFile(path, []byte(before+"\n"), 0o600))
	return path
}

// Heat answers no server, from the first one's boot to the end: with a relay nothing of it is
// missed. This test runs beside no other.
func TestRelayWhileServersDoNotReachHeat(t *testing.T) {
	b := theBed(t)
	var ports []string
	for _, address := range []string{b.Oracle.Endpoints.AuthURL, b.Oracle.Endpoints.HeatURL} {
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
	if out, err := db.Exec(t.Context(), "python3", "-c", "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2)", b.Oracle.Endpoints.AuthURL); err == nil || !strings.Contains(err.Error(), "timed out") {
		t.Fatalf("the server reaches Keystone: %s %v", out, err)
	}
	open(t, db, "first")
	d.ends("CREATE_COMPLETE")
	d.stack.Update(t, d.with("batch", "b"))
	open(t, d.machine("db", db), "fail")
	d.ends("UPDATE_FAILED", "db.gate: exit status 3")
}
