package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Announce keeps the server's presence in place until ctx ends. It returns when the presence exists
// for the first time.
func (m *Session) Announce(ctx context.Context, rec protocol.PresenceRecord) error {
	data, err := protocol.Encode(rec)
	if err != nil {
		return err
	}
	if err := m.store.Announce(ctx, m.deployment.Presence(m.server), data); err != nil {
		return fmt.Errorf("announce server %s: %w", m.server, m.gone(ctx, err))
	}
	return nil
}

// State is what this incarnation last reported; its Phase is "" if it has not.
func (m *Session) State(ctx context.Context) (protocol.ServerState, error) {
	f, err := m.enrolled()
	if err != nil {
		return protocol.ServerState{}, err
	}
	state, err := readOwn[protocol.ServerState](ctx, m.Member, protocol.KindState, "state", m.deployment.State(m.server))
	if state.Incarnation != f.record.Number {
		return protocol.ServerState{}, err
	}
	return state, err
}

// Report writes the server's state and, in the same commit, marks those cells in failed that are
// still empty as failed. If they do not fit into one request, the state is written with the last of
// them, so that an interrupted agent reports again. Output that does not fit is dropped. ErrFenced.
func (m *Session) Report(ctx context.Context, state protocol.ServerState, failed map[contract.CellName]*protocol.Cause) error {
	return m.reportIf(ctx, state, failed, false)
}

// ReportStart is Report for a role that is about to start, if the plan is still the one that was
// last read: a change of the plan sees either that the role is running, or that it will run as
// changed. ErrPlanChanged.
func (m *Session) ReportStart(ctx context.Context, state protocol.ServerState) error {
	return m.reportIf(ctx, state, nil, true)
}

// reportIf is Report; if current is set, only while the plan is the one that was last read.
func (m *Member) reportIf(ctx context.Context, state protocol.ServerState, failed map[contract.CellName]*protocol.Cause, current bool) error {
	select {
	case m.reporting <- struct{}{}:
		defer func() { <-m.reporting }()
	case <-ctx.Done():
		return fmt.Errorf("report of server %s: %w", m.server, context.Cause(ctx))
	}
	for {
		f, err := m.enrolled()
		if err != nil {
			return fmt.Errorf("report of server %s: %w", m.server, err)
		}
		checks := m.checks(f)
		if current {
			checks = append(checks, store.Op{Path: m.deployment.ServerPlan(m.server), Version: m.knownPlans().read})
		}
		err = m.report(ctx, f, checks, state, failed)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrVersion) {
			return fmt.Errorf("report of server %s: %w", m.server, m.gone(ctx, err))
		}
		m.forgetAll()
		err = m.checkFence(ctx)
		if err == nil && current {
			err = m.CheckPlan(ctx)
		}
		if err != nil {
			return fmt.Errorf("report of server %s: %w", m.server, err)
		}
	}
}

func (m *Member) report(ctx context.Context, f fence, checks []store.Op, state protocol.ServerState, failed map[contract.CellName]*protocol.Cause) error {
	marks, marked, err := m.marks(ctx, f, state.Since, failed)
	if err != nil {
		return err
	}
	state.Incarnation = f.record.Number
	data, err := m.encodeState(state)
	if err != nil {
		return err
	}
	version, err := m.stateVersion(ctx)
	if err != nil {
		return err
	}
	for cell, record := range marked { // before the commit, as in put
		m.keep(cell, record)
	}
	last := store.Op{Path: m.deployment.State(m.server), Version: version, Write: true, Data: data}
	for {
		ops, rest := m.fill(append(slices.Clone(checks), last), marks)
		final := len(rest) == 0
		if !final {
			ops, rest = m.fill(slices.Clone(checks), marks)
		}
		if err := m.store.Commit(ctx, ops...); err != nil {
			return err
		}
		if final {
			m.forget(slices.Collect(maps.Keys(failed))...)
			m.noteState(version + 1)
			return nil
		}
		marks = rest
	}
}

