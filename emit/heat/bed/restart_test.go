//go:build e2e

package bed_test

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// rebooted waits until a server is there again after its n-th boot.
func (d *deployment) rebooted(path string, s *bed.Server, n int) {
	d.t.Helper()
	until(d.t, s.Name+" to have booted", func() bool { return s.Booted() && s.Boots() == n })
	until(d.t, "the agent of "+path, func() bool { return d.status()[path].Alive })
}

// A server that is rebooted runs cloud-init again, and no role.
func TestReboot(t *testing.T) {
	t.Parallel()
	d := blocked(t, "reboot")
	writer := d.server("writer")
	open(t, writer, "before the reboot")
	d.wellDone("before the reboot")
	paths := []string{"writer", "reader1"}
	for _, path := range paths {
		do(t, d.server(path).Off())
	}
	for _, path := range paths {
		until(t, "the session of "+path+" to end", func() bool { return !d.status()[path].Alive })
	}
	for _, path := range paths {
		do(t, d.server(path).On())
	}
	for _, path := range paths {
		d.rebooted(path, d.server(path), 2)
	}
	d.wellDone("before the reboot")
}

// A server is rebooted in the middle of its roles: what was done is not done
// again, and what was in progress has failed as interrupted.
func TestRebootInARole(t *testing.T) {
	t.Parallel()
	d := blocked(t, "halfway")
	reader := d.server("reader1")
	do(t, reader.Reboot())
	d.await("reader1", "reads", "failed")
	open(t, d.server("writer"), "too late")
	d.await("reader2", "reads", "done")
	if s := d.stack.Wait(t); s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "reader1.reads: interrupted") {
		t.Errorf("%s: %s", s, s.Reason)
	}
	expectFile(t, reader, "var/lib/runs", "before\nreads\n")
	if got := d.status()["reader1"].Roles[0].Status; got != "done" {
		t.Errorf("the role that was done before the reboot is %s", got)
	}
}

// A server is built anew while its old machine is cut off: all of its roles run,
// readers see the new value, and the old machine, when it comes back, is fenced.
func TestServerBuiltAnew(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/anew.yaml").deploy("anew")
	old, web := d.server("db"), d.server("web")
	d.await("db", "serve", "done")
	d.await("web", "reads", "running")
	do(t, old.Cut())
	const id, address = "11111111-2222-4333-8444-555555555555", "10.77.200.1"
	fresh := d.rebuild(old, id, address)
	until(t, "the new db to be done", func() bool {
		s := d.status()["db"]
		return s.Incarnation == 2 && s.Instance == id && s.Phase == "done"
	})
	expectFile(t, fresh, "var/lib/runs", "install\nserve\n")
	open(t, web, "")
	d.await("web", "reads", "done")
	expectFile(t, web, "var/lib/value", address)
	d.returnsFenced(old)
	until(t, "the old agent to end", func() bool {
		n, err := old.Kill(0, "hotc-agent", "run")
		return n == 0 && err == nil
	})
	if s := d.status()["db"]; s.Incarnation != 2 || s.Instance != id || s.Phase != "done" {
		t.Errorf("after the old machine came back: %+v", s)
	}
	d.stack.Complete(t)
}

// rebuild makes another machine that is a server, as a cloud does which builds it anew.
func (d *deployment) rebuild(old *bed.Server, id, address string) *bed.Server {
	d.t.Helper()
	fresh, err := d.bed.Rebuild(old, id, address)
	do(d.t, err)
	d.t.Cleanup(func() {
		if d.t.Failed() {
			d.t.Logf("the new %s:\n%s", old.Name, fresh.Logs())
		}
		do(d.t, d.bed.Remove(fresh))
	})
	return fresh
}

// returnsFenced lets a machine that was cut off come back, and waits until it knows that
// another one is the server.
func (d *deployment) returnsFenced(old *bed.Server) {
	d.t.Helper()
	do(d.t, old.Restore())
	until(d.t, "the old machine to know that it is the server no more", func() bool {
		log, _ := old.Read("var/log/hotc-agent.log")
		return strings.Contains(log, "another machine has taken over")
	})
}

// Heat builds a server anew that somebody has marked unhealthy.
func TestServerReplacedByHeat(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/anew.yaml").deploy("unhealthy")
	old, web := d.server("db"), d.server("web")
	d.await("db", "serve", "done")
	open(t, web, "")
	d.stack.Complete(t)
	expectFile(t, web, "var/lib/value", old.Address)
	d.stack.MarkUnhealthy(t, "db")
	d.stack.Update(t, d.input(d.dir))
	d.stack.Complete(t)
	fresh := d.server("db")
	if fresh.ID == old.ID {
		t.Fatal("Heat has not replaced db")
	}
	until(t, "the new db to be done", func() bool {
		s := d.status()["db"]
		return s.Incarnation == 2 && s.Instance == fresh.ID && s.Phase == "done"
	})
	expectFile(t, fresh, "var/lib/runs", "install\nserve\n")
	if got := strings.TrimSpace(d.on("outputs", "where")); got != fresh.Address {
		t.Errorf("the output is %s, not the new machine's address %s", got, fresh.Address)
	}
	if s := d.status()["web"]; s.Incarnation != 1 || s.Phase != "done" || !s.Alive {
		t.Errorf("the neighbour of a server that was built anew: %+v", s)
	}
}

// A stack is deleted and created again under a deployment that stays.
func TestStackCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "testdata/anew.yaml")
	first := w.deploy("reborn")
	first.await("db", "serve", "done")
	open(t, first.server("web"), "")
	first.stack.Complete(t)
	first.stack.Delete(t)
	second := w.create("reborn")
	db, web := second.server("db"), second.server("web")
	until(t, "the new db to be done", func() bool {
		s := second.status()["db"]
		return s.Incarnation == 2 && s.Instance == db.ID && s.Phase == "done"
	})
	open(t, web, "")
	second.stack.Complete(t)
	expectFile(t, db, "var/lib/runs", "install\nserve\n")
	expectFile(t, web, "var/lib/value", db.Address)
	if out := second.on("apply", w.dir); !strings.Contains(out, "reborn") {
		t.Errorf("apply of the same again: %s", out)
	}
}

// A deployment is destroyed and applied anew while one of its machines is cut off, and
// that one's server is built anew. The new machine has the old one's name, number and
// versions; the old one, when it comes back, ends all the same.
func TestDeploymentMadeAnew(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/anew.yaml").deploy("twice")
	old, web := d.server("db"), d.server("web")
	d.await("db", "serve", "done")
	d.await("web", "reads", "running")
	do(t, old.Cut())
	d.on("destroy", "--yes")
	until(t, "the agent of web to know that its deployment is gone", func() bool {
		log, _ := web.Read("var/log/hotc-agent.log")
		return strings.Contains(log, "destroyed")
	})
	d.apply()
	const id, address = "33333333-2222-4333-8444-555555555555", "10.77.202.1"
	d.rebuild(old, id, address)
	isFresh := func() bool {
		s := d.status()["db"]
		return s.Incarnation == 1 && s.Instance == id && s.Phase == "done"
	}
	until(t, "the new db to be done", isFresh)
	do(t, old.Restore())
	until(t, "the old agent to end", func() bool {
		n, err := old.Kill(0, "hotc-agent", "run")
		return n == 0 && err == nil
	})
	if log, _ := old.Read("var/log/hotc-agent.log"); !strings.Contains(log, "destroyed") {
		t.Errorf("the old agent says:\n%s", log)
	}
	if !isFresh() {
		t.Errorf("after the old machine came back: %+v", d.status()["db"])
	}
}
