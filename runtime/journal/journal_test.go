package journal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/journal"
)

var machine = journal.Machine{Deployment: "blog", Server: "db", Instance: "i-1"}

func open(t *testing.T, folder string, m journal.Machine) *journal.Journal {
	t.Helper()
	j, err := journal.Open(journal.Folder(folder), m, rand.Reader, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// written is a journal of a server with one role done and one that failed.
func written(t *testing.T, folder string) {
	t.Helper()
	j := open(t, folder, machine)
	three := 3
	for _, err := range []error{
		j.NoteTrying(1),
		j.NoteTrying(2),
		j.NoteEnrolled(2),
		j.NoteRunning("base", "r1", ""),
		j.NoteEnded("base", journal.End{ExitCode: new(int)}),
		j.NoteRunning("mysql", "r2", "m1"),
		j.NoteEnded("mysql", journal.End{ExitCode: &three, Cause: &protocol.Cause{Role: "db.mysql", Reason: "exit status 3"}}),
		j.NoteTaskRunning("q1", "base.update", "r3", "m2", nil),
		j.NoteTaskEnded("q1", "base.update", "m2", journal.End{ExitCode: &three, Cause: &protocol.Cause{Role: "db.base", Reason: "exit status 3"}}),
		j.NoteTaskRunning("q2", "mysql.backup", "r4", "", nil),
		j.NoteSignalled("", "FAILURE"),
		j.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatWasNotedIsThereAfterARestart(t *testing.T) {
	folder := t.TempDir()
	written(t, folder)
	j := open(t, folder, machine)
	if j.Trying() != 2 || j.Incarnation() != 2 || j.Signalled("") != "FAILURE" || strings.Join(j.Runs(), " ") != "r1 r2 r3 r4" {
		t.Errorf("incarnation %d, signalled %q, runs %q", j.Incarnation(), j.Signalled(""), j.Runs())
	}
	if base := j.Role("base"); base.Status != protocol.RoleDone || base.Started.IsZero() || base.Ended.IsZero() {
		t.Errorf("base: %+v", base)
	}
	if mysql := j.Role("mysql"); mysql.Status != protocol.RoleFailed || *mysql.ExitCode != 3 || mysql.Cause.Reason != "exit status 3" {
		t.Errorf("mysql: %+v", mysql)
	}
	if base, mysql := j.Role("base"), j.Role("mysql"); base.Made != "m2" || base.Update == nil || base.Update.Status != protocol.RoleFailed || mysql.Made != "m1" || mysql.Update != nil {
		t.Errorf("base was updated: %+v; mysql was not: %+v", base, mysql)
	}
	if backup := j.Task("q2"); backup.Status != protocol.RoleRunning {
		t.Errorf("backup: %+v", backup)
	}
	if other := j.Role("other"); other.Status != protocol.RolePending {
		t.Errorf("a role that nothing is noted of is %s", other.Status)
	}
}

func TestATornLastLineIsCutOffWhereverItWasTorn(t *testing.T) {
	whole := t.TempDir()
	written(t, whole)
	text, err := os.ReadFile(filepath.Join(whole, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(text, '\n') + 1
	for end := first; end <= len(text); end += seedtest.Cases(1, 7) {
		for _, tail := range []string{"", "\x00\x00\x00", "\x00\n"} {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "journal"), append(text[:end:end], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			j := open(t, folder, machine)
			if err := j.NoteSignalled("", "SUCCESS"); err != nil {
				t.Fatal(err)
			}
			j.Close()
			if j = open(t, folder, machine); j.Signalled("") != "SUCCESS" {
				t.Fatalf("torn after %d bytes: the line after it is lost", end)
			}
			j.Close()
		}
	}
}

func TestDamageInTheMiddleIsNotGuessedAround(t *testing.T) {
	folder := t.TempDir()
	written(t, folder)
	path := filepath.Join(folder, "journal")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines[2] = "###\n"
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = journal.Open(journal.Folder(folder), machine, rand.Reader, time.Now)
	if err == nil || !strings.Contains(err.Error(), "line 3 of the journal is corrupt") {
		t.Errorf("got %v", err)
	}
}

func TestAnotherMachineBeginsAnew(t *testing.T) {
	for name, other := range map[string]journal.Machine{
		"an image of the server, started again": {Deployment: "blog", Server: "db", Instance: "i-2"},
		"as another server":                     {Deployment: "blog", Server: "web", Instance: "i-1"},
		"in another stack":                      {Deployment: "shop", Server: "db", Instance: "i-1"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			written(t, folder)
			before := open(t, folder, machine)
			id := before.ID()
			before.Close()
			j := open(t, folder, other)
			if j.ID() == id || j.Incarnation() != 0 || j.Role("base").Status != protocol.RolePending {
				t.Errorf("id %s (was %s), incarnation %d, base %s", j.ID(), id, j.Incarnation(), j.Role("base").Status)
			}
			if _, err := os.Stat(filepath.Join(folder, "journal.old")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOneAgentAtATime(t *testing.T) {
	folder := t.TempDir()
	first := open(t, folder, machine)
	if _, err := journal.Open(journal.Folder(folder), machine, rand.Reader, time.Now); !errors.Is(err, journal.ErrLocked) {
		t.Fatalf("a second agent got %v", err)
	}
	first.Close()
	open(t, folder, machine)
}

func TestANewerFormatIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "journal"), []byte("{\"journal\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := journal.Open(journal.Folder(folder), machine, rand.Reader, time.Now)
	if err == nil || !strings.Contains(err.Error(), "written by a newer agent") {
		t.Errorf("got %v", err)
	}
}

// On a full disk no role is started whose end could not be noted.
func TestNoRoleStartsWithoutRoomForItsEnd(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("full", folder, "tmpfs", 0, "size=32k"); err != nil {
		t.Skipf("NOT TESTED on a full disk, which needs a file system of its own: %v", err)
	}
	defer unix.Unmount(folder, unix.MNT_DETACH)
	j := open(t, folder, machine)
	if err := j.NoteRunning("mysql", "r1", ""); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("on a disk that is almost full: %v", err)
	}
	if got := j.Role("mysql").Status; got != protocol.RolePending {
		t.Errorf("the role is noted as %s", got)
	}
	if err := unix.Mount("", folder, "", unix.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	if err := j.NoteRunning("mysql", "r1", ""); err != nil {
		t.Fatal(err)
	}
	// others fill the disk while the role runs
	if err := os.WriteFile(filepath.Join(folder, "fill"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk cannot be filled: %v", err)
	}
	cause := &protocol.Cause{Role: "db.mysql", Reason: strings.Repeat("x", 32<<10)}
	if err := j.NoteEnded("mysql", journal.End{Cause: cause}); err != nil {
		t.Errorf("the end of a role cannot be noted: %v", err)
	}
}
