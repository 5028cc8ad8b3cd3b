//go:build e2e

package bed_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyRoles writes a template whose first server has so many roles that its
// journal outgrows what its disk had left for it.
func manyRoles(t *testing.T) (path string, names []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/disk.yaml")
	do(t, err)
	const place = "          - name: last\n"
	if !strings.Contains(string(text), place) {
		t.Fatalf("disk.yaml has no %q", place)
	}
	var roles strings.Builder
	names = append(names, "first")
	for i := range 24 {
		name := fmt.Sprintf("middle%d", i)
		names = append(names, name)
		fmt.Fprintf(&roles, "          - {name: %s, driver: script, source: 'echo %s >> /var/lib/runs'}\n", name, name)
	}
	path = filepath.Join(t.TempDir(), "disk.yaml")
	do(t, os.WriteFile(path, []byte(strings.Replace(string(text), place, roles.String()+place, 1)), 0o600))
	return path, append(names, "last")
}

// A server's disk is full: no role is started that could not be noted, and when
// there is room again, all goes on where it was.
func TestServersDiskFull(t *testing.T) {
	t.Parallel()
	template, names := manyRoles(t)
	d := newWorld(t, template).deploy("full")
	writer := d.server("writer")
	d.await("writer", "first", "running")
	inServer(t, writer, "sh", "-c", "cat /dev/zero > /var/lib/hotc/filler 2>/dev/null; test -s /var/lib/hotc/filler")
	open(t, writer, "")
	until(t, "the agent to say that the disk is full", func() bool {
		log, _ := writer.Read("var/log/hotc-agent.log")
		return strings.Contains(log, "no space left on device")
	})
	for _, r := range d.status()["writer"].Roles {
		if r.Status == "failed" || r.Status == "skipped" {
			t.Errorf("%s is %s on a full disk: %s", r.Name, r.Status, r.Cause.Reason)
		}
	}
	inServer(t, writer, "rm", "/var/lib/hotc/filler")
	d.stack.Complete(t)
	expectFile(t, writer, "var/lib/runs", strings.Join(names, "\n")+"\n")
	expectFile(t, d.server("reader"), "var/lib/value", "full")
}

// A server has no room from the start: the first role fails and says so, and who
// waits for it, and the stack, fail with that reason.
func TestServersDiskTooSmall(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/disk.yaml")
	do(t, err)
	path := filepath.Join(t.TempDir(), "disk.yaml")
	do(t, os.WriteFile(path, []byte(strings.Replace(string(text), "size=72m", "size=7m", 1)), 0o600))
	d := newWorld(t, path).deploy("tiny")
	if s := d.stack.Wait(t); s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "MiB left, but 64 are needed") {
		t.Errorf("%s: %s", s, s.Reason)
	}
	d.await("reader", "reads", "failed")
	if _, err := d.server("writer").Read("var/lib/runs"); err == nil {
		t.Error("a role has run on a disk that is too small")
	}
}

// ZooKeeper's disk is full: it ends, as ZooKeeper does then, and when there is
// room again, nothing was lost.
func TestZooKeepersDiskFull(t *testing.T) {
	t.Parallel()
	zk := ensemble(t, 1)
	d := blocked(t, "crammed", zk)
	do(t, zk.Members[0].FillDisk())
	value := strings.Repeat("more than a page of memory has left ", 1000)
	open(t, d.server("writer"), value)
	until(t, "ZooKeeper to end", zk.Members[0].Ended)
	do(t, zk.Members[0].FreeDisk())
	do(t, zk.Members[0].Start())
	d.wellDone(value)
}
