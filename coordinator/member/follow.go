package member

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Renew is Put for a run that may be a later one of its role: a different value replaces the
// current one, as the cell's next version. lack is why it is not made of the newest; nil if it is.
func (m *Session) Renew(ctx context.Context, cell contract.CellName, value json.RawMessage, stamp protocol.Stamp, lack *protocol.Cause, now time.Time) error {
	return m.put(ctx, cell, value, &renewal{stamp, protocol.Shorten(lack)}, now)
}

// renewal says that a value may replace another, its stamp, and why it is not made of the newest.
type renewal struct {
	stamp protocol.Stamp
	lack  *protocol.Cause
}

// follow returns the record that replaces another, which may have been reset: the same value keeps
// its version.
func (n *renewal) follow(there, kept, fresh protocol.CellRecord) protocol.CellRecord {
	fresh.Stamp, fresh.Cause = n.stamp.Keeping(there.Stamp), n.lack
	if there.State == protocol.Empty && there.Version > 0 && kept.Value != nil && kept.At() == there.At() && bytes.Equal(kept.Value, fresh.Value) {
		fresh.Version = there.Version
	}
	return fresh
}

// HowFar says which changes a role's values include, and whether its last run failed.
type HowFar struct {
	// Stamp returns the stamp of the values, from the previous one.
	Stamp func(before protocol.Stamp) protocol.Stamp
	// Cause is why the run failed, RoleFailed that it was the role itself and not an update.
	Cause      *protocol.Cause
	RoleFailed bool
}

// of returns the record with this status, and whether it differs.
func (h *HowFar) of(r protocol.CellRecord) (protocol.CellRecord, bool) {
	stamp, cause := h.Stamp(r.Stamp), protocol.Shorten(h.Cause)
	same := maps.Equal(r.Stamp, stamp) && r.RoleFailed == h.RoleFailed && r.Cause.String() == cause.String()
	r.Stamp, r.Cause, r.RoleFailed = stamp, cause, h.RoleFailed
	return r, !same
}

// ofFailed is of for a cell that was marked failed, which has its own cause: who does without its
// value waits for no change that would come through it.
func (h *HowFar) ofFailed(r protocol.CellRecord) (protocol.CellRecord, bool) {
	before := r.Stamp
	r.Stamp = h.Stamp(before)
	return r, !maps.Equal(before, r.Stamp)
}

// Say writes this status into those of the server's own cells that hold values or have failed.
// ErrFenced.
func (m *Session) Say(ctx context.Context, cells []contract.CellName, is HowFar) error {
	m.forget(cells...)
	err := m.rewrite(ctx, cells, func(number int, r protocol.CellRecord) (protocol.CellRecord, bool) {
		now, another := is.of(r)
		if r.State == protocol.Failed {
			now, another = is.ofFailed(r)
		}
		return now, another && r.State != protocol.Empty && r.Incarnation == number
	})
	if err != nil && !errors.Is(err, store.ErrClosed) {
		err = fmt.Errorf("update the stamps of the values of server %s: %w", m.server, err)
	}
	if err != nil {
		return err
	}
	kept, err := m.memory.Kept()
	for _, cell := range cells { // to publish it again after a loss
		if now, another := is.of(kept[cell]); err == nil && another && now.State == protocol.Valued {
			m.keep(cell, now)
		}
	}
	return nil
}

// Follow calls changed whenever a cell may have changed, until ctx ends.
func (m *Member) Follow(ctx context.Context, cell contract.CellName, changed func()) error {
	ref, err := m.place(cell)
	if err != nil {
		return err
	}
	paths := []store.Path{m.deployment.Cell(ref)}
	if ref.Sealed && ref.Server != m.server {
		paths = append(paths, m.deployment.SealsFor(ref.Server, m.server))
	}
	for _, path := range paths {
		if err := m.followPath(ctx, string(cell), path, changed); err != nil {
			return err
		}
	}
	return nil
}

func (m *Member) followPath(ctx context.Context, what string, path store.Path, changed func()) error {
	if err := store.OnChange(ctx, m.store, path, changed); err != nil {
		return fmt.Errorf("follow %s: %w", what, err)
	}
	return nil
}
