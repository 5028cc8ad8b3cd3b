// Package journaltest is a disk for tests of what is stored on it: it can be full, and it knows what
// a loss of power would take.
package journaltest

import (
	"maps"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/runtime/journal"
)

// Disk is a folder. Nothing is really synced.
type Disk struct {
	journal.Folder
	// Full limits what can be written from now on, to Left bytes. A write that is too long is written
	// in part.
	Full bool
	Left int
	// BadSync fails the calls that sync a file.
	BadSync bool

	unsynced map[string]bool // files, and "." for their names
}

// New is an empty disk.
func New(t *testing.T) *Disk {
	return &Disk{Folder: journal.Folder(t.TempDir()), unsynced: map[string]bool{}}
}

// ExpectSynced fails the test if a loss of power would take something.
func (d *Disk) ExpectSynced(t *testing.T, when string) {
	t.Helper()
	if len(d.unsynced) > 0 {
		t.Errorf("%s, these are not synced: %q", when, slices.Sorted(maps.Keys(d.unsynced)))
	}
}

func (d *Disk) Create(name string) (journal.File, error) {
	f, err := d.Folder.Create(name)
	d.unsynced[name], d.unsynced["."] = true, true
	return &file{f, d, name}, err
}

func (d *Disk) Append(name string) (journal.File, error) {
	f, err := d.Folder.Append(name)
	return &file{f, d, name}, err
}

func (d *Disk) Rename(from, to string) error {
	if d.unsynced[from] {
		d.unsynced[to] = true
	}
	delete(d.unsynced, from)
	d.unsynced["."] = true
	return d.Folder.Rename(from, to)
}

func (d *Disk) Sync() error {
	delete(d.unsynced, ".")
	return nil
}

type file struct {
	journal.File
	disk *Disk
	name string
}

func (f *file) Write(text []byte) (int, error) {
	d := f.disk
	d.unsynced[f.name] = true
	if !d.Full || len(text) <= d.Left {
		d.Left -= len(text)
		return f.File.Write(text)
	}
	n, err := f.File.Write(text[:d.Left])
	if d.Left = 0; err == nil {
		err = unix.ENOSPC
	}
	return n, err
}

func (f *file) Sync() error {
	if f.disk.BadSync {
		return unix.EIO
	}
	delete(f.disk.unsynced, f.name)
	return nil
}
