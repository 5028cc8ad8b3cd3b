//go:build e2e

package bed_test

import (
	"strings"
	"testing"
)

// A plain update tries what has failed again: with the values that mend it, or as it was, once for each
// update; what has failed because of it runs again after it.
func TestUpdateTriesFailedRolesAgain(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/again.yaml", "again", "level=bad")
	relay := d.relay()
	d.ends("CREATE_FAILED", "exit status 3")
	db, web, aside := d.server("db"), d.server("web"), d.server("aside")
	d.stack.Update(t, d.with("level", "good"))
	d.ends("UPDATE_COMPLETE")
	expectFile(t, db, "var/lib/count", "bad\ngood\n")
	expectFile(t, web, "var/lib/count", "url-good\n")
	if got := string(d.stack.Outputs(t)["url"].Value); got != `"url-good"` {
		t.Errorf("the output is %s", got)
	}

	// An update hook, mended with another value.
	d.stack.Update(t, d.with("level", "good", "mode", "worse"))
	d.ends("UPDATE_FAILED", "exit status 4")
	d.stack.Update(t, d.with("level", "good", "mode", "ok"))
	d.ends("UPDATE_COMPLETE")
	expectFile(t, aside, "var/lib/count", "ok\nworse\nok\n")

	// The same request again: it fails once more, also with another relay, and is mended by hand.
	d.stack.Update(t, d.with("level", "good", "mode", "bad"))
	d.ends("UPDATE_FAILED", "exit status 4")
	relay.kill()
	d.relay()
	d.stack.Update(t, d.with("level", "good", "mode", "bad"))
	d.ends("UPDATE_FAILED", "exit status 4")
	expectFile(t, aside, "var/lib/count", "ok\nworse\nok\nbad\nbad\n")
	open(t, aside, "")
	d.stack.Update(t, d.with("level", "good", "mode", "bad"))
	d.ends("UPDATE_COMPLETE")
	expectFile(t, aside, "var/lib/count", "ok\nworse\nok\nbad\nbad\nbad\n")
	expectFile(t, db, "var/lib/count", "bad\ngood\n")
	expectFile(t, web, "var/lib/count", "url-good\n")
}

// `hotc up` goes on where the value that mends a failed role comes with Heat's update alone, and tries
// a role that fails again once.
func TestUpGoesBackAfterAFailedRole(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upagain")
	const site = "testdata/again.yaml"
	o.expect(3, up(site, "upagain", "-P", "level=bad"), "exit status 3", "CREATE_FAILED")
	db, err := place.bed.Server(place.bed.Oracle.Find(t, "upagain").Server(t, "db").ID)
	do(t, err)
	o.expect(3, up(site, "upagain", "-P", "level=bad"), "exit status 3", "UPDATE_FAILED")
	expectFile(t, db, "var/lib/count", "bad\nbad\n")
	o.expect(0, up(site, "upagain", "--yes"), "UPDATE_COMPLETE", "url = url-good")
	expectFile(t, db, "var/lib/count", "bad\nbad\ngood\n")

	// Heat has the bad value from somebody else.
	o.expect(0, []string{"down", "upagain", "--yes"})
	o.expect(0, up(site, "upagain"), "CREATE_COMPLETE")
	relay := o.start("relay", "--stack", "upagain")
	defer func() { _ = relay.Process.Kill(); _ = relay.Wait() }()
	openstack(t, &world{t: t, bed: place.bed}, "stack", "update", "--existing", "--parameter", "mode=bad", "upagain")
	until(t, "the update to fail", func() bool { return place.bed.Oracle.Find(t, "upagain").Status(t).String() == "UPDATE_FAILED" })
	text := o.expect(0, up(site, "upagain", "--yes"), "UPDATE_COMPLETE", "parameter mode gets a new value: bad → ok")
	if strings.Contains(text, "UPDATE_FAILED") {
		t.Errorf("it shows what was before:\n%s", text)
	}
}
