//go:build e2e

package bed_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// launched waits until the role of db runs in an incarnation, on the same machine by its id, while
// Heat waits for it.
func (d *deployment) launched(db *bed.Server, incarnation int, state string) *bed.Server {
	d.t.Helper()
	until(d.t, fmt.Sprintf("incarnation %d of db", incarnation), func() bool {
		s := d.status()["db"]
		return s.Alive && s.Incarnation == incarnation && len(s.Roles) == 1 && s.Roles[0].Status == "running"
	})
	now := d.server("db")
	if now.ID != db.ID {
		d.t.Fatalf("db is machine %s, and was %s", now.ID, db.ID)
	}
	if s := d.stack.Status(d.t); s.String() != state {
		d.t.Fatalf("the stack is %s while the role of db runs (%s)", s, s.Reason)
	}
	return now
}

// Nova launches a machine again, and its id stays: Heat waits until its roles have run on the new
// disk, whoever asked for it, and learns of their failure.
func TestRebuilt(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/rebuilt.yaml", "rebuilt")
	relay := d.relay()
	db, web := d.machine("db", nil), d.machine("web", nil)
	open(t, db, "one")
	d.ends("CREATE_COMPLETE")

	d.stack.Update(t, d.with("image", "debian-13"))
	open(t, d.launched(db, 2, "UPDATE_IN_PROGRESS"), "two")
	d.ends("UPDATE_COMPLETE")
	expectFile(t, web, "var/lib/count", "one\ntwo\n")
	if got := string(d.stack.Outputs(t)["value"].Value); got != `"two"` {
		t.Errorf("the stack's output is %s", got)
	}

	// It fails on the new image, and another one mends it.
	d.stack.Update(t, d.with("image", "debian-14"))
	open(t, d.launched(db, 3, "UPDATE_IN_PROGRESS"), "fail")
	d.ends("UPDATE_FAILED", "exit status 3")
	d.stack.Update(t, d.with("image", "debian-15"))
	open(t, d.launched(db, 4, "UPDATE_IN_PROGRESS"), "four")
	d.ends("UPDATE_COMPLETE")

	// Another flavor: the same disk is booted again, and nothing runs.
	d.stack.Update(t, d.with("image", "debian-15", "flavor", "large"))
	d.ends("UPDATE_COMPLETE")
	now := d.server("db")
	expectFile(t, now, "var/lib/count", "run\n")
	if n := now.Boots(); n != 2 {
		t.Errorf("the resized machine has booted %d times", n)
	}

	// By hand, behind Heat's back: whatever the next update is about, it waits for the roles.
	for i, how := range []string{"rebuild", "evacuate"} {
		do(t, d.bed.Oracle.Relaunch(db.ID, how))
		d.stack.Update(t, d.with("image", "debian-15", "flavor", "large", "note", how))
		open(t, d.launched(db, 5+i, "UPDATE_IN_PROGRESS"), how)
		d.ends("UPDATE_COMPLETE")
	}
	expectFile(t, web, "var/lib/count", "one\ntwo\nfour\nrebuild\nevacuate\n")
	kept := d.server("kept/0/server")
	do(t, d.bed.Oracle.Relaunch(kept.ID, "rebuild"))
	d.stack.Update(t, d.with("image", "debian-15", "flavor", "large", "note", "kept"))
	d.ends("UPDATE_COMPLETE")
	expectFile(t, kept, "var/lib/count", "run\n") // its role takes a while

	// Without a relay Heat waits for one.
	relay.kill()
	d.stack.Update(t, d.with("image", "debian-16", "flavor", "large", "note", "kept"))
	open(t, d.launched(db, 7, "UPDATE_IN_PROGRESS"), "seven")
	d.await("db", "gate", "done")
	text := ""
	for began := time.Now(); !strings.Contains(text, "no relay"); text = d.on("status") { // its presence outlives it
		if time.Since(began) > time.Minute {
			t.Fatalf("hotc status does not say what Heat waits for:\n%s", text)
		}
	}
	d.relay()
	d.ends("UPDATE_COMPLETE")
	expectFile(t, d.server("db"), "var/lib/count", "run\n")
}

// `hotc up` says whose disk is lost before it asks, waits for the roles, whoever signals Heat, and
// says that an image that is not given any more wipes the disk again.
func TestUpRebuilds(t *testing.T) {
	t.Parallel()
	for _, signal := range []string{"relay", "heat"} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			o, stack := newOperator(t), "uprebuilt"+signal
			o.removed(stack)
			run := func(args ...string) *command {
				return o.start(up("testdata/rebuilt.yaml", stack, append([]string{"--signal", signal}, args...)...)...)
			}
			ends := func(c *command, parts ...string) {
				t.Helper()
				if err := c.Wait(); err != nil {
					t.Fatalf("%v: %v", c.Args, err)
				}
				for _, part := range parts {
					if !strings.Contains(c.printed(), part) {
						t.Errorf("%v does not say %q", c.Args, part)
					}
				}
			}
			first := run()
			server := func(path string) (s *bed.Server) {
				t.Helper()
				until(t, path, func() (there bool) {
					found, err := place.bed.Server(stack + "-" + path)
					s = found
					return err == nil
				})
				return s
			}
			db := server("db")
			open(t, db, "one")
			ends(first, "CREATE_COMPLETE")
			fresh := server("fresh")

			second := run("-P", "image=debian-13", "--yes")
			until(t, "the role of db to run on the new disk", func() bool {
				return strings.Contains(second.printed(), "  runs\n") || strings.Contains(second.printed(), stack+" is UPDATE_COMPLETE")
			})
			if text := second.printed(); strings.Contains(text, stack+" is UPDATE_COMPLETE") {
				t.Fatalf("it ended before the role had run:\n%s", text)
			}
			open(t, db, "two")
			ends(second, "Heat rebuilds db: its disk is lost", "parameter image gets a new value: debian-12 → debian-13\n", "UPDATE_COMPLETE")
			expectFile(t, server("web"), "var/lib/count", "one\ntwo\n")

			o.expect(2, up("testdata/rebuilt.yaml", stack, "--signal", signal), "Heat rebuilds db: its disk is lost",
				"parameter image gets a new value: debian-13 → debian-12, its default: neither -P nor -e gives it a value", "cannot ask for confirmation")
			expectFile(t, db, "var/lib/count", "run\n")

			ends(run("-P", "image=debian-13", "-P", "second=debian-13", "-P", "flavor=large", "--yes"), "Heat resizes db", "Heat replaces fresh",
				"Heat rebuilds kept/0: its disk is lost, and its roles run again on an empty one\n", "UPDATE_COMPLETE")
			for _, path := range []string{"db", "kept/0/server", "fresh"} {
				now, err := place.bed.Server(place.bed.Oracle.Find(t, stack).Server(t, path).ID)
				do(t, err)
				expectFile(t, now, "var/lib/count", "run\n")
			}
			if now := server("fresh"); now.ID == fresh.ID || server("db").ID != db.ID {
				t.Errorf("fresh was %s and is %s, db was %s and is %s", fresh.ID, now.ID, db.ID, server("db").ID)
			}
		})
	}
}