// stateVersion is the version of the state that this agent has written or, before that, found: so a
// report of this machine's previous agent that is still in transit fails.
func (m *Member) stateVersion(ctx context.Context) (store.Version, error) {
	m.mu.Lock()
	known := m.state
	m.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	version, exists, err := m.store.Stat(ctx, m.deployment.State(m.server))
	if err == nil && !exists {
		err = m.gone(ctx, store.ErrNotFound)
	}
	if err == nil {
		m.noteState(version)
	}
	return version, err
}

func (m *Member) noteState(version store.Version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = &version
}

// marks are the writes that mark empty cells as failed.
func (m *Member) marks(ctx context.Context, f fence, since time.Time, failed map[contract.CellName]*protocol.Cause) ([]store.Op, Kept, error) {
	var ops []store.Op
	marked := Kept{}
	for _, cell := range slices.Sorted(maps.Keys(failed)) {
		m.mu.Lock()
		mine, left := m.own[cell], m.left[cell]
		m.mu.Unlock()
		switch {
		case left: // the plan was changed
			continue
		case !mine:
			return nil, nil, fmt.Errorf("%s: %w", cell, ErrNotInPlan)
		}
		ref := contract.CellRef{Cell: cell, Server: m.server, Sealed: m.sealing.has(cell)}
		version, record, err := m.ownCell(ctx, ref)
		switch {
		case err != nil && m.hasLeft(cell):
			continue
		case err != nil:
			return nil, nil, err
		}
		if record.State != protocol.Empty && record.Incarnation == f.record.Number {
			if record, err = m.opened(ctx, ref, record); err == nil {
				m.keepFound(cell, record)
			}
			continue
		}
		mark := protocol.CellRecord{State: protocol.Failed, Incarnation: f.record.Number, Version: record.Next(f.record.Number), Cause: protocol.Shorten(failed[cell]), Since: since.UTC()}
		data, err := m.signCell(ref, mark)
		if err != nil {
			return nil, nil, err
		}
		marked[cell] = mark
		ops = append(ops, store.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data})
	}
	return ops, marked, nil
}

// encodeState encodes a state so that it fits into its node, whatever other servers gave as the
// causes of their failures: the roles' output is dropped first, then the causes get shorter, and at
// last it does not say of which versions roles are behind: a relay waits then.
func (m *Member) encodeState(state protocol.ServerState) ([]byte, error) {
	m.mu.Lock()
	state.Newer = maps.Clone(m.older)
	m.mu.Unlock()
	var data []byte
	for _, most := range []struct {
		links, reason int
		unseen        bool
	}{{protocol.LongestChain, protocol.LongestReason, false}, {8, 512, false}, {3, 64, false}, {3, 64, true}} {
		state = state.CutCauses(most.links, most.reason)
		for i := range state.Roles {
			if behind := state.Roles[i].Behind; most.unseen && behind != nil {
				behind.Seen = nil
			}
		}
		for i := -1; i < len(state.Roles); i++ {
			if i >= 0 {
				state.Roles[i].LastLines = ""
			}
			var err error
			if data, err = protocol.Encode(state); err != nil {
				return nil, err
			}
			if len(data) <= m.limit() {
				return m.signOwn(protocol.KindState, state)
			}
		}
	}
	return nil, fmt.Errorf("the state has %d bytes, the coordinator accepts %d: %w", len(data), m.limit(), store.ErrTooLarge)
}

// WriteLog stores the end of a role's output, at most LogSize bytes. It overwrites any version: the
// check of the incarnation in the same commit leaves one writer, and every write is the whole tail.
func (m *Session) WriteLog(ctx context.Context, role string, tail []byte) error {
	tail = tail[max(0, len(tail)-protocol.LogSize):]
	if err := m.overwrite(ctx, m.deployment.Log(m.server, role), func() ([]byte, error) { return tail, nil }); err != nil {
		return fmt.Errorf("write the log of %s.%s: %w", m.server, role, err)
	}
	return nil
}
