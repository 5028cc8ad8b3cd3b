package agent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// Heat's values are in the boot file as of the server's creation, in the coordinator as a relay has
// last read them, and in the journal as they were last read there: the record is gone once the
// stack has no relay. The relay's record has precedence, if it is about this machine: a server that
// Nova rebuilds boots with its old user-data, a new one of the same name with newer user-data than
// the record of its predecessor.

// heatValues are the current values that Heat supplies to the server.
type heatValues struct {
	boot     map[string]json.RawMessage
	instance string

	mu      sync.Mutex
	plan    *contract.Server
	watched bool
	record  protocol.HeatValues
	// older says that a newer record was seen than the one that is served now.
	older   bool
	stale   map[string]bool // keys whose values in the boot file are ignored
	changed chan struct{}   // closed when a value may have changed
}

func newHeatValues(boot map[string]json.RawMessage, instance string) *heatValues {
	return &heatValues{boot: boot, instance: instance, stale: map[string]bool{}, changed: make(chan struct{})}
}

// recall sets the record that this machine knew before. Any record of a relay now is newer.
func (h *heatValues) recall(known *protocol.HeatValues) {
	if known != nil && known.Instance == h.instance {
		h.record = *known
	}
}

// take stores what was read. A record older than one that was seen is ignored.
func (h *heatValues) take(record protocol.HeatValues, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && h.record.Instance == h.instance && record.Instance != h.instance:
		h.record.Number = record.Number // for the machine that replaces this one, which keeps its values
	case err == nil:
		h.record, h.older = record, false
	case h.record.Number == 0:
		h.older = h.older || errors.Is(err, member.ErrOlder)
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// anew takes a changed plan, and forgets the values that it adds: user-data, and the relay's record,
// may be older. It reports whether relays may carry more than before, so that their record has to be
// read again.
func (h *heatValues) anew(before, now *contract.Server) (more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plan = now
	h.record.Values = maps.Clone(h.record.Values) // the journal has it, too
	for key, v := range now.Deploy {
		was, had := before.Deploy[key]
		more = more || v.Carried && !was.Carried
		if !had && v.Carried {
			h.stale[key] = true
			delete(h.record.Values, key)
		}
	}
	return more
}

// cell is a value as a cell; empty if it is not known yet.
func (h *heatValues) cell(key string) (now protocol.CellRecord, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	value, there := h.boot[key]
	there = there && !h.stale[key]
	if h.record.Instance == h.instance && h.record.Values[key] != nil {
		value, there = h.record.Values[key], true
	}
	if !there || h.older {
		return protocol.CellRecord{State: protocol.Empty}, h.changed
	}
	return protocol.HeatRecordOf(value, h.record.Number), h.changed
}

// going reports whether Heat deletes this machine, which has the incarnation.
func (h *heatValues) going(incarnation int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.record.Going > 0 && h.record.Going == incarnation && h.record.Instance == h.instance && !h.older
}

// again is the update for which Heat has this machine's failed roles run again; "" is none.
func (h *heatValues) again() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.record.Instance != h.instance || h.older {
		return ""
	}
	return h.record.Again
}

// all are the values by key, for uses other than a role's inputs.
func (h *heatValues) all() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for key := range h.boot {
		all[key] = h.boot[key]
		if now, _ := h.cell(key); now.State == protocol.Valued {
			all[key] = now.Value
		}
	}
	return all
}

// ran is what a role has run with. One that ran before the plan made it follow Heat's values has
// run with those of the boot file.
func (h *heatValues) ran(r *contract.Role, noted journal.Followed) journal.Followed {
	all := noted
	for _, f := range r.Follows {
		key, heats := f.Cell.HeatKey()
		if _, known := noted[f.Cell]; !heats || known || h.boot[key] == nil {
			continue
		}
		if len(all) == len(noted) {
			if all = maps.Clone(noted); all == nil {
				all = journal.Followed{}
			}
		}
		first := protocol.HeatRecordOf(h.boot[key], 0)
		all[f.Cell] = first.At()
	}
	return all
}

// withHeat are the cells of a server, including those that stand for Heat's values.
type withHeat struct {
	*member.Session
	heat *heatValues
}

// Cell is Member.Cell.
func (c withHeat) Cell(ctx context.Context, cell contract.CellName) (protocol.CellRecord, error) {
	if key, heats := cell.HeatKey(); heats {
		now, _ := c.heat.cell(key)
		return now, nil
	}
	return c.Session.Cell(ctx, cell)
}

// AwaitRecord is Member.AwaitRecord. It waits for a relay forever, since one may be started at any time.
func (c withHeat) AwaitRecord(ctx context.Context, cell contract.CellName, o member.AwaitOptions) (protocol.CellRecord, error) {
	key, heats := cell.HeatKey()
	if !heats {
		return c.Session.AwaitRecord(ctx, cell, o)
	}
	for {
		now, changed := c.heat.cell(key)
		if now.State == protocol.Valued {
			return now, nil
		}
		if o.Blocked != nil {
			o.Blocked(time.Now())
			o.Blocked = nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, context.Cause(ctx)
		}
	}
}

// cells are what the server's roles read and write.
func (a *agent) cells() withHeat { return withHeat{a.session, a.heat} }

// relayed reports whether a relay may carry a deploy-time value of the server.
func (h *heatValues) relayed(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plan != nil && h.plan.Deploy[key].Carried
}

// watchHeat reads Heat's values, and again whenever they change, once the plan has any.
func (a *agent) watchHeat(ctx context.Context) error {
	a.heat.mu.Lock()
	a.heat.plan = a.plan
	known := a.heat.watched || !protocol.HearsOfHeat(a.plan, a.plan.Relayed)
	a.heat.watched = a.heat.watched || !known
	a.heat.mu.Unlock()
	if known {
		return nil
	}
	if err := a.readHeat(ctx); err != nil {
		return err
	}
	return a.member.FollowHeat(ctx, func() {
		said := ""
		for err := a.readHeat(ctx); err != nil && ctx.Err() == nil; err = a.readHeat(ctx) {
			if text := err.Error(); text != said { // such as a full disk
				a.console.say("%s; next attempt in %v", text, a.Retry)
				said = text
			}
			_ = store.Pause(ctx, a.Retry)
		}
	})
}

// readHeat reads Heat's values. A record that no relay has written is ignored, and so is a value that
// the plan lets no relay carry: a hidden parameter, for example, which only the boot file has.
func (a *agent) readHeat(ctx context.Context) error {
	record, err := a.member.Heat(ctx)
	if err != nil && !errors.Is(err, protocol.ErrForged) && !errors.Is(err, member.ErrOlder) {
		return err
	}
	if err != nil {
		a.console.say("%v", err)
	}
	maps.DeleteFunc(record.Values, func(key string, _ json.RawMessage) bool { return !a.heat.relayed(key) })
	if before := a.journal.Remembered().Heat; err == nil && record.Instance == a.Instance && (before == nil || !before.Same(record)) {
		if err := a.journal.Remember(member.Remembered{Heat: &record}); err != nil {
			return err
		}
	}
	a.heat.take(record, err)
	a.follows.wake()
	return nil
}
