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
	"github.com/hotc-dev/hotc/coordinator"
)

// Renew is Put of a run that may be the next one of its role: another value than the one that
// stands takes its place, as the cell's next version.
func (m *Session) Renew(ctx context.Context, cell contract.CellName, value json.RawMessage, stamp coordinator.Stamp, now time.Time) error {
	return m.put(ctx, cell, value, &renewal{stamp}, now)
}

// renewal is what belongs to a value that may take another one's place.
type renewal struct{ stamp coordinator.Stamp }

// follow makes the record that comes after another one, which may have been taken back: the
// same value again is the same version.
func (n *renewal) follow(there, kept, fresh coordinator.CellRecord) coordinator.CellRecord {
	fresh.Stamp = n.stamp.Keeping(there.Stamp)
	if there.State == coordinator.Empty && there.Version > 0 && kept.Value != nil && kept.At() == there.At() && bytes.Equal(kept.Value, fresh.Value) {
		fresh.Version = there.Version
	}
	return fresh
}

// Stamp gives the server's own cells that hold values the stamp of a run that has ended and,
// where it has failed, why. ErrFenced.
func (m *Session) Stamp(ctx context.Context, cells []contract.CellName, stamp coordinator.Stamp, cause *coordinator.Cause) error {
	m.forget(cells...)
	err := m.rewrite(ctx, cells, func(number int, r coordinator.CellRecord) (coordinator.CellRecord, bool) {
		now := stamp.Keeping(r.Stamp)
		is := r.State == coordinator.Valued && r.Incarnation == number && !sameStamp(r, now, cause)
		r.Stamp, r.Cause = now, coordinator.Shorten(cause)
		return r, is
	})
	if err != nil && !errors.Is(err, coordinator.ErrClosed) {
		err = fmt.Errorf("say how far the values of server %s are: %w", m.server, err)
	}
	if err == nil {
		m.keepStamps(cells, stamp, cause)
	}
	return err
}

// keepStamps keeps what the cells say now, to put it back.
func (m *Member) keepStamps(cells []contract.CellName, stamp coordinator.Stamp, cause *coordinator.Cause) {
	kept, err := m.memory.Kept()
	for _, cell := range cells {
		now := stamp.Keeping(kept[cell].Stamp)
		if r := kept[cell]; err == nil && r.State == coordinator.Valued && !sameStamp(r, now, cause) {
			r.Stamp, r.Cause = now, coordinator.Shorten(cause)
			m.keep(cell, r)
		}
	}
}

func sameStamp(r coordinator.CellRecord, stamp coordinator.Stamp, cause *coordinator.Cause) bool {
	return maps.Equal(r.Stamp, stamp) && (r.Cause == nil) == (cause == nil) && (cause == nil || r.Cause.String() == coordinator.Shorten(cause).String())
}

// Follow calls changed whenever a cell may hold something else, until ctx ends.
func (m *Member) Follow(ctx context.Context, cell contract.CellName, changed func()) error {
	ref, err := m.place(cell)
	if err != nil {
		return err
	}
	paths := []coordinator.Path{m.deployment.Cell(ref)}
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

func (m *Member) followPath(ctx context.Context, what string, path coordinator.Path, changed func()) error {
	if err := coordinator.OnChange(ctx, m.store, path, changed); err != nil {
		return fmt.Errorf("follow %s: %w", what, err)
	}
	return nil
}
