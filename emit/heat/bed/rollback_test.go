//go:build e2e

package bed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// becomes waits until the stack has a state.
func (d *deployment) becomes(want string) {
	d.t.Helper()
	until(d.t, "the stack to be "+want, func() bool { return d.stack.Status(d.t).String() == want })
}

// updateBy is a plain update of what the stack has, by the openstack client.
func (d *deployment) updateBy(args ...string) {
	d.t.Helper()
	openstack(d.t, d.world, append(append([]string{"stack", "update", "--existing"}, args...), d.name)...)
}

// An update is rolled back: because a role fails with what it gives, and because somebody cancels it
// while a role runs. Heat has gone back only when the role has run with the values of before.
func TestRollback(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/rollback.yaml", "rollback")
	d.relay()
	d.ends("CREATE_COMPLETE")
	db := d.server("db")
	d.updateBy("--rollback", "enabled", "--parameter", "level=bad")
	d.becomes("ROLLBACK_COMPLETE")
	expectFile(t, db, "var/lib/count", "good\nbad\ngood\n")
	d.updateBy("--parameter", "level=slow")
	until(t, "the role to run", func() bool { text, _ := db.Read("var/lib/count"); return strings.HasSuffix(text, "slow\n") })
	openstack(t, d.world, "stack", "cancel", d.name)
	d.becomes("ROLLBACK_IN_PROGRESS")
	open(t, db, "")
	d.becomes("ROLLBACK_COMPLETE")
	expectFile(t, db, "var/lib/count", "good\nbad\ngood\nslow\ngood\n")
	if got := string(d.stack.Outputs(t)["url"].Value); got != `"url-good"` {
		t.Errorf("the output is %s", got)
	}
	if got := d.role("db", "store"); got != "done" {
		t.Errorf("the role is %s", got)
	}
}

// The plan does not go back with the stack: the rollback fails with the role that the new plan has
// broken, and hotc up of the template of before mends both. hotc up says of the updates that others have
// asked for with a rollback what Heat has done.
func TestRollbackOfAnUpdateWithAnotherPlan(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("rollplan")
	o.expect(0, up("testdata/rollback.yaml", "rollplan"), "CREATE_COMPLETE", "url = url-good")
	d := &deployment{world: &world{t: t, bed: place.bed}, name: "rollplan", stack: place.bed.Oracle.Find(t, "rollplan")}
	path := filepath.Join(t.TempDir(), "made")
	o.expect(0, []string{"compile", withLevelBroken(t), "-o", path, "--signal=relay"})
	o.expect(0, []string{"apply", path, "--stack", d.name}, "a new plan")
	r := o.start("relay", "--stack", d.name)
	openstack(t, d.world, "stack", "update", "--existing", "-t", filepath.Join(path, "stack.yaml"), "--rollback", "enabled", d.name)
	d.becomes("ROLLBACK_FAILED")
	if reason := d.stack.Status(t).Reason; !strings.Contains(reason, "db.store: exit status 7") || !strings.Contains(reason, "hotc retry NAME db.store") {
		t.Errorf("the rollback failed with %s", reason)
	}
	do(t, r.Process.Kill())
	_ = r.Wait()
	o.expect(3, []string{"why", "--stack", d.name}, "exit status 7")
	o.expect(0, up("testdata/rollback.yaml", "rollplan", "--yes"), "UPDATE_COMPLETE", "url = url-good")
	db := d.server("db")
	expectFile(t, db, "var/lib/count", "good\ngood\n")
}

// A stack whose creation fails is taken back as a whole; the same stack, updated, is made anew, and its
// roles run on the new machines.
func TestRollbackOfACreation(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("rollnew")
	o.expect(0, []string{"secret", "new", filepath.Join(o.state, "s")})
	path := filepath.Join(t.TempDir(), "made")
	o.env = append(o.env, "HOTC_SECRET_FILE="+filepath.Join(o.state, "s"))
	o.expect(0, []string{"compile", "testdata/rollback.yaml", "-o", path, "--signal=relay"})
	o.expect(0, []string{"apply", path, "--stack", "rollnew"}, "is applied")
	r := o.start("relay", "--stack", "rollnew")
	w := &world{t: t, bed: place.bed}
	openstack(t, w, "stack", "create", "-t", filepath.Join(path, "stack.yaml"), "-e", filepath.Join(o.state, "s.env.yaml"), "--parameter", "level=bad", "--enable-rollback", "rollnew")
	d := &deployment{world: w, name: "rollnew", stack: place.bed.Oracle.Find(t, "rollnew")}
	d.becomes("ROLLBACK_COMPLETE")
	do(t, r.Process.Kill())
	_ = r.Wait()
	text := o.expect(0, up("testdata/rollback.yaml", "rollnew", "--yes"), "UPDATE_COMPLETE", "url = url-good")
	if strings.Contains(text, "ROLLBACK_IN_PROGRESS") {
		t.Errorf("it shows what was before:\n%s", text)
	}
	expectFile(t, d.server("db"), "var/lib/count", "good\n")
}

// withLevelBroken is the template with a role that fails at once.
func withLevelBroken(t *testing.T) string {
	text, err := os.ReadFile("testdata/rollback.yaml")
	do(t, err)
	path := filepath.Join(t.TempDir(), "rollback.yaml")
	do(t, os.WriteFile(path, []byte(strings.Replace(string(text), "#!/bin/sh\n", "#!/bin/sh\n              exit 7\n", 1)), 0o600))
	return path
}
