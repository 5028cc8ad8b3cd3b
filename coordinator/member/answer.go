package member

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Asked reads the requests to the server's agent. An older list may be shown again: each request has
// a random id, and is answered once. Operators are told that it is older, so that the number of the
// next one is larger. ErrForged.
func (m *Member) Asked(ctx context.Context) (protocol.RequestsRecord, error) {
	path, what := m.deployment.Requests(m.server), "the request list of server "+string(m.server)
	return lasts(ctx, m, func() (asked protocol.RequestsRecord, err error) {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return asked, fmt.Errorf("read %s: %w", what, m.gone(ctx, err))
		}
		if len(node.Data) == 0 || string(node.Data) == "{}" {
			return asked, nil
		}
		text, number, err := m.open(protocol.KindRequests, "", what, node.Data)
		if err != nil {
			return asked, m.explainForged(ctx, err)
		}
		if err := m.notOlder(ctx, protocol.KindRequests, number); err != nil && !errors.Is(err, ErrOlder) {
			return asked, fmt.Errorf("%s: %w", what, err)
		}
		return protocol.Decode[protocol.RequestsRecord](path, text)
	})
}

// Answers reads the answers of the server's agent.
func (m *Member) Answers(ctx context.Context) ([]protocol.Answer, error) {
	r, err := readOwn[protocol.AnswersRecord](ctx, m, protocol.KindAnswers, "answers", m.deployment.Answers(m.server))
	return r.Answers, err
}

// Answer writes the server's answers. If they are too large together, the oldest lose their output.
// ErrFenced.
func (m *Session) Answer(ctx context.Context, answers []protocol.Answer) error {
	answers = slices.Clone(answers)
	data, err := protocol.Encode(protocol.AnswersRecord{Answers: answers})
	for i := 0; err == nil && len(data) > m.limit() && i < len(answers); i++ {
		answers[i].Output = ""
		data, err = protocol.Encode(protocol.AnswersRecord{Answers: answers})
	}
	if err == nil {
		err = m.overwrite(ctx, m.deployment.Answers(m.server), func() ([]byte, error) {
			return m.signOwn(protocol.KindAnswers, protocol.AnswersRecord{Answers: answers})
		})
	}
	if err != nil {
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
		case r.State == protocol.Failed || values && r.State == protocol.Valued:
			m.keep(cell, protocol.CellRecord{State: protocol.Empty, Incarnation: r.Incarnation, Version: r.Version, Value: r.Value})
		case r.RoleFailed:
			r.RoleFailed, r.Cause = false, nil
			m.keep(cell, r)
		}
	}
	if err != nil {
		return err
	}
	err = m.rewrite(ctx, cells, func(number int, r protocol.CellRecord) (protocol.CellRecord, bool) {
		if r.RoleFailed && !values {
			r.RoleFailed, r.Cause = false, nil
			return r, r.Incarnation == number
		}
		back := r.State == protocol.Failed || values && r.State == protocol.Valued && r.Incarnation == number
		return protocol.CellRecord{State: protocol.Empty, Incarnation: number, Version: r.Version}, back
	})
	if err != nil {
		return fmt.Errorf("reset the failed cells of server %s: %w", m.server, err)
	}
	return nil
}

// rewrite applies change to the server's own cells. Cells that were removed from the plan are
// skipped.
func (m *Member) rewrite(ctx context.Context, cells []contract.CellName, change func(number int, r protocol.CellRecord) (now protocol.CellRecord, is bool)) error {
	return m.commitOwn(ctx, func() ([]store.Op, error) {
		f, err := m.enrolled()
		if err != nil {
			return nil, err
		}
		var ops []store.Op
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
			ops = append(ops, store.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data})
		}
		return ops, nil
	})
}

// commitOwn commits writes of the server's own nodes, with a check of its incarnation, in as many
// requests as needed. It starts over when a version has changed.
func (m *Member) commitOwn(ctx context.Context, writes func() ([]store.Op, error)) error {
	for {
		f, err := m.enrolled()
		if err != nil {
			return err
		}
		learnt := m.knownPlans().learnt
		rest, err := writes()
		for err == nil && len(rest) > 0 {
			var ops []store.Op
			ops, rest = m.fill(m.checks(f), rest)
			err = m.commit(ctx, learnt, ops...)
		}
		if !errors.Is(err, store.ErrVersion) {
			return m.gone(ctx, err)
		}
		if err := m.checkFence(ctx); err != nil {
			return err
		}
	}
}

// overwrite writes a node of the server's own, whatever its content. It is encoded at each attempt: after a loss it is
// signed for the deployment that was restored.
func (m *Member) overwrite(ctx context.Context, path store.Path, encoded func() ([]byte, error)) error {
	return m.commitOwn(ctx, func() ([]store.Op, error) {
		data, err := encoded()
		return []store.Op{{Path: path, Version: store.AnyVersion, Write: true, Data: data}}, err
	})
}
