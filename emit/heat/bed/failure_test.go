//go:build e2e

package bed_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whoever waits for a role that fails stops at once, with the reason, and so does
// the stack.
func TestFailureStopsWhoWaits(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/failing.yaml").deploy("failing")
	broken := d.server("broken")
	for _, name := range []string{"near1", "near2", "far"} {
		d.await(name, "waits", "blocked")
	}
	open(t, broken, "")
	s := d.stack.Wait(t)
	if s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "broken.disk") || !strings.Contains(s.Reason, "the disk is on fire") {
		t.Errorf("%s: %s", s, s.Reason)
	}
	for _, name := range []string{"near1", "near2", "far"} {
		d.await(name, "waits", "failed")
	}
	servers := d.status()
	failed := servers["broken"].Roles[0].Ended
	for _, name := range []string{"near1", "near2", "far"} {
		role := servers[name].Roles[0]
		if after := role.Ended.Sub(failed); after > time.Minute { // what a lost agent is waited for is five times as long
			t.Errorf("%s stopped %v after the failure", name, after)
		} else {
			t.Logf("%s stopped %v after the failure", name, after)
		}
	}
	if got := servers["far"].Roles[1].Status; got != "skipped" {
		t.Errorf("the role after a failed one is %q", got)
	}
	if _, err := d.server("far").Read("var/lib/runs"); err == nil {
		t.Error("the role after a failed one has run")
	}
	why := d.on("why", "far.waits")
	for _, part := range []string{"far.waits", "near1.waits", "broken.disk", "the disk is on fire"} {
		if !strings.Contains(why, part) {
			t.Errorf("hotc why far.waits does not say %q:\n%s", part, why)
		}
	}
}

// An agent that is killed in the middle of a role is started again. The role has
// failed as interrupted, unless it may be run again.
func TestAgentKilledInARole(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/interrupted.yaml").deploy("interrupted")
	once, again := d.server("once"), d.server("again")
	d.await("once", "slow", "running")
	d.await("again", "slow", "running")
	if n, err := again.Kill(syscall.SIGKILL, "hotc-agent", "run"); n != 1 || err != nil {
		t.Fatalf("%d agents were killed: %v", n, err)
	}
	until(t, "the idempotent role to run again", func() bool {
		runs, _ := again.Read("var/lib/runs")
		return runs == "run\nrun\n"
	})
	open(t, again, "")
	d.await("again", "slow", "done")
	if n, err := once.Kill(syscall.SIGKILL, "hotc-agent", "run"); n != 1 || err != nil {
		t.Fatalf("%d agents were killed: %v", n, err)
	}
	s := d.stack.Wait(t)
	if s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "once.slow: interrupted") {
		t.Errorf("%s: %s", s, s.Reason)
	}
	expectFile(t, once, "var/lib/runs", "run\n")
	expectFile(t, again, "var/lib/runs", "run\nrun\n")
	if left, err := once.Kill(syscall.SIGCONT, "sleep", "0.1"); left > 0 {
		t.Errorf("what the interrupted role had started still runs (%v)", err)
	}
}
