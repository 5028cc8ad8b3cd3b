package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// ErrFenced says that another machine has taken over the server's name.
var ErrFenced = errors.New("another machine has taken over this server's name")

// errNotEnrolled is a mistake of the caller.
var errNotEnrolled = errors.New("this agent writes before it has enrolled")

// fence is the incarnation this agent has, and the version of its node: every
// write checks it.
type fence struct {
	record  coordinator.IncarnationRecord
	version coordinator.Version
}

// RememberTries makes Enrol note each incarnation's number before it tries to get
// it. tried is the last one that was noted on this machine, 0 is none. An agent that
// is killed after it got a number, and before it noted so, would otherwise take a
// later machine for an earlier one, and fence it.
func (m *Member) RememberTries(tried int, note func(number int) error) {
	m.tried, m.noteTry = tried, note
}

// try notes the number that is about to be tried.
func (m *Member) try(number int) error {
	if m.noteTry == nil || m.tried == number {
		return nil
	}
	m.tried = number
	return m.noteTry(number)
}

// Session is a member that is the server: everything that writes for it needs one.
type Session struct {
	*Member
	Incarnation coordinator.IncarnationRecord
}

// Enrol makes this machine the server (docs/coordination.md, "Incarnations"). It
// comes after Plan. id is the random one in the agent's
// journal, where enrolledBefore is noted after the first success. ErrFenced says
// that a later machine of the same name is there.
func (m *Member) Enrol(ctx context.Context, id, instance string, enrolledBefore bool, now time.Time) (*Session, error) {
	ended, _ := m.sessionsEnded()
	record, err := m.enrol(ctx, id, instance, enrolledBefore, now)
	if err == nil {
		err = m.takeGiven(ctx)
	}
	if err == nil && m.known().strange {
		err = m.pin()
	}
	if err == nil && m.enrolment.Load() == nil {
		m.ended.Store(ended)
		m.enrolment.Store(&enrolment{id, instance, now})
	}
	if err != nil {
		return nil, err
	}
	return &Session{m, record}, nil
}

func (m *Member) enrol(ctx context.Context, id, instance string, enrolledBefore bool, now time.Time) (coordinator.IncarnationRecord, error) {
	path := m.deployment.Server(m.server)
	tried := m.tried // the number we may have got without learning of it
	replaced := ""   // the machine whose place the last try takes
	before, _ := m.enrolled()
	for {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return coordinator.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
		}
		there := coordinator.ParseIncarnation(node)
		if there.Number > 0 && there.ID == id {
			if m.noteTry != nil && m.tried > 0 && there.Number != m.tried {
				return coordinator.IncarnationRecord{}, coordinator.Forged("the incarnation of server "+string(m.server), "this machine", fmt.Errorf("it has number %d, and never had", there.Number))
			}
			if made, err := m.mendLife(ctx, id); err != nil {
				return coordinator.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
			} else if made {
				continue
			}
			m.hold(fence{there, node.Version})
			if err := m.catchUp(ctx, before); errors.Is(err, coordinator.ErrVersion) {
				continue
			} else if err != nil {
				return coordinator.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
			}
			m.endLife(ctx, replaced)
			return there, errors.Join(m.showKey(ctx), m.sweep(ctx))
		}
		// Numbers only grow: a lower one stands there since an older state was put back.
		again := enrolledBefore && there.Number < m.tried && !m.known().strange
		was := !again && (enrolledBefore || tried > 0 && there.Number > tried)
		if was {
			// A read may come from a server of the ensemble that lags behind; what passes
			// through a commit is how it stands.
			err := m.store.Commit(ctx, coordinator.Op{Path: path, Version: node.Version})
			switch {
			case errors.Is(err, coordinator.ErrVersion):
				continue
			case err != nil:
				return coordinator.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
			}
			if there.Number == 0 || there.Instance == instance || m.known().strange {
				return there, fenced(there)
			}
		}
		if !again && there.Number > 0 && there.Instance != instance {
			own := coordinator.NextRecord{ID: id, Instance: instance, After: there.Number, Since: now.UTC()}
			switch may, err := m.mayReplace(ctx, there, node.Version, own, was); {
			case err != nil:
				return there, err
			case !may:
				continue
			}
		}
		slot, err := m.slotCheck(ctx)
		if err != nil {
			return coordinator.IncarnationRecord{}, err
		}
		if err := m.beginLife(ctx, id); err != nil {
			return coordinator.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
		}
		next := coordinator.IncarnationRecord{Number: nextNumber(there, node.Version), ID: id, Instance: instance, Since: now.UTC()}
		if again {
			next.Number = m.tried
		}
		if err := m.try(next.Number); err != nil {
			return coordinator.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, err)
		}
		replaced = there.ID
		left, err := m.takeOver(ctx, node.Version, next, slot)
		if errors.Is(err, coordinator.ErrVersion) {
			tried = next.Number
			continue
		}
		if err == nil {
			err = m.catchUp(ctx, before)
		}
		switch {
		case errors.Is(err, coordinator.ErrVersion):
			continue
		case err != nil:
			return coordinator.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
		}
		m.endLife(ctx, replaced)
		if left {
			err = m.sweep(ctx)
		}
		return next, err
	}
}

