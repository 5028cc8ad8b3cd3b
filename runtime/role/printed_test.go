package role

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A daemon that a role has left behind prints without end: its file takes up a bounded part of the
// disk, and has the end of what was printed where it was.
func TestADaemonThatPrintsWithoutEnd(t *testing.T) {
	work := t.TempDir()
	name := filepath.Join(work, "mysql.stdout")
	daemon, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	blocks := func() int64 {
		var is unix.Stat_t
		if err := unix.Stat(name, &is); err != nil {
			t.Fatal(err)
		}
		return is.Blocks * 512
	}
	const keep = 1 << 20
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	for range 10 {
		if _, err := daemon.Write(bytes.Repeat(line, 1000)); err != nil {
			t.Fatal(err)
		}
		forgetBeginning(name, keep)
		if now := blocks(); now > 2*keep+1<<17 {
			t.Fatalf("it takes up %d bytes", now)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil || len(text) != 10_000*1024 || !bytes.HasSuffix(text, bytes.Repeat(line, keep/1024)) {
		t.Errorf("%d bytes can be read (%v)", len(text), err)
	}
	if err := os.Symlink(name, filepath.Join(work, "link.stdout")); err != nil {
		t.Fatal(err)
	}
	before := blocks()
	forgetBeginning(filepath.Join(work, "link.stdout"), 1)
	if blocks() != before {
		t.Error("it has followed a link")
	}
}

// Each file beside the roles' folders is bounded.
func TestWhatRolesPrintIsBounded(t *testing.T) {
	work := t.TempDir()
	name := filepath.Join(work, "mysql.stderr")
	if err := os.WriteFile(name, make([]byte, 2*keptPrints+1<<20), 0o640); err != nil {
		t.Fatal(err)
	}
	defer BoundPrints(t.Context(), work)()
	for {
		var is unix.Stat_t
		if err := unix.Stat(name, &is); err != nil {
			t.Fatal(err)
		}
		if is.Blocks*512 <= keptPrints+1<<17 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
