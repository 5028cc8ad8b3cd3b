package role

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// cellCache keeps the first value that a run sees of each cell, so that it never sees two.
type cellCache struct {
	mu      sync.Mutex
	records map[contract.CellName]protocol.CellRecord
}

func (c *cellCache) record(cell contract.CellName) protocol.CellRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.records[cell]
}

func (c *cellCache) get(cell contract.CellName) (json.RawMessage, bool) {
	r := c.record(cell)
	return r.Value, r.State == protocol.Valued
}

func (c *cellCache) put(cell contract.CellName, r protocol.CellRecord) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.records[cell]; first.State == protocol.Valued {
		return first.Value
	}
	if c.records == nil {
		c.records = map[contract.CellName]protocol.CellRecord{}
	}
	c.records[cell] = r
	return r.Value
}

// pin fixes, for a role that follows cells, the values of all that it may read, until the
// run ends: the values that led to the decision to run, or otherwise the current ones.
func (l *life) pin() error {
	if l.task != nil {
		for cell, r := range l.task.Pins {
			l.cells.put(cell, r)
		}
	}
	others := false // cells that are not from outside count
	for _, f := range l.role.Follows {
		outside := f.Cell.FromOutside()
		others = others || !outside && f.Watch || len(f.Sources) > 0
		if outside {
			if err := l.pinCell(f.Cell); err != nil {
				return err
			}
		}
	}
	if !others {
		return nil
	}
	for _, in := range l.role.Inputs {
		for _, cell := range in.Reads {
			if l.ofMember(cell) { // membership is decided separately
				continue
			}
			if err := l.pinCell(cell); err != nil {
				return err
			}
		}
	}
	if l.task == nil {
		return nil // its reads may wait for them
	}
	return l.pinMembers()
}

// pinCell fixes a cell's current value, if it can be read; otherwise its read fails.
func (l *life) pinCell(cell contract.CellName) error {
	if _, known := l.cells.get(cell); known {
		return nil
	}
	r, err := l.host.Cells.Cell(l.ctx, cell)
	switch {
	case l.ending() != nil:
		return l.ending()
	case stopsAgent(err):
		return err
	case err == nil && (r.State == protocol.Valued || r.State == protocol.Failed): // a failure is a version, too
		l.cells.put(cell, r)
	}
	return nil
}

func (l *life) ofMember(cell contract.CellName) bool {
	return slices.ContainsFunc(l.follows, func(f contract.Follow) bool { return f.Cell == cell && f.Machine() != nil })
}

// followed returns the run's versions of what its role follows.
func (l *life) followed() journal.Followed {
	if len(l.role.Follows) == 0 {
		return nil
	}
	all := journal.Followed{}
	for i := range l.role.Follows {
		f := &l.role.Follows[i]
		if r := l.cells.record(f.Cell); r.State != "" && l.members.has(f) {
			all[f.Cell] = r.Input()
		}
	}
	return all
}

// stamp is the stamp of the run's outputs, and why they are not made of the newest.
func (l *life) stamp() (protocol.Stamp, *protocol.Cause) {
	l.mu.Lock()
	run := protocol.Count{l.host.Journal.Incarnation(), l.now.Runs}
	l.mu.Unlock()
	key := l.host.Key(l.role.Name)
	stamp := reconcile.StampOf(&l.role, key, run, l.cells.record)
	if l.host.Change > 0 {
		stamp = stamp.Keeping(protocol.PlanStamp(l.host.Change))
	}
	return stamp, reconcile.LackOf(&l.role, key, l.cells.record)
}
