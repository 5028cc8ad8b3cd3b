package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// followed is what is known about the cells that the server's roles follow.
type followed struct {
	changed chan struct{} // one of them may have changed

	mu      sync.Mutex
	watched map[contract.CellName]bool
	known   map[contract.CellName]protocol.CellRecord // without values; only unchanged ones
	said    map[string]string                         // by role, the status already written into its outputs
	groups  map[string]bool                           // that are watched
	awaited map[string]awaited                        // by role, the cell it waits for in a change of the plan
	lost    map[contract.CellName]int64               // the change in which its writer was gone for long
}

func newFollowed() *followed {
	return &followed{changed: make(chan struct{}, 1), watched: map[contract.CellName]bool{},
		known: map[contract.CellName]protocol.CellRecord{}, said: map[string]string{}, groups: map[string]bool{},
		awaited: map[string]awaited{}, lost: map[contract.CellName]int64{}}
}

// stale notes that a cell may have changed.
func (f *followed) stale(cell contract.CellName) {
	f.mu.Lock()
	delete(f.known, cell)
	f.mu.Unlock()
	f.wake()
}

// wake reports a change of something that is not kept here.
func (f *followed) wake() { store.Wake(f.changed) }

// watchGroup starts watching the members of a group, once.
func (f *followed) watchGroup(ctx context.Context, m *member.Member, group string) error {
	if !begins(f, f.groups, group) {
		return nil
	}
	return m.FollowMembers(ctx, group, f.wake)
}

// begins notes that something is watched, and reports whether it was not before.
func begins[K comparable](f *followed, watched map[K]bool, what K) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := watched[what]
	watched[what] = true
	return !before
}

// watch starts watching a cell, once.
func (f *followed) watch(ctx context.Context, m *member.Member, cell contract.CellName) error {
	if !begins(f, f.watched, cell) {
		return nil
	}
	err := m.Follow(ctx, cell, func() { f.stale(cell) })
	if _, left := errors.AsType[*member.FailedCellError](err); left {
		return nil // it was removed from the plan
	}
	return err
}

// read returns a cell, without its value if it is cached.
func (f *followed) read(ctx context.Context, m *member.Member, cell contract.CellName) (protocol.CellRecord, error) {
	f.mu.Lock()
	r, known := f.known[cell]
	if !known {
		f.known[cell] = protocol.CellRecord{State: protocol.Empty} // from here on a change is noticed
	}
	f.mu.Unlock()
	if known {
		return r, nil
	}
	r, err := m.Cell(ctx, cell)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		delete(f.known, cell)
		return r, err
	}
	if _, unchanged := f.known[cell]; unchanged {
		bare := r
		bare.Value = nil
		f.known[cell] = bare
	}
	return r, nil
}

// forget makes the next look read all of the cells.
func (f *followed) forget(cells []contract.Follow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range cells {
		delete(f.known, c.Cell)
	}
}

// reset forgets what was seen, because the plan has changed.
func (f *followed) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.known)
	clear(f.said)
}
