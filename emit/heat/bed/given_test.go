//go:build e2e

package bed_test

import (
	"strings"
	"testing"
)

// A plain stack update changes a parameter, and an attribute with it: a relay carries that,
// each role that it reaches runs once, in the order of the data flow, and Heat waits for it.
func TestHeatGivesAnotherValue(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/given.yaml", "given", "level=1")
	d.relay()
	cache, web := d.machine("cache", nil), d.machine("web", nil)
	d.ends("CREATE_COMPLETE")
	expectFile(t, web, "var/lib/count", " 1 made-1 cache1\n")

	d.stack.Update(t, d.with("level", "2", "size", "2"))
	d.ends("UPDATE_COMPLETE")
	expectFile(t, cache, "var/lib/count", " 1\nupdate 2\n")
	expectFile(t, web, "var/lib/count", " 1 made-1 cache1\nupdate 2 made-2 cache2\n")
	expectFile(t, web, "var/lib/old", "1\n")
	if text := d.on("status"); !strings.Contains(text, "not reached") {
		t.Errorf("hotc status does not say that old was not reached:\n%s", text)
	}
	if server := d.machine("web", nil); server.ID != web.ID {
		t.Error("web was replaced")
	}
	d.stack.Update(t, d.with("level", "2", "size", "2")) // nothing else: nobody runs
	d.ends("UPDATE_COMPLETE")
	expectFile(t, cache, "var/lib/count", " 1\nupdate 2\n")

	d.relay().kill() // one more, which leaves at once
	do(t, web.Reboot())
	d.rebooted("web", web, 2)
	d.stack.Update(t, d.with("level", "3", "size", "2"))
	d.ends("UPDATE_COMPLETE")
	expectFile(t, web, "var/lib/count", " 1 made-1 cache1\nupdate 2 made-2 cache2\nupdate 3 made-2 cache3\n")
}

// `hotc up` says a parameter that was left to its default, and leaves it again: what Heat makes
// of it reaches the role each time.
func TestUpChangesWhatHeatGives(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upgiven")
	o.expect(0, up("testdata/given.yaml", "upgiven", "-P", "level=1"), "CREATE_COMPLETE")
	s := place.bed.Oracle.Find(t, "upgiven")
	web, err := place.bed.Server(s.Server(t, "web").ID)
	do(t, err)
	o.expect(0, up("testdata/given.yaml", "upgiven", "-P", "level=1", "-P", "size=3", "--yes"), "parameter size", "UPDATE_COMPLETE")
	expectFile(t, web, "var/lib/count", " 1 made-1 cache1\nupdate 1 made-3 cache1\n")
	o.expect(0, up("testdata/given.yaml", "upgiven", "-P", "level=1", "--yes"), "parameter size", "UPDATE_COMPLETE")
	expectFile(t, web, "var/lib/count", " 1 made-1 cache1\nupdate 1 made-3 cache1\nupdate 1 made-1 cache1\n")

	// Somebody changes it by a plain update: hotc up notices, asks, and takes it back.
	relay := o.start("relay", "--stack", "upgiven")
	openstack(t, &world{t: t, bed: place.bed}, "stack", "update", "--existing", "--parameter", "size=5", "--wait", "upgiven")
	expectFile(t, web, "var/lib/count", " 1 made-1 cache1\nupdate 1 made-3 cache1\nupdate 1 made-1 cache1\nupdate 1 made-5 cache1\n")
	o.expect(2, up("testdata/given.yaml", "upgiven", "-P", "level=1"), "parameter size gets a new value", "cannot ask for confirmation")
	o.expect(0, up("testdata/given.yaml", "upgiven", "-P", "level=1", "--yes"), "parameter size gets a new value", "UPDATE_COMPLETE")
	expectFile(t, web, "var/lib/count", " 1 made-1 cache1\nupdate 1 made-3 cache1\nupdate 1 made-1 cache1\nupdate 1 made-5 cache1\nupdate 1 made-1 cache1\n")
	o.expect(0, up("testdata/given.yaml", "upgiven", "-P", "level=1"), "Nothing to change")
	do(t, relay.Process.Kill())
	_ = relay.Wait()
	if now := s.Server(t, "web").ID; now != web.ID {
		t.Error("web was replaced")
	}
}
