package journal_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// versions are those of a group with many members, of which one has come so often.
func versions(n int) journal.Followed {
	followed := journal.Followed{}
	for i := range 400 {
		followed[contract.CellName(fmt.Sprintf("web/%d.app:url", i))] = protocol.Count{1, 1}
	}
	followed["web/0.app:url"] = protocol.Count{n, 1}
	return followed
}

// follows runs a role for state after state, as where a member keeps coming as a new machine.
func follows(j *journal.Journal, from, to int) error {
	for n := from; n < to; n++ {
		id, mark := fmt.Sprintf("%s%d", journal.StateRequest, n), fmt.Sprintf("mark%d", n)
		err := errors.Join(
			j.Remember(member.Remembered{Counters: map[string]int64{"members": int64(n)}}),
			j.NoteTaskRunning(id, "lb.update", mark, "made", versions(n)),
			j.NoteTaskEnded(id, "lb.update", "made", journal.End{ExitCode: new(int), Followed: versions(n)}))
		if err != nil {
			return err
		}
	}
	return nil
}

// before is a journal of a server whose roles have run, and that was asked for more.
func before(t *testing.T, folder string) *journal.Journal {
	written(t, folder)
	j := open(t, folder, machine)
	err := errors.Join(j.Remember(member.Remembered{Identity: &protocol.Identity{ID: "its deployment"}, Counters: map[string]int64{"plan": 7}}),
		j.NoteRunning("lb", "first", "made"), j.NoteEnded("lb", journal.End{}),
		j.NoteTaskRunning("asked", "lb.update", "m", "made", nil), j.NoteTaskEnded("asked", "lb.update", "made", journal.End{}),
		j.NoteTaskRunning("gone", "lb.delete", "d", "", nil), j.NoteTaskEnded("gone", "lb.delete", "", journal.End{}))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// what is all that a journal says that runs may depend on.
func what(j *journal.Journal, last int) string {
	lb, base, mysql := j.Role("lb"), j.Role("base"), j.Role("mysql")
	text, err := json.Marshal([]any{j.ID(), j.Trying(), j.Incarnation(), j.Signalled(""), lb, base, mysql,
		j.Task("asked"), j.Task("q1"), j.Task("q2"), j.Task(fmt.Sprint(journal.StateRequest, last)), j.Did("lb.delete"), j.Taken("q1"), j.Remembered()})
	return fmt.Sprint(string(text), err)
}

// A journal that has grown is written anew without the runs that nothing depends on any more, and
// says the same.
func TestAJournalOfManyRuns(t *testing.T) {
	const last = 300
	folder := t.TempDir()
	j := before(t, folder)
	if err := follows(j, 0, last+1); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(folder, "journal"))
	if err != nil || info.Size() > 3<<20 {
		t.Errorf("the journal has %d bytes (%v)", info.Size(), err)
	}
	said := what(j, last)
	j.Close()
	j = open(t, folder, machine)
	if now := what(j, last); now != said {
		t.Errorf("it says\n%s\nand said\n%s", now, said)
	}
	if lb := j.Role("lb"); lb.Runs != last+3 || !reflect.DeepEqual(lb.Followed, versions(last)) {
		t.Errorf("%d runs, followed %v", lb.Runs, lb.Followed)
	}
	for _, mark := range []string{"first", "m", "r4", "mark0", "mark299", "mark300"} { // processes may have been left behind
		if !slices.Contains(j.Runs(), mark) {
			t.Errorf("the processes of %s would not be found", mark)
		}
	}
}

