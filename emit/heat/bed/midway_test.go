//go:build e2e

package bed_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// Plain updates of a stack change what Heat gives. In the middle of the first, with a hook running, the
// coordinator's leader is killed, the relay is killed and another one started, and so is the
// agent of a role that is still to be updated: each role runs once all the same. In the middle
// of the second the hook's own agent is killed: Heat fails, and nobody has half of the change. Of
// three updates, each over the one before, the one in between is left out.
func TestRelayUpdatesAmongFaults(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 3)
	d := worldOn(t, zk.URL("hotc"), "testdata/gated.yaml", "--signal=relay").owned("midway", "level=1")
	first := d.relay()
	cache, web := d.machine("cache", nil), d.machine("web", nil)
	d.ends("CREATE_COMPLETE")
	expectFile(t, web, "var/lib/count", "1 cache1\n")
	counts := func(s *bed.Server, last string) func() bool {
		return func() bool { text, _ := s.Read("var/lib/count"); return strings.HasSuffix(text, last+"\n") }
	}

	d.stack.Update(t, d.with("level", "2"))
	until(t, "the hook", counts(cache, "update 2"))
	until(t, "the change to be known", func() bool { return strings.Contains(d.on("status"), "to be updated") })
	d.says("cache store updating", "web app to be updated")
	leader, err := zk.Leader()
	do(t, err)
	do(t, leader.Kill())
	first.kill()
	second := d.relay()
	if n, err := web.Kill(syscall.SIGKILL, "hotc-agent", "run"); n != 1 || err != nil {
		t.Fatalf("%d agents were killed: %v", n, err)
	}
	if s := d.stack.Status(t); s.String() != "UPDATE_IN_PROGRESS" {
		t.Errorf("a hook runs, and the stack is %s", s)
	}
	open(t, cache, "")
	d.ends("UPDATE_COMPLETE")
	expectFile(t, cache, "var/lib/count", "run 1\nupdate 2\n")
	expectFile(t, web, "var/lib/count", "1 cache1\n2 cache2\n")
	d.says("2 roles: 2 done", "cache store done", "web app done")
	do(t, leader.Start())
	do(t, leader.Await())

	d.stack.Update(t, d.with("level", "3"))
	until(t, "the hook", counts(cache, "update 3"))
	if n, err := cache.Kill(syscall.SIGKILL, "hotc-agent", "run"); n != 1 || err != nil {
		t.Fatalf("%d agents were killed: %v", n, err)
	}
	d.ends("UPDATE_FAILED", "the update hook failed: cache.store: interrupted")
	d.says("cache store not updated", "web app not updated")
	if why := d.on("why", "web.app"); !strings.Contains(why, "cache.store") || !strings.Contains(why, "interrupted") {
		t.Errorf("hotc why web.app does not name the reason:\n%s", why)
	}
	expectFile(t, web, "var/lib/count", "1 cache1\n2 cache2\n")
	second.kill()
	d.on("retry", "cache.store")
	open(t, cache, "")
	until(t, "the retried hook to reach web", counts(web, "3 cache3"))
	third := d.relay()
	d.stack.Update(t, d.with("level", "3"))
	d.ends("UPDATE_COMPLETE")
	expectFile(t, cache, "var/lib/count", "run 1\nupdate 2\nupdate 3\nupdate 3\n")
	expectFile(t, web, "var/lib/count", "1 cache1\n2 cache2\n3 cache3\n")
	d.says("2 roles: 2 done")

	d.stack.Update(t, d.with("level", "4"))
	until(t, "the hook", counts(cache, "update 4"))
	d.stack.Update(t, d.with("level", "5"))
	d.stack.Update(t, d.with("level", "6"))
	open(t, cache, "")
	until(t, "the hook with the newest", counts(cache, "update 6"))
	third.kill()
	open(t, cache, "")
	until(t, "web to have the newest", counts(web, "6 cache6"))
	if s := d.stack.Status(t); s.String() != "UPDATE_IN_PROGRESS" {
		t.Errorf("nobody has told Heat, and the stack is %s", s)
	}
	until(t, "the relay's session to end", func() bool { return strings.Contains(d.on("status"), "no relay") })
	d.relay()
	d.ends("UPDATE_COMPLETE")
	expectFile(t, cache, "var/lib/count", "run 1\nupdate 2\nupdate 3\nupdate 3\nupdate 4\nupdate 6\n")
	if text, err := web.Read("var/lib/count"); err != nil || text != "1 cache1\n2 cache2\n3 cache3\n4 cache4\n6 cache6\n" {
		t.Errorf("web has %q (%v)", text, err)
	}
	d.says("2 roles: 2 done")
}