// mostAhead is how much larger than its node's version the number of an incarnation may be: where
// an older state was put back.
const mostAhead = 1000

// nextNumber is that of the machine after the one that is there. No number is larger than its
// node's version, which nobody can set: so readers know one that was never there.
func nextNumber(there coordinator.IncarnationRecord, version coordinator.Version) int {
	if there.Number-int(version) > mostAhead { // who had the name before has made that up
		return int(version) + 1
	}
	return max(there.Number, int(version)) + 1
}

// catchUp lets the version of the server's node grow where it has counted from the beginning again,
// since an older state was put back: not less than the number, and another one than before, so
// that what is still on its way for the state that was lost fails.
func (m *Member) catchUp(ctx context.Context, before fence) error {
	f, err := m.enrolled()
	for err == nil && (int(f.version) < f.record.Number || f.version == before.version) {
		var data []byte
		if data, err = coordinator.Encode(f.record); err == nil {
			err = m.store.Commit(ctx, coordinator.Op{Path: m.deployment.Server(m.server), Version: f.version, Write: true, Data: data})
		}
		if err == nil {
			f.version++
			m.hold(f)
		}
	}
	return err
}

// takeOver commits the next incarnation together with the emptying of the
// predecessor's cells, under further checks. left says that not all of them fitted into
// one commit.
func (m *Member) takeOver(ctx context.Context, version coordinator.Version, next coordinator.IncarnationRecord, checks []coordinator.Op) (left bool, err error) {
	var old, untouched []coordinator.Op
	learnt := m.knownPlans().learnt
	if next.Number > 1 {
		if old, untouched, err = m.leftovers(ctx, next.Number, true); err != nil {
			return false, err
		}
	} else {
		m.believeEmpty()
	}
	data, err := coordinator.Encode(next)
	if err != nil {
		return false, err
	}
	ops := append([]coordinator.Op{{Path: m.deployment.Server(m.server), Version: version, Write: true, Data: data}, m.checkLife(next.ID)}, checks...)
	if public, err := m.publicOp(next.Number); err != nil {
		return false, err
	} else if public != nil {
		ops = append(ops, *public)
	}
	ops, rest := m.fill(ops, slices.Concat(old, untouched))
	if err := m.commit(ctx, learnt, ops...); err != nil {
		return false, err
	}
	m.hold(fence{next, version + 1})
	return len(rest) > 0, nil
}

// sweep empties what an earlier incarnation left in the server's cells: one
// commit took over the name, but not all cells may have fitted into it.
func (m *Member) sweep(ctx context.Context) error {
	for {
		f, err := m.enrolled()
		if err != nil {
			return err
		}
		learnt := m.knownPlans().learnt
		old, _, err := m.leftovers(ctx, f.record.Number, false)
		if err != nil {
			return fmt.Errorf("empty the cells of server %s: %w", m.server, m.gone(ctx, err))
		}
		if len(old) == 0 {
			return nil
		}
		ops, _ := m.fill(m.checks(f), old)
		if err := m.commit(ctx, learnt, ops...); err != nil && !errors.Is(err, coordinator.ErrVersion) {
			return fmt.Errorf("empty the cells of server %s: %w", m.server, m.gone(ctx, err))
		}
		m.forgetAll()
		if err := m.checkFence(ctx); err != nil {
			return err
		}
	}
}

