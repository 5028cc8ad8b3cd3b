package simulationtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"

	"github.com/hotc-dev/hotc/runtime/journal"
)

// disk is a machine's disk. It outlives the machine's processes, and knows what of it would survive
// a power loss: what was synced, under names that were.
type disk struct {
	mu     sync.Mutex
	names  map[string]*file
	synced map[string]*file
	owner  *mount
}

type file struct {
	text   []byte
	synced int // how many bytes of it are on the disk
}

func newDisk() *disk { return &disk{names: map[string]*file{}, synced: map[string]*file{}} }

// mount is the disk as one process sees it.
type mount struct {
	disk *disk
	dead bool
	// writes does a write to a file, or lets the process end at it.
	writes func(func() error) error
	// room is how much of a write the disk has room for.
	room func(size int) int
}

var errDead = errors.New("the process does not exist any more")

// crash ends a process's access to the disk. A power loss takes the unsynced ends of files, all or
// (torn) a part of them.
func (d *disk) crash(m *mount, power bool, torn func(unsynced int) int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.dead = true
	if d.owner == m {
		d.owner = nil
	}
	if !power {
		return
	}
	d.names = map[string]*file{}
	for name, f := range d.synced {
		f.text = f.text[:f.synced+torn(len(f.text)-f.synced)]
		f.synced = len(f.text)
		d.names[name] = f
	}
}

func (m *mount) enter() (leave func(), err error) {
	m.disk.mu.Lock()
	if m.dead {
		m.disk.mu.Unlock()
		return nil, errDead
	}
	return m.disk.mu.Unlock, nil
}

// Lock implements journal.Disk.
func (m *mount) Lock() (io.Closer, error) {
	leave, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if m.disk.owner != nil {
		return nil, fmt.Errorf("the simulated disk: %w", journal.ErrLocked)
	}
	m.disk.owner = m
	return lock{m}, nil
}

type lock struct{ mount *mount }

// Close releases the lock.
func (l lock) Close() error {
	l.mount.disk.mu.Lock()
	defer l.mount.disk.mu.Unlock()
	if l.mount.disk.owner == l.mount {
		l.mount.disk.owner = nil
	}
	return nil
}

func (d *disk) find(name string) (*file, error) {
	f := d.names[name]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return f, nil
}

// Read implements journal.Disk.
func (m *mount) Read(name string) ([]byte, error) {
	leave, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	f, err := m.disk.find(name)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(f.text), nil
}

// Create implements journal.Disk.
func (m *mount) Create(name string) (journal.File, error) {
	leave, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	f := &file{}
	m.disk.names[name] = f
	return handle{m, f}, nil
}

// Append implements journal.Disk.
func (m *mount) Append(name string) (journal.File, error) {
	leave, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	f, err := m.disk.find(name)
	if err != nil {
		return nil, err
	}
	return handle{m, f}, nil
}

// Rename implements journal.Disk.
func (m *mount) Rename(from, to string) error {
	leave, err := m.enter()
	if err != nil {
		return err
	}
	defer leave()
	m.disk.names[to] = m.disk.names[from]
	delete(m.disk.names, from)
	return nil
}

// Sync implements journal.Disk.
func (m *mount) Sync() error {
	leave, err := m.enter()
	if err != nil {
		return err
	}
	defer leave()
	m.disk.synced = map[string]*file{}
	for name, f := range m.disk.names {
		m.disk.synced[name] = f
	}
	return nil
}

// handle is an open file.
type handle struct {
	mount *mount
	file  *file
}

func (h handle) Write(text []byte) (n int, err error) {
	err = h.mount.writes(func() error {
		leave, err := h.mount.enter()
		if err != nil {
			return err
		}
		defer leave()
		n = h.mount.room(len(text))
		h.file.text = append(h.file.text, text[:n]...)
		if n < len(text) {
			return syscall.ENOSPC
		}
		return nil
	})
	return n, err
}

func (h handle) Truncate(size int64) error {
	leave, err := h.mount.enter()
	if err != nil {
		return err
	}
	defer leave()
	h.file.text = h.file.text[:size]
	h.file.synced = min(h.file.synced, int(size))
	return nil
}

func (h handle) Sync() error {
	leave, err := h.mount.enter()
	if err != nil {
		return err
	}
	defer leave()
	h.file.synced = len(h.file.text)
	return nil
}

func (h handle) Close() error { return nil }
