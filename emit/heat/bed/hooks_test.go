//go:build e2e

package bed_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A plain deletion of the stack waits at the servers whose roles have delete hooks where no relay runs,
// until hotc has run these and lets Heat go on: first the workers', then the
// database's. A hook that fails leaves everything as it is, and an agent that is away for a moment
// is waited for.
func TestDeleteHooks(t *testing.T) {
	t.Parallel()
	d := ownedByUser(t, "hooks")
	db, worker, other := d.server("db"), d.server("workers/0/server"), d.server("workers/1/server")
	do(t, worker.Write("tmp/free", ""))
	openstack(t, d.world, "stack", "delete", "--yes", d.name)
	paused := func() string {
		return openstack(t, d.world, "stack", "hook", "poll", d.name, "--nested-depth", "5", "-f", "value", "-c", "Resource Name")
	}
	until(t, "Heat to wait at a hook", func() bool { return strings.TrimSpace(paused()) != "" })
	out, err := d.destroy("--run-hooks")
	if err == nil || !strings.Contains(out, "H802") || !strings.Contains(out, "the delete hook of workers/1.work") {
		t.Errorf("a hook has failed, and hotc says: %v\n%s", err, out)
	}
	if s := d.stack.Status(t); s.String() != "DELETE_IN_PROGRESS" {
		t.Errorf("the stack is %s", s)
	}
	if _, err := db.Read("tmp/bye"); err == nil {
		t.Error("the database's hook has run before the workers'")
	}
	do(t, other.Write("tmp/free", ""))
	do(t, other.Pause()) // its session is lost for a moment, and waited for
	until(t, "the session to end", func() bool { return !d.status()["workers/1"].Alive })
	again := &command{Cmd: d.destroying("--run-hooks")}
	again.Stdout, again.Stderr = again, again
	do(t, again.Start())
	until(t, "hotc to wait for the agent", func() bool { return strings.Contains(again.printed(), "agents that are not running: workers/1") })
	do(t, other.Resume())
	err = again.Wait()
	out = again.printed()
	if err != nil || !strings.Contains(out, "db.base: the delete hook is done.") || !strings.Contains(out, "hooks is destroyed.") {
		t.Errorf("hotc says: %v\n%s", err, out)
	}
	if strings.Count(out, "Heat continues with ") != 3 {
		t.Errorf("Heat did not wait at three servers:\n%s", out)
	}
	if s := d.stack.Status(t); s.String() != "DELETE_COMPLETE" {
		t.Errorf("the stack is %s", s)
	}
}

// One command deletes all.
func TestDeleteStackWithItsHooks(t *testing.T) {
	t.Parallel()
	foreign := filepath.Join(t.TempDir(), "foreign.yaml")
	do(t, os.WriteFile(foreign, []byte("resource_registry: {resources: {theirs: {hooks: pre-delete}}}\n"), 0o600))
	d := ownedByUser(t, "hooks-all", foreign)
	for _, path := range []string{"workers/0/server", "workers/1/server"} {
		do(t, d.server(path).Write("tmp/free", ""))
	}
	c := &command{Cmd: d.destroying("--run-hooks", "--delete-stack")}
	c.Stdout, c.Stderr = c, c
	do(t, c.Start())
	until(t, "hotc to leave the user's hook alone", func() bool { return strings.Contains(c.printed(), "the hook of theirs: hotc has not set this hook") })
	openstack(t, d.world, "stack", "hook", "clear", "--pre-delete", d.name, "theirs")
	if err := c.Wait(); err != nil || !strings.Contains(c.printed(), "is destroyed.") {
		t.Errorf("hotc says: %v\n%s", err, c.printed())
	}
	if s := d.stack.Status(t); s.String() != "DELETE_COMPLETE" {
		t.Errorf("the stack is %s", s)
	}
}

// ownedByUser is a stack with hooks that the client has made, as the command says
// that apply prints.
func ownedByUser(t *testing.T, name string, environments ...string) *deployment {
	t.Helper()
	theBed(t)
	w := worldOn(t, place.zk.URL("hotc"), "testdata/hooks.yaml", "--signal=relay")
	d := &deployment{world: w, name: name}
	d.apply()
	defer d.relay().kill()
	args := []string{"stack", "create", "-t", w.dir + "/stack.yaml", "--wait"}
	for _, file := range append(w.input(w.dir).Environments, environments...) {
		args = append(args, "-e", file)
	}
	openstack(t, w, append(args, name)...)
	d.stack = w.bed.Oracle.Find(t, name)
	t.Cleanup(func() {
		if t.Failed() {
			d.tell()
		}
	})
	return d
}

// destroy runs hotc destroy with what the openstack client needs.
func (d *deployment) destroy(flags ...string) (string, error) {
	out, err := d.destroying(flags...).CombinedOutput()
	return string(out), err
}

func (d *deployment) destroying(flags ...string) *exec.Cmd {
	args := append([]string{"destroy", "--yes", "--stack", d.name, "--coordinator", d.url, "--secret-file", d.secret}, flags...)
	ctx, stop := context.WithTimeout(d.t.Context(), commandTime)
	d.t.Cleanup(stop)
	cmd := hotcCommand(ctx, args...)
	cmd.Env = d.clientEnvironment()
	return cmd
}
