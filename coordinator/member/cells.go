package member

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// ErrOtherValue says that the cell already holds a different value of this incarnation.
var ErrOtherValue = errors.New("it was already published with a different value")

// FailedCellError says that a cell was marked failed, and why.
type FailedCellError struct {
	Cell  contract.CellName
	Cause *protocol.Cause
}

func (e *FailedCellError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%s failed", e.Cell)
	}
	return fmt.Sprintf("%s failed: %v", e.Cell, e.Cause)
}

// Put writes a cell of the server's own. Writing the same value again is a no-op: the order of keys
// and white space do not count. ErrOtherValue, ErrTooLarge, ErrNotInPlan, ErrFenced;
// *FailedCellError when the cell was marked failed.
func (m *Session) Put(ctx context.Context, cell contract.CellName, value json.RawMessage, now time.Time) error {
	return m.put(ctx, cell, value, nil, now)
}

// put is Put or, with a renewal, Renew. The record is on the machine's disk before it is committed:
// however the commit is interrupted, it can be published again (Republish).
func (m *Member) put(ctx context.Context, cell contract.CellName, value json.RawMessage, again *renewal, now time.Time) error {
	ref := contract.CellRef{Cell: cell, Server: m.server, Sealed: m.sealing.has(cell)}
	m.mu.Lock()
	mine := m.own[cell]
	m.mu.Unlock()
	if !mine {
		return fmt.Errorf("publish %s: %w", cell, ErrNotInPlan)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return fmt.Errorf("publish %s: the value is not JSON: %w", cell, err)
	}
	if size, limit := compact.Len(), m.valueLimit(cell); size > limit {
		return fmt.Errorf("publish %s: the value has %d bytes as JSON, the limit of a cell is %d: %w", cell, size, limit, store.ErrTooLarge)
	}
	if m.sealing.has(cell) {
		select {
		case m.sealing.boxing <- struct{}{}:
			defer func() { <-m.sealing.boxing }()
		case <-ctx.Done():
			return fmt.Errorf("publish %s: %w", cell, context.Cause(ctx))
		}
	}
	for {
		f, err := m.enrolled()
		if err != nil {
			return fmt.Errorf("publish %s: %w", cell, err)
		}
		version, record, err := m.ownCell(ctx, ref)
		if err != nil {
			return err
		}
		if record.State != protocol.Empty && record.Incarnation == f.record.Number {
			if record, err = m.opened(ctx, ref, record); err != nil {
				return fmt.Errorf("publish %s: %w", cell, err)
			}
			m.keepFound(cell, record)
			err := compareCell(cell, record, value)
			if again == nil || !errors.Is(err, ErrOtherValue) {
				return err
			}
		}
		kept, _ := m.memory.Kept() // keep reports an error
		last := record
		if record.Incarnation == 0 { // never written, or emptied by somebody: readers may have seen more
			last = kept[cell]
		}
		fresh := protocol.CellRecord{State: protocol.Valued, Incarnation: f.record.Number, Version: last.Next(f.record.Number), Value: compact.Bytes(), Since: now.UTC()}
		if again != nil {
			fresh = again.follow(record, kept[cell], fresh)
		}
		m.keep(cell, fresh)
		if err = m.writeCell(ctx, f, ref, version, fresh); err == nil {
			return nil
		}
		if errors.Is(err, store.ErrTooLarge) || errors.Is(err, errMissing) { // it was not published
			before := kept[cell]
			before.State = cmp.Or(before.State, protocol.Empty)
			m.keep(cell, before)
		}
		if errors.Is(err, store.ErrVersion) { // or the answer to this commit was lost
			err = m.checkFence(ctx)
		}
		if err != nil {
			return fmt.Errorf("publish %s: %w", cell, err)
		}
	}
}

// writeCell writes a cell of the server's own, and seals it if needed.
func (m *Member) writeCell(ctx context.Context, f fence, ref contract.CellRef, version store.Version, record protocol.CellRecord) error {
	var box sealedBox
	var key []store.Op
	if record.State == protocol.Valued {
		var err error
		if record, key, box, err = m.fillRecord(ctx, ref, record); err != nil {
			return err
		}
	}
	data, err := m.signCell(ref, record)
	if err != nil {
		return err
	}
	write := store.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data}
	err = m.store.Commit(ctx, m.checks(f, append([]store.Op{write}, key...)...)...)
	m.forget(ref.Cell)
	if record.Sealed != "" {
		m.sealing.written(ref.Cell, box, err == nil)
	}
	if err != nil && !errors.Is(err, store.ErrVersion) {
		err = m.gone(ctx, err)
	}
	return err
}

// ownCell is a cell of the server's own, from the cache if it is known to be empty.
func (m *Member) ownCell(ctx context.Context, ref contract.CellRef) (store.Version, protocol.CellRecord, error) {
	m.mu.Lock()
	version, empty := m.empty[ref.Cell]
	m.mu.Unlock()
	if empty {
		return version, protocol.CellRecord{State: protocol.Empty}, nil
	}
	record, version, err := m.readCell(ctx, ref)
	return version, record, err
}

// compareCell returns nil if a written cell already holds this value.
func compareCell(cell contract.CellName, there protocol.CellRecord, value json.RawMessage) error {
	switch {
	case there.State == protocol.Failed:
		return fmt.Errorf("publish: %w", &FailedCellError{cell, there.Cause})
	case protocol.SameValue(there.Value, value):
		return nil
	default:
		return fmt.Errorf("publish %s: %w", cell, ErrOtherValue)
	}
}
