package member

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// Asked reads the requests to the server's agent. An older list may be shown again: each request has
// a random id, and is answered once. Operators are told that it is older, so that the number of the
// next one is larger. ErrForged.
func (m *Member) Asked(ctx context.Context) (coordinator.RequestsRecord, error) {
	path, what := m.deployment.Requests(m.server), "the request list of server "+string(m.server)
	return lasts(ctx, m, func() (asked coordinator.RequestsRecord, err error) {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return asked, fmt.Errorf("read %s: %w", what, m.gone(ctx, err))
		}
		if len(node.Data) == 0 || string(node.Data) == "{}" {
			return asked, nil
		}
		text, number, err := m.open(coordinator.KindRequests, "", what, node.Data)
		if err != nil {
			return asked, m.explainForged(ctx, err)
		}
		if err := m.notOlder(ctx, coordinator.KindRequests, number); err != nil && !errors.Is(err, ErrOlder) {
			return asked, fmt.Errorf("%s: %w", what, err)
		}
		return coordinator.Decode[coordinator.RequestsRecord](path, text)
	})
}

// Answers reads the answers of the server's agent.
func (m *Member) Answers(ctx context.Context) ([]coordinator.Answer, error) {
	r, err := readOwn[coordinator.AnswersRecord](ctx, m, coordinator.KindAnswers, "answers", m.deployment.Answers(m.server))
	return r.Answers, err
}

// Answer writes the server's answers. If they are too large together, the oldest lose their output.
// ErrFenced.
func (m *Session) Answer(ctx context.Context, answers []coordinator.Answer) error {
	answers = slices.Clone(answers)
	data, err := coordinator.Encode(coordinator.AnswersRecord{Answers: answers})
	for i := 0; err == nil && len(data) > m.limit() && i < len(answers); i++ {
		answers[i].Output = ""
		data, err = coordinator.Encode(coordinator.AnswersRecord{Answers: answers})
	}
	if err == nil {
		data, err = m.signOwn(coordinator.KindAnswers, coordinator.AnswersRecord{Answers: answers})
	}
	if err != nil {
		return fmt.Errorf("write the answers of server %s: %w", m.server, err)
	}
	if err = m.overwrite(ctx, m.deployment.Answers(m.server), data); err != nil {
		return fmt.Errorf("write the answers of server %s: %w", m.server, err)
	}
	return nil
}

// TakeBack empties those of the server's own cells that have failed in this incarnation: the roles
// that should have written them run again. With values it also empties what their last attempt has
// published, so that no role starts with it; otherwise that stays, as if the role had not failed.
// ErrFenced.
func (m *Session) TakeBack(ctx context.Context, cells []contract.CellName, values bool) error {
	m.forget(cells...)
	kept, err := m.memory.Kept()
	for _, cell := range cells {
		switch r := kept[cell]; {
		case err != nil:
		case r.State == coordinator.Failed || values && r.State == coordinator.Valued:
			m.keep(cell, coordinator.CellRecord{State: coordinator.Empty, Incarnation: r.Incarnation, Version: r.Version, Value: r.Value})
		case r.RoleFailed:
			r.RoleFailed, r.Cause = false, nil
			m.keep(cell, r)
		}
	}
	if err != nil {
		return err
	}
	err = m.rewrite(ctx, cells, func(number int, r coordinator.CellRecord) (coordinator.CellRecord, bool) {
		if r.RoleFailed && !values {
			r.RoleFailed, r.Cause = false, nil
			return r, r.Incarnation == number
		}
		back := r.State == coordinator.Failed || values && r.State == coordinator.Valued && r.Incarnation == number
		return coordinator.CellRecord{State: coordinator.Empty, Incarnation: number, Version: r.Version}, back
	})
	if err != nil {
		return fmt.Errorf("reset the failed cells of server %s: %w", m.server, err)
	}
	return nil
}

// rewrite applies change to the server's own cells. Cells that were removed from the plan are
// skipped.
func (m *Member) rewrite(ctx context.Context, cells []contract.CellName, change func(number int, r coordinator.CellRecord) (now coordinator.CellRecord, is bool)) error {
	return m.commitOwn(ctx, func() ([]coordinator.Op, error) {
		f, err := m.enrolled()
		if err != nil {
			return nil, err
		}
		var ops []coordinator.Op
		for _, cell := range cells {
			ref := contract.CellRef{Cell: cell, Server: m.server, Sealed: m.sealing.has(cell)}
			record, version, err := m.readCell(ctx, ref)
			if err != nil && m.hasLeft(cell) {
				continue
			}
			if err != nil {
				return nil, err
			}
			now, is := change(f.record.Number, record)
			if !is {
				continue
			}
			data, err := m.signCell(ref, now)
			if err != nil {
				return nil, err
			}
			ops = append(ops, coordinator.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data})
		}
		return ops, nil
	})
}

// commitOwn commits writes of the server's own nodes, with a check of its incarnation, in as many
// requests as needed. It starts over when a version has changed.
func (m *Member) commitOwn(ctx context.Context, writes func() ([]coordinator.Op, error)) error {
	for {
		f, err := m.enrolled()
		if err != nil {
			return err
		}
		learnt := m.knownPlans().learnt
		rest, err := writes()
		for err == nil && len(rest) > 0 {
			var ops []coordinator.Op
			ops, rest = m.fill(m.checks(f), rest)
			err = m.commit(ctx, learnt, ops...)
		}
		if !errors.Is(err, coordinator.ErrVersion) {
			return m.gone(ctx, err)
		}
		if err := m.checkFence(ctx); err != nil {
			return err
		}
	}
}

// overwrite writes a node of the server's own, whatever its content.
func (m *Member) overwrite(ctx context.Context, path coordinator.Path, data []byte) error {
	return m.commitOwn(ctx, func() ([]coordinator.Op, error) {
		return []coordinator.Op{{Path: path, Version: coordinator.AnyVersion, Write: true, Data: data}}, nil
	})
}