// leftovers are the writes that empty the cells which an incarnation before
// number has filled, and the checks that the others are still as they were seen:
// until the name is taken over, the predecessor may write, as the next one, too: such
// cells come first. Cells that are empty are noted as such.
func (m *Member) leftovers(ctx context.Context, number int, takesOver bool) (old, untouched []coordinator.Op, err error) {
	m.mu.Lock()
	cells := slices.Sorted(maps.Keys(m.own))
	m.mu.Unlock()
	data, err := coordinator.Encode(coordinator.CellRecord{State: coordinator.Empty, Incarnation: number})
	if err != nil {
		return nil, nil, err
	}
	found, forged := make([]coordinator.Op, len(cells)), make([]bool, len(cells))
	err = coordinator.Each(ctx, len(cells), func(ctx context.Context, i int) error {
		ref := contract.CellRef{Cell: cells[i], Server: m.server}
		record, version, err := m.readCell(ctx, ref)
		var bad *coordinator.RecordError
		switch {
		case errors.As(err, &bad), errors.Is(err, coordinator.ErrForged):
			found[i] = coordinator.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data}
		case err != nil && m.hasLeft(cells[i]):
		case err != nil:
			return err
		case record.State == coordinator.Empty:
			if record.Version == 0 || record.Incarnation != number { // else the next one's version is to be known
				m.noteEmpty(cells[i], version)
			}
			found[i] = coordinator.Op{Path: m.deployment.Cell(ref), Version: version}
		case record.Incarnation != number, takesOver:
			forged[i] = record.Incarnation == number
			found[i] = coordinator.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data}
		}
		return nil
	})
	for i, op := range found {
		switch {
		case forged[i]:
			old = slices.Insert(old, 0, op)
		case op.Write:
			old = append(old, op)
		case op.Path != "":
			untouched = append(untouched, op)
		}
	}
	return old, untouched, err
}

// fill puts as many operations into a commit as the coordinator takes in one
// request; one more than checks always fits.
func (m *Member) fill(ops, more []coordinator.Op) (filled, rest []coordinator.Op) {
	size, writes := 0, false
	for _, op := range ops {
		size, writes = size+coordinator.OpSize(op), writes || op.Write
	}
	for i, op := range more {
		if size += coordinator.OpSize(op); size > m.limit() && (i > 0 || writes) {
			return ops, more[i:]
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// limit is how many bytes of values go into one cell or commit: a node's size
// less what the record and the request say besides.
func (m *Member) limit() int { return coordinator.Room(m.store) }

func (m *Member) hold(f fence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fence = &f
}

func (m *Member) enrolled() (fence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fence == nil {
		return fence{}, errNotEnrolled
	}
	return *m.fence, nil
}

// checks are the operations that fail a commit of an agent that was fenced, or whose
// deployment was destroyed.
func (m *Member) checks(f fence, more ...coordinator.Op) []coordinator.Op {
	return append([]coordinator.Op{{Path: m.deployment.Server(m.server), Version: f.version}, m.checkLife(f.record.ID)}, more...)
}

// checkFence is called when a commit failed over a version: either a cell was
// written meanwhile, perhaps by this agent's own commit whose answer was lost, or
// the agent is fenced.
func (m *Member) checkFence(ctx context.Context) error {
	f, err := m.enrolled()
	if err != nil {
		return err
	}
	path := m.deployment.Server(m.server)
	node, err := m.store.Read(ctx, path)
	if err != nil {
		return fmt.Errorf("read the incarnation of server %s: %w", m.server, m.gone(ctx, err))
	}
	there := coordinator.ParseIncarnation(node)
	if there.ID != f.record.ID {
		return fenced(there)
	}
	m.hold(fence{there, node.Version})
	return nil
}

// fenced is the end of an agent whose server is another machine now, or none: an operator
// has destroyed the deployment, and applied it anew.
func fenced(by coordinator.IncarnationRecord) error {
	if by.Number == 0 {
		return fmt.Errorf("%w, and applied anew since this machine joined it", ErrDestroyed)
	}
	return fmt.Errorf("%w: instance %s, since %s", ErrFenced, by.Instance, by.Since.UTC().Format(time.RFC3339))
}

func (m *Member) noteEmpty(cell contract.CellName, version coordinator.Version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.empty[cell] = version
}

// believeEmpty notes all own cells as never written. Where that is wrong, the
// first write fails over the version and looks again.
func (m *Member) believeEmpty() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for cell := range m.own {
		m.empty[cell] = 0
	}
}

// forget drops what is believed about some of the server's own cells.
func (m *Member) forget(cells ...contract.CellName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, cell := range cells {
		delete(m.empty, cell)
	}
}

func (m *Member) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.empty)
	m.state = nil
}
