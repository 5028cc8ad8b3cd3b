package journal_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/journal"
	"github.com/hotc-dev/hotc/runtime/journal/journaltest"
)

func openOn(t *testing.T, disk *journaltest.Disk) *journal.Journal {
	t.Helper()
	j, err := journal.Open(disk, machine, rand.Reader, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// All that was noted and kept is on the disk when the call returns, also where it was written anew.
func TestALossOfPowerTakesNothing(t *testing.T) {
	disk := journaltest.New(t)
	j := openOn(t, disk)
	disk.ExpectSynced(t, "after it was opened")
	large := strings.Repeat("x", 300_000)
	for n := range 8 {
		if err := j.NoteRunning("web", fmt.Sprint("r", n), large); err != nil {
			t.Fatal(err)
		}
		disk.ExpectSynced(t, fmt.Sprintf("after line %d", n))
		if err := j.Keep("web.app", protocol.CellRecord{State: protocol.Valued, Version: n, Value: json.RawMessage(`"` + large + `"`)}); err != nil {
			t.Fatal(err)
		}
		disk.ExpectSynced(t, fmt.Sprintf("after value %d", n))
	}
}

// The disk is full for a while, after so many bytes of a line, or bad. The line that failed is not
// there, and no later one is lost with it: not while the agent lives, and not for the next one.
func TestADiskThatIsFullForAWhile(t *testing.T) {
	breaks := map[string]func(d *journaltest.Disk){"bad": func(d *journaltest.Disk) { d.BadSync = true }}
	for left := range 60 {
		breaks[fmt.Sprint("full after ", left)] = func(d *journaltest.Disk) { d.Full, d.Left = true, left }
	}
	for name, breaks := range breaks {
		t.Run(name, func(t *testing.T) {
			disk := journaltest.New(t)
			j := openOn(t, disk)
			for range 2 {
				breaks(disk)
				if err := j.Remember(member.Remembered{Counters: map[string]int64{"plan": 7}}); err == nil {
					t.Fatal("it could be written")
				}
				if j.Remembered().Counters["plan"] == 7 {
					t.Error("what is not on the disk is remembered")
				}
			}
			disk.Full, disk.BadSync = false, false
			if err := j.NoteRunning("web", "r1", "m1"); err != nil {
				t.Fatal(err)
			}
			j.Close()
			j = openOn(t, disk)
			if j.Role("web").Status != protocol.RoleRunning || j.Remembered().Counters["plan"] == 7 {
				t.Errorf("the role is %s, remembered are %v", j.Role("web").Status, j.Remembered().Counters)
			}
		})
	}
}

// What was published while the disk was full is kept by the process, and stored once there is room.
func TestValuesThatADiskHasNoRoomFor(t *testing.T) {
	value := func(n int) protocol.CellRecord {
		return protocol.CellRecord{State: protocol.Valued, Version: n, Value: json.RawMessage("null")}
	}
	for _, before := range []int{0, 1} { // whether the file exists
		for left := range 100 {
			disk := journaltest.New(t)
			j := openOn(t, disk)
			if before > 0 {
				if err := j.Keep("db.r:a", value(1)); err != nil {
					t.Fatal(err)
				}
			}
			disk.Full, disk.Left = true, left
			if err := j.Keep("db.r:a", value(2)); err == nil {
				t.Fatalf("%d bytes are left: it could be written", left)
			}
			if kept, err := j.Kept(); err != nil || kept["db.r:a"].Version != 2 {
				t.Fatalf("%d bytes are left: kept are %v (%v)", left, kept, err)
			}
			disk.Full = false
			if err := j.Keep("db.r:b", value(1)); err != nil {
				t.Fatal(err)
			}
			disk.ExpectSynced(t, "after the second value")
			j.Close()
			j = openOn(t, disk)
			if kept, err := j.Kept(); err != nil || kept["db.r:a"].Version != 2 || kept["db.r:b"].Version != 1 {
				t.Fatalf("%d bytes are left: stored are %v (%v)", left, kept, err)
			}
			j.Close()
		}
	}
}

// The room for a running role's end stays, whatever else is noted meanwhile, and when the journal is
// written anew.
func TestTheRoomForAnEndStays(t *testing.T) {
	for name, during := range map[string]func(t *testing.T, folder string, note func(n int) error){
		"others fill the disk, and more is noted": func(t *testing.T, folder string, note func(n int) error) {
			fill(t, folder)
			for n := range 1000 {
				if note(n) != nil {
					return
				}
			}
			t.Error("a full disk has taken everything")
		},
		"the journal is written anew": func(t *testing.T, folder string, note func(n int) error) {
			size := func() int64 {
				info, err := os.Stat(filepath.Join(folder, "journal"))
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			for n, before := 0, int64(0); size() >= before; n++ {
				before = size()
				if err := note(n); err != nil {
					t.Fatal(err)
				}
			}
			fill(t, folder)
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := unix.Mount("full", folder, "tmpfs", 0, "size=6m"); err != nil {
				t.Skipf("NOT TESTED on a full disk, which needs a file system of its own: %v", err)
			}
			defer unix.Unmount(folder, unix.MNT_DETACH)
			j := open(t, folder, machine)
			if err := j.NoteRunning("web", "r1", "m1"); err != nil {
				t.Fatal(err)
			}
			counter := strings.Repeat("y", 6_000)
			during(t, folder, func(n int) error {
				return j.Remember(member.Remembered{Counters: map[string]int64{counter: int64(n + 2)}})
			})
			cause := &protocol.Cause{Role: "db.web", Reason: strings.Repeat("x", 32<<10)}
			if err := j.NoteEnded("web", journal.End{Cause: cause}); err != nil {
				t.Errorf("the end of the role cannot be noted: %v", err)
			}
		})
	}
}

// fill takes what is left of a disk.
func fill(t *testing.T, folder string) {
	t.Helper()
	f, err := os.Create(filepath.Join(folder, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
}

// A journal does not grow with the actions that are run, and says of the latest ones, and of those
// that are still running, what it said. A hook that was done stays done.
func TestAJournalOfManyActions(t *testing.T) {
	disk := journaltest.New(t)
	j := openOn(t, disk)
	act := func(id, task string, ends bool) {
		t.Helper()
		err := j.NoteTaskRunning(id, task, "run of "+id, "", nil)
		if err == nil && ends {
			err = j.NoteTaskEnded(id, task, "", journal.End{ExitCode: new(int)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.NoteRunning("web", "the role's", strings.Repeat("m", 1000)); err != nil {
		t.Fatal(err)
	}
	act("hook", "web."+contract.HookDelete, true)
	act("interrupted", "web.backup", false)
	const last = 8000
	for n := range last + 1 {
		act(fmt.Sprint("a", n), "web.backup", true)
	}
	for again := range 2 {
		for id, want := range map[string]protocol.RoleStatus{
			fmt.Sprint("a", last): protocol.RoleDone, fmt.Sprint("a", last-900): protocol.RoleDone, "interrupted": protocol.RoleRunning,
		} {
			if got := j.Task(id).Status; got != want {
				t.Errorf("%d: the action %s is %s, want %s", again, id, got, want)
			}
		}
		if !j.Did("web."+contract.HookDelete) || !j.Did("web.backup") || j.Did("web.other") {
			t.Errorf("%d: it did not what it did", again)
		}
		runs := strings.Join(j.Runs(), "|")
		for _, mark := range []string{"the role's", "run of interrupted", fmt.Sprint("run of a", last)} {
			if !strings.Contains(runs, mark) {
				t.Errorf("%d: the processes of %s would not be found", again, mark)
			}
		}
		if text, err := disk.Read("journal"); err != nil || len(text) > 1200<<10 || len(j.Runs()) > 5000 {
			t.Errorf("%d: the journal has %d bytes (%v), %d marks", again, len(text), err, len(j.Runs()))
		}
		j.Close()
		j = openOn(t, disk)
	}
}

// A journal does not grow with the requests that are answered, and knows of each whether it was: in
// its deployment, and also when it is read again.
func TestAJournalOfManyRequests(t *testing.T) {
	disk := journaltest.New(t)
	j := openOn(t, disk)
	remember := func(id string) {
		t.Helper()
		if err := j.Remember(member.Remembered{Identity: &protocol.Identity{ID: id}}); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(deployment string, most int) {
		t.Helper()
		remember(deployment)
		for n := 1; n <= most; n++ {
			r, a := protocol.Request{ID: fmt.Sprint(deployment, n), Number: int64(n)}, protocol.Answer{Status: protocol.AnswerRefused, Reason: strings.Repeat("why ", 200)}
			for range 2 {
				if err := j.NoteAnswered(r, a); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	const most = 6000
	refuse("a", most)
	for again := range 2 {
		if text, err := disk.Read("journal"); err != nil || len(text) > 2200<<10 {
			t.Errorf("%d: the journal has %d bytes (%v)", again, len(text), err)
		}
		if got := j.Forgotten(); got != most-1000 {
			t.Errorf("%d: it has forgotten those up to %d", again, got)
		}
		for _, n := range []int{most - 999, most} {
			if got := j.Task(fmt.Sprint("a", n)); string(got.Status) != string(protocol.AnswerRefused) || !strings.HasPrefix(got.Cause.Reason, "why") {
				t.Errorf("%d: %d: %+v", again, n, got)
			}
		}
		j.Close()
		j = openOn(t, disk)
	}
	refuse("b", 500) // the numbers of another deployment begin anew
	for again := range 2 {
		if got := j.Forgotten(); got != 0 {
			t.Errorf("%d: in another deployment it has forgotten those up to %d", again, got)
		}
		refuse("b", 500+again*2500) // and the journal is compacted
		j.Close()
		j = openOn(t, disk)
	}
	if got := j.Forgotten(); got != 3000-1000 {
		t.Errorf("it has forgotten those up to %d", got)
	}
}

// planted are what another user may have left in a state folder in which everybody may write, the
// text by which each is refused, and whether only root can make it.
var planted = map[string]struct {
	plant  func(folder, victim string) error
	says   string
	asRoot bool
}{
	"a file of another user": {func(f, _ string) error { return giveAway(f + "/values") }, "/values does not belong", true},
	"a folder of another user": {func(f, _ string) error {
		return errors.Join(os.Mkdir(f+"/roles", 0o700), os.Lchown(f+"/roles", 65534, 65534))
	}, "/roles does not belong", true},
	"the folder is another's": {func(f, _ string) error { return os.Lchown(f, 65534, 65534) }, " does not belong", true},
	"a link to a file":        {func(f, v string) error { return os.Symlink(v, f+"/key") }, "/key is a link", false},
	"a link to no file yet":   {func(f, v string) error { return os.Symlink(v+".new", f+"/lock") }, "/lock is a link", false},
	"a link to a folder":      {func(f, v string) error { return os.Symlink(filepath.Dir(v), f+"/run") }, "/run is a link", false},
	"the folder is a link": {func(f, v string) error { return errors.Join(os.Remove(f), os.Symlink(filepath.Dir(v), f)) },
		" is a link", false},
	"a hard link":           {func(f, v string) error { return os.Link(v, f+"/journal") }, "/journal has another name", false},
	"a pipe":                {func(f, _ string) error { return unix.Mkfifo(f+"/values", 0o600) }, "/values is a link or the like", false},
	"a file others write":   {func(f, _ string) error { return with(f+"/journal", 0o602) }, "/journal is open to other users (its mode is 0602)", false},
	"a file others read":    {func(f, _ string) error { return with(f+"/values.new", 0o640) }, "/values.new is open to other users", false},
	"a folder others write": {func(f, _ string) error { return errors.Join(os.Mkdir(f+"/tools", 0), os.Chmod(f+"/tools", 0o777)) }, "/tools is open to other users", false},
}

func with(path string, mode os.FileMode) error {
	return errors.Join(os.WriteFile(path, nil, mode), os.Chmod(path, mode))
}

func giveAway(path string) error {
	return errors.Join(with(path, 0o600), os.Lchown(path, 65534, 65534))
}

// What another user may have put into the state folder is refused before anything is read or written
// there, as often as the agent starts, until it is gone.
func TestAStateFolderThatOthersMayHaveFilled(t *testing.T) {
	for name, c := range planted {
		t.Run(name, func(t *testing.T) {
			if c.asRoot && os.Geteuid() != 0 {
				t.Skip("NOT TESTED with another user's files, which only root can make")
			}
			above := t.TempDir()
			folder, victim := filepath.Join(above, "state"), filepath.Join(above, "victims", "precious")
			for _, err := range []error{os.Mkdir(folder, 0), os.Chmod(folder, 0o777), os.Mkdir(filepath.Dir(victim), 0o755),
				os.WriteFile(victim, []byte("precious"), 0o600), c.plant(folder, victim)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			before := names(t, folder)
			for range 2 {
				j, err := journal.Open(journal.Folder(folder), machine, rand.Reader, time.Now)
				if err == nil {
					j.Close()
				}
				if err == nil || !strings.Contains(err.Error(), folder+c.says) || !strings.Contains(err.Error(), "move it away") {
					t.Fatalf("got %v", err)
				}
			}
			text, err := os.ReadFile(victim)
			if others := names(t, filepath.Dir(victim)); err != nil || string(text) != "precious" || others != "precious" {
				t.Errorf("the victim holds %q (%v), beside it are %q", text, err, others)
			}
			if after := names(t, folder); after != before {
				t.Errorf("the folder had %q, now %q", before, after)
			}
			// it was closed first: nothing was put there after the look
			if info, err := os.Lstat(folder); err != nil || c.says[0] == '/' && info.Mode().Perm() != 0o700 {
				t.Errorf("the folder is %v (%v)", info.Mode(), err)
			}
			if info, err := os.Stat(filepath.Dir(victim)); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the victim's folder is %v (%v)", info.Mode(), err)
			}
		})
	}
}

// names are those in a folder.
func names(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// A folder that everybody may write is closed and used if nothing, or only the agent's own, is in it.
func TestAStateFolderThatWasOpen(t *testing.T) {
	folder := t.TempDir()
	written(t, folder)
	for _, err := range []error{os.Mkdir(filepath.Join(folder, "roles"), 0o755), os.Mkdir(filepath.Join(folder, "run"), 0o700),
		with(filepath.Join(folder, "roles", "m.status"), 0o644), os.Chmod(folder, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	open(t, folder, machine)
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it is %v (%v)", info.Mode(), err)
	}
}

// A machine that loses its power may lose the name of a folder that was just made, and all in it,
// unless the folder above is synced: where that cannot be done, the journal is not used. The same holds
// for a folder above that was just made.
func TestTheFolderAboveIsSynced(t *testing.T) {
	for _, folder := range []string{"state", "new/state", "new/as/well/state"} {
		t.Run(folder, func(t *testing.T) { aboveIsSynced(t, folder) })
	}
}

func aboveIsSynced(t *testing.T, folder string) {
	above := t.TempDir()
	if err := os.Chmod(above, 0o300); err != nil { // its entries can be made, and it cannot be opened
		t.Fatal(err)
	}
	locked := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: root obeys modes on this thread
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		err := unix.Capget(&header, &data[0])
		data[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
		if err = errors.Join(err, unix.Capset(&header, &data[0])); err == nil {
			_, err = journal.Folder(filepath.Join(above, folder)).Lock()
		}
		locked <- err
	}()
	if err := <-locked; !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "sync the folder of the state folder") {
		t.Errorf("%v", err)
	}
}
