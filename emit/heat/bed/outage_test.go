//go:build e2e

package bed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// blocked deploys the gate with its readers blocked, and a function that says
// whether everything went well once it is open.
func blocked(t *testing.T, name string, own ...*bed.Ensemble) *deployment {
	t.Helper()
	d := newWorld(t, "testdata/gate.yaml", own...).deploy(name)
	d.stack.Servers(t, 3)
	d.await("writer", "keeper", "running")
	d.await("reader1", "reads", "blocked")
	d.await("reader2", "reads", "blocked")
	return d
}

// wellDone expects that the value arrived everywhere, and no role ran twice.
func (d *deployment) wellDone(value string) {
	d.t.Helper()
	d.stack.Complete(d.t)
	if got := string(d.stack.Outputs(d.t)["value"].Value); got != `"`+value+`"` {
		d.t.Errorf("the stack's output is %s", got)
	}
	for _, s := range []string{"reader1", "reader2"} {
		expectFile(d.t, d.server(s), "var/lib/value", value)
	}
	expectFile(d.t, d.server("writer"), "var/lib/runs", "keeper\n")
	expectFile(d.t, d.server("reader1"), "var/lib/runs", "before\nreads\n")
	expectFile(d.t, d.server("reader2"), "var/lib/runs", "reads\n")
	for path, s := range d.status() {
		if s.Phase != "done" || s.Incarnation != 1 {
			d.t.Errorf("%s: %+v", path, s)
		}
	}
}

// ZooKeeper is restarted while servers wait, and the value is written meanwhile.
func TestZooKeeperRestarted(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 1)
	d := blocked(t, "restarted", zk)
	do(t, zk.Members[0].Stop())
	open(t, d.server("writer"), "written while nobody listens")
	time.Sleep(3 * time.Second)
	do(t, zk.Members[0].Start())
	d.wellDone("written while nobody listens")
}

// ZooKeeper loses all that it has stored, once while servers wait and once when they are
// done. The same apply puts the deployment back: nothing runs twice, the value is there, and
// Heat is told nothing new.
func TestZooKeeperWiped(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 1)
	d := blocked(t, "wiped", zk)
	paths, lost := []string{"writer", "reader1", "reader2"}, 0
	restore := func() {
		t.Helper()
		member := zk.Members[0]
		do(t, member.Stop())
		do(t, member.Wipe())
		do(t, member.Start())
		do(t, member.Await())
		lost++
		for _, path := range paths {
			until(t, "the agent of "+path+" to notice", func() bool {
				log, _ := d.server(path).Read("var/log/hotc-agent.log")
				return strings.Count(log, "the coordinator has lost its data") == lost
			})
		}
		d.on("apply", d.dir, "--restore", "--enrol=always")
		until(t, "all machines to be their servers again", func() bool {
			for _, s := range d.status() {
				if !s.Came || !s.Alive {
					return false
				}
			}
			return true
		})
	}
	restore()
	open(t, d.server("writer"), "written after all was lost")
	d.wellDone("written after all was lost")
	told := func() (n int) {
		for _, path := range paths {
			log, err := d.server(path).Read("var/log/hotc-agent.log")
			do(t, err)
			n += strings.Count(log, "signalled Heat")
		}
		return n
	}
	before := told()
	restore()
	until(t, "the value to be there again", func() bool { return strings.Contains(d.on("outputs"), "written after all was lost") })
	for _, path := range paths {
		until(t, path+" to be done", func() bool { return d.status()[path].Phase == "done" })
	}
	d.wellDone("written after all was lost")
	if after := told(); after != before || before == 0 {
		t.Errorf("Heat was told %d times, and %d after all was put back", before, after)
	}
}

// The leader of three is killed in the middle of a deployment, comes back, and
// the next one is killed.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 3)
	d := blocked(t, "leaderless", zk)
	leader, err := zk.Leader()
	do(t, err)
	do(t, leader.Kill())
	open(t, d.server("writer"), "written to a new leader")
	d.wellDone("written to a new leader")
	do(t, leader.Start())
	do(t, leader.Await())
	next, err := zk.Leader()
	do(t, err)
	do(t, next.Kill())
	until(t, "all agents to be there again", func() bool {
		for _, s := range d.status() {
			if !s.Alive {
				return false
			}
		}
		return true
	})
}

// The member that leads is cut off: it is there and answers nobody.
func TestLeaderCutOff(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 3)
	d := blocked(t, "silent", zk)
	leader, err := zk.Leader()
	do(t, err)
	do(t, leader.Cut())
	open(t, d.server("writer"), "written past a silent leader")
	d.wellDone("written past a silent leader")
	do(t, leader.Restore())
}

// One reader is cut off for 20 s, in which the value appears.
func TestServerCutOff(t *testing.T) {
	t.Parallel()
	d := blocked(t, "cut")
	reader := d.server("reader1")
	do(t, reader.Cut())
	time.Sleep(5 * time.Second)
	open(t, d.server("writer"), "written behind its back")
	d.await("reader2", "reads", "done")
	time.Sleep(15 * time.Second)
	expectFile(t, reader, "var/lib/value", "") // as the shell has made it
	do(t, reader.Restore())
	d.wellDone("written behind its back")
}

// The writer is cut off just before it writes.
func TestWriterCutOff(t *testing.T) {
	t.Parallel()
	d := blocked(t, "unheard")
	writer := d.server("writer")
	do(t, writer.Cut())
	open(t, writer, "written into the void")
	time.Sleep(10 * time.Second)
	if s := d.role("reader1", "reads"); s != "blocked" {
		t.Errorf("the reader is %s while its writer is cut off", s)
	}
	do(t, writer.Restore())
	d.wellDone("written into the void")
}

// A server's host hangs for longer than its session lives.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	d := blocked(t, "hung")
	reader := d.server("reader2")
	do(t, reader.Pause())
	open(t, d.server("writer"), "written while it hung")
	d.await("reader1", "reads", "done")
	until(t, "its session to end", func() bool { return !d.status()["reader2"].Alive })
	do(t, reader.Resume())
	d.wellDone("written while it hung")
}