// What a server has published is kept once, however often it has.
func TestValuesThatWereWrittenOften(t *testing.T) {
	folder := t.TempDir()
	j := open(t, folder, machine)
	large := strings.Repeat("x", 100_000)
	for n := range 200 {
		for _, cell := range []contract.CellName{"db.r:a", "db.r:b"} {
			if err := j.Keep(cell, protocol.CellRecord{State: protocol.Valued, Version: n, Value: []byte(`"` + large + `"`)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	info, err := os.Stat(filepath.Join(folder, "values"))
	if err != nil || info.Size() > 2<<20 {
		t.Errorf("the file has %d bytes (%v)", info.Size(), err)
	}
	j.Close()
	kept, err := open(t, folder, machine).Kept()
	if err != nil || len(kept) != 2 || kept["db.r:a"].Version != 199 || kept["db.r:b"].Version != 199 {
		t.Errorf("%d kept (%v)", len(kept), err)
	}
}

// A value that was replaced may have been a secret: nothing of it stays in the folder, whether this
// agent has replaced it or one that has left it there.
func TestAReplacedValueLeavesTheDisk(t *testing.T) {
	folder := t.TempDir()
	stays := func(when, text string) {
		t.Helper()
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if all, _ := os.ReadFile(filepath.Join(folder, f.Name())); strings.Contains(string(all), text) {
				t.Errorf("%s, %s is in the file %s", when, text, f.Name())
			}
		}
	}
	j := open(t, folder, machine)
	for n, secret := range []string{`"first"`, `"second"`, `"third"`} {
		r := protocol.CellRecord{State: protocol.Valued, Version: n + 1, Value: []byte(secret)}
		if err := j.Keep("db.r:a", r); err != nil {
			t.Fatal(err)
		}
	}
	stays("replaced", "first")
	stays("replaced", "second")
	j.Close()
	path := filepath.Join(folder, "values")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	older := strings.Replace(string(text), "third", "older", 1)
	foreign := strings.NewReplacer("third", "foreign", j.ID(), "another").Replace(string(text))
	if err := os.WriteFile(path, []byte(older+foreign+string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := open(t, folder, machine).Kept()
	if err != nil || string(kept["db.r:a"].Value) != `"third"` {
		t.Errorf("%s (%v)", kept["db.r:a"].Value, err)
	}
	stays("opened again", "older")
	stays("opened again", "foreign")
}

// failing is a disk of which calls fail from one on, and what is done after it is lost.
type failing struct {
	journal.Folder
	left *int
}

var errDisk = errors.New("no space left on device")

func (d failing) fails() bool { *d.left--; return *d.left < 0 }

func (d failing) Create(name string) (journal.File, error) {
	if d.fails() {
		return nil, errDisk
	}
	f, err := d.Folder.Create(name)
	return failingFile{f, d}, err
}

func (d failing) Rename(from, to string) error {
	if d.fails() {
		return errDisk
	}
	return d.Folder.Rename(from, to)
}

func (d failing) Sync() error {
	if d.fails() {
		return errDisk
	}
	return d.Folder.Sync()
}

// failingFile is a file that is made on it.
type failingFile struct {
	journal.File
	d failing
}

func (f failingFile) Write(p []byte) (int, error) {
	if f.d.fails() {
		return 0, errDisk
	}
	return f.File.Write(p)
}

// A disk that has no room for the new file loses nothing of the old one: the journal goes on with
// it, or fails as where a line cannot be written.
func TestNoRoomToWriteAJournalAnew(t *testing.T) {
	for calls := range 5 {
		folder := t.TempDir()
		before(t, folder).Close()
		left := calls
		j, err := journal.Open(failing{journal.Folder(folder), &left}, machine, rand.Reader, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		last := -1
		for last < 100 && follows(j, last+1, last+2) == nil {
			last++
		}
		if calls < 3 && last < 100 {
			t.Errorf("%d calls: the journal ends at run %d, though the file before is whole", calls, last)
		}
		if left >= 0 {
			t.Fatalf("%d calls: it was never written anew", calls)
		}
		j.Close()
		j = open(t, folder, machine)
		if lb := j.Role("lb"); lb.Runs < last+3 || lb.Followed["web/0.app:url"][0] < last || j.Task("asked").Status != protocol.RoleDone {
			t.Errorf("%d calls: after %d runs it says %d, %v", calls, last, lb.Runs, lb.Followed["web/0.app:url"])
		}
		j.Close()
	}
}
