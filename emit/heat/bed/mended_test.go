//go:build e2e

package bed_test

import (
	"os"
	"strings"
	"testing"
)

// A member of a group that scales fails in an update, and `hotc up` mends the group. The update that
// fails is asked for twice, since Heat keeps the definitions of members that it has not come to.
func TestUpMendsAScalingGroup(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upmends")
	const site = "testdata/mended.yaml"
	o.expect(0, up(site, "upmends"), "CREATE_COMPLETE")
	for range 2 {
		o.expect(3, up(site, "upmends", "-P", "mode=bad", "--yes"), "exit status 7", "UPDATE_FAILED")
	}
	o.expect(0, up(site, "upmends", "--yes"), "UPDATE_COMPLETE")
	o.expect(0, up(site, "upmends"), "Nothing to change")
}

// Two folders, both gone, have named the templates of a group's members to Heat, by the openstack
// client here and by every run of an earlier hotc: the members that the failed update has not come
// to are still defined by the first one. A failure in the next update is told by its own reason.
func TestUpMendsWhatAnotherFolderMade(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/mended.yaml", "elsewhere")
	relay := d.relay()
	d.ends("CREATE_COMPLETE")
	first := d.dir
	d.dir = d.compile("testdata/mended.yaml", "--signal=relay")
	do(t, os.RemoveAll(first))
	d.stack.Update(t, d.with("mode", "bad"))
	d.ends("UPDATE_FAILED", "exit status 7")
	relay.kill()
	do(t, os.RemoveAll(d.dir))

	o := newOperator(t)
	o.env = append(o.env, "HOTC_SECRET_FILE="+d.secret)
	if text := o.expect(3, up("testdata/mended.yaml", d.name, "-P", "mode=worse", "--yes"), "exit status 8", "UPDATE_FAILED"); strings.Contains(text, "exit status 7") {
		t.Errorf("a failure of the update before is told:\n%s", text)
	}
	o.expect(0, up("testdata/mended.yaml", d.name, "--yes"), "UPDATE_COMPLETE")
	o.expect(0, up("testdata/mended.yaml", d.name), "Nothing to change")
}

// Two operators change a stack at the same moment, three times: one of them gets what he wants, and
// the other is told who that is. A relay stays as long as Heat waits.
func TestTwoUpsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLives(t, "atonce")
	shape(t, l.path, part{"a", []string{noting("one", "v: {get_param: level}", ", idempotent: true")}})
	l.expect(0, up(l.path, l.stack), "CREATE_COMPLETE")
	for _, levels := range [][2]string{{"2", "3"}, {"4", "5"}, {"6", "7"}} {
		var both []*command
		for _, level := range levels {
			both = append(both, l.start(up(l.path, l.stack, "-P", "level="+level, "--yes")...))
		}
		won := ""
		for i, c := range both {
			switch err := c.Wait(); {
			case err == nil:
				won = levels[i]
			case !strings.Contains(c.printed(), "is being changed by \"hotc up\" of ") && !strings.Contains(c.printed(), "another \"hotc up\" has taken over"):
				t.Errorf("%v:\n%s", err, c.printed())
			}
		}
		if won == "" {
			t.Fatalf("both lose:\n%s\n%s", both[0].printed(), both[1].printed())
		}
		l.expect(0, up(l.path, l.stack, "-P", "level="+won), "Nothing to change: the stack is UPDATE_COMPLETE")
	}
	killed := l.start(up(l.path, l.stack, "-P", "level=8", "--yes")...)
	until(t, "the plan", func() bool { return strings.Contains(killed.printed(), "The plan is on the coordinator") })
	do(t, killed.Process.Kill())
	_ = killed.Wait()
	l.expect(0, up(l.path, l.stack, "-P", "level=8", "--yes"), "COMPLETE") // at once, though the other's session has not ended
}
