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

// ErrFenced says that another machine has taken over the server's name.
var ErrFenced = errors.New("another machine has taken over this server's name")

// ErrAnew says that the deployment was destroyed, and applied again or restored, while the machine
// was joining it: it has to join again. It is also an ErrDestroyed.
var ErrAnew = fmt.Errorf("%w, and applied again while this machine joined it", ErrDestroyed)

// errNotEnrolled is a bug in the caller.
var errNotEnrolled = errors.New("write before enrolment")

// fence is this agent's incarnation, the version of its node, and that of the machine's life, which
// each of the machine's agents increases: every write checks both.
type fence struct {
	record  protocol.IncarnationRecord
	version store.Version
	turn    store.Version
}

// RememberTries makes Enrol note each incarnation's number before it tries to get it. tried is the
// last one that was noted on this machine, 0 is none. An agent that is killed after it got a
// number, and before it noted that, would otherwise mistake a later machine for an earlier one, and
// fence it.
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

// Session is a member that has become the server: all writes for the server need one.
type Session struct {
	*Member
	Incarnation protocol.IncarnationRecord
}

// Enrol makes this machine the server (docs/coordination.md, "Incarnations"). Call it after Plan.
// id is the random one in the agent's journal, where enrolledBefore is noted after the first
// success. ErrFenced: a later machine of the same name is there. ErrAnew.
func (m *Member) Enrol(ctx context.Context, id, instance string, enrolledBefore bool, now time.Time) (*Session, error) {
	ended := m.sessionsEnded()
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

func (m *Member) enrol(ctx context.Context, id, instance string, enrolledBefore bool, now time.Time) (protocol.IncarnationRecord, error) {
	path := m.deployment.Server(m.server)
	tried := m.tried // the number we may have got without an answer
	replaced := ""   // the machine that the last attempt replaces
	before, _ := m.enrolled()
	for {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
		}
		there := protocol.ParseIncarnation(node)
		if there.Number > 0 && there.ID == id {
			if m.noteTry != nil && m.tried > 0 && there.Number != m.tried {
				return protocol.IncarnationRecord{}, protocol.Forged("the incarnation of server "+string(m.server), "this machine", fmt.Errorf("it has number %d, which it never had", there.Number))
			}
			if made, err := m.mendLife(ctx, id); err != nil {
				return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
			} else if made {
				continue
			}
			turn, err := m.takeTurn(ctx, id)
			if errors.Is(err, store.ErrVersion) {
				continue
			}
			if err != nil {
				return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
			}
			m.hold(fence{there, node.Version, turn})
			if err := m.catchUp(ctx, before); errors.Is(err, store.ErrVersion) {
				continue
			} else if err != nil {
				return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
			}
			m.endLife(ctx, replaced)
			return there, errors.Join(m.showKey(ctx), m.sweep(ctx))
		}
		// Numbers only grow: a lower one means that an older state was restored.
		again := enrolledBefore && there.Number < m.tried && !m.known().strange
		was := !again && (enrolledBefore || tried > 0 && there.Number > tried)
		if was {
			// A read may come from a lagging server of the ensemble; a commit checks the current
			// state.
			err := m.store.Commit(ctx, store.Op{Path: path, Version: node.Version})
			switch {
			case errors.Is(err, store.ErrVersion):
				continue
			case err != nil:
				return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
			}
			if there.Number == 0 || there.Instance == instance || m.known().strange {
				return there, fenced(there)
			}
		}
		if !again && there.Number > 0 && there.Instance != instance {
			own := protocol.NextRecord{ID: id, Instance: instance, After: there.Number, Since: now.UTC()}
			switch may, err := m.mayReplace(ctx, there, node.Version, own, was); {
			case err != nil:
				return there, err
			case !may:
				continue
			}
		}
		slot, err := m.slotCheck(ctx)
		if err != nil {
			return protocol.IncarnationRecord{}, err
		}
		if !again && node.Version > 0 {
			slot = append(slot, m.emptied(ctx)...)
		}
		turn := store.Version(0)
		err = m.beginLife(ctx, id)
		if err == nil {
			err = m.checkIdentity(ctx, id)
		}
		if err == nil {
			turn, _, err = m.store.Stat(ctx, m.deployment.Life(m.server, id))
		}
		if err == nil && before.record.Number > 0 && turn == before.turn { // writes still in transit for the lost state would fit
			turn, err = m.takeTurn(ctx, id)
		}
		if errors.Is(err, store.ErrVersion) {
			continue
		}
		if err != nil {
			return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
		}
		next := protocol.IncarnationRecord{Number: m.nextNumber(there, node.Version), ID: id, Instance: instance, Since: now.UTC()}
		if again {
			next.Number = m.tried
		}
		if err := m.try(next.Number); err != nil {
			return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, err)
		}
		replaced = there.ID
		left, err := m.takeOver(ctx, fence{next, node.Version, turn}, slot)
		if err == nil {
			err = m.catchUp(ctx, before)
		}
		switch {
		case errors.Is(err, store.ErrVersion): // it may have been the server meanwhile
			tried = next.Number
			continue
		case err != nil:
			return protocol.IncarnationRecord{}, fmt.Errorf("enrol server %s: %w", m.server, m.gone(ctx, err))
		}
		m.endLife(ctx, replaced)
		if left {
			err = m.sweep(ctx)
		}
		return next, err
	}
}

// emptied are the writes with which a new machine drops what an earlier one has left in the server's
// own records: its state, which might say that roles of the new one have run, and answers that cannot
// be read. Others stay: operators wait for them.
func (m *Member) emptied(ctx context.Context) []store.Op {
	empty := func(path store.Path) store.Op {
		return store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte("{}")}
	}
	ops, path := []store.Op{empty(m.deployment.State(m.server))}, m.deployment.Answers(m.server)
	if node, err := m.store.Read(ctx, path); err == nil {
		if _, _, err := protocol.OpenIfAny[protocol.AnswersRecord](path, node.Data, m.known().key.Public(), m.ownPlace(protocol.KindAnswers)); err != nil {
			ops = append(ops, empty(path))
		}
	}
	return ops
}

// mostAhead is how much larger than its node's version the number of an incarnation may be after an
// older state was restored.
const mostAhead = 1000

// afterLoss is the number of a machine that is the first of its server since the deployment was restored. It has to be
// larger than that of an earlier one, which nobody knows: others may have run with what that one had published, and
// would take a value of the same number for the same value. It is not if that one came first after another restore.
const afterLoss = 100

// nextNumber is the number of the next machine. No number is larger than its node's version, which
// cannot be set: so readers recognize one that never existed.
func (m *Member) nextNumber(there protocol.IncarnationRecord, version store.Version) int {
	if version == 0 && m.known().identity.Restored {
		return afterLoss
	}
	if there.Number-int(version) > mostAhead { // made up by an earlier machine
		return int(version) + 1
	}
	return max(there.Number, int(version)) + 1
}

// catchUp raises the version of the server's node where it started over because an older state was
// restored: to at least the number, and not the previous version, so that writes still in transit
// for the lost state fail.
func (m *Member) catchUp(ctx context.Context, before fence) error {
	f, err := m.enrolled()
	for err == nil && (int(f.version) < f.record.Number || f.version == before.version) {
		var data []byte
		if data, err = protocol.Encode(f.record); err == nil {
			err = m.store.Commit(ctx, store.Op{Path: m.deployment.Server(m.server), Version: f.version, Write: true, Data: data})
		}
		if err == nil {
			f.version++
			m.hold(f)
		}
	}
	return err
}

// takeOver commits the next incarnation, in place of the version of f, and empties the predecessor's
// cells, with further checks. left says that not all of them fitted into one commit.
func (m *Member) takeOver(ctx context.Context, f fence, checks []store.Op) (left bool, err error) {
	next := f.record
	var old, untouched []store.Op
	_, unread := m.learnPlan(ctx) // the predecessor may know, and write, cells that a change has added since
	if unread != nil && !errors.Is(unread, ErrOlder) {
		return false, unread
	}
	learnt := m.knownPlans().learnt
	if next.Number > 1 {
		if unread == nil {
			checks = append(checks, store.Op{Path: m.deployment.ServerPlan(m.server), Version: learnt})
		}
		if old, untouched, err = m.leftovers(ctx, next.Number, true); err != nil {
			return false, err
		}
	} else {
		m.believeEmpty()
	}
	data, err := protocol.Encode(next)
	if err != nil {
		return false, err
	}
	ops := append([]store.Op{{Path: m.deployment.Server(m.server), Version: f.version, Write: true, Data: data}, m.checkLife(f)}, checks...)
	if public, err := m.publicOp(next.Number); err != nil {
		return false, err
	} else if public != nil {
		ops = append(ops, *public)
	}
	ops, rest := m.fill(ops, slices.Concat(old, untouched))
	if err := m.commit(ctx, learnt, ops...); err != nil {
		return false, err
	}
	f.version++
	m.hold(f)
	return len(rest) > 0, nil
}

// sweep empties what an earlier incarnation left in the server's cells: not all may have fitted
// into the commit that took over the name.
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
		if err := m.commit(ctx, learnt, ops...); err != nil && !errors.Is(err, store.ErrVersion) {
			return fmt.Errorf("empty the cells of server %s: %w", m.server, m.gone(ctx, err))
		}
		m.forgetAll()
		if err := m.checkFence(ctx); err != nil {
			return err
		}
	}
}

// leftovers are the writes that empty the cells of incarnations before number, and the checks that
// the others are unchanged: until the name is taken over, the predecessor may write, even as the
// next incarnation; such cells come first. Empty cells are noted as such.
func (m *Member) leftovers(ctx context.Context, number int, takesOver bool) (old, untouched []store.Op, err error) {
	m.mu.Lock()
	cells := slices.Sorted(maps.Keys(m.own))
	m.mu.Unlock()
	found, forged := make([]store.Op, len(cells)), make([]bool, len(cells))
	err = store.Each(ctx, len(cells), func(ctx context.Context, i int) error {
		ref := contract.CellRef{Cell: cells[i], Server: m.server}
		data, err := m.signCell(ref, protocol.CellRecord{State: protocol.Empty, Incarnation: number})
		if err != nil {
			return err
		}
		record, version, err := m.readCell(ctx, ref)
		var bad *protocol.RecordError
		switch {
		case errors.As(err, &bad), errors.Is(err, protocol.ErrForged):
			found[i] = store.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data}
		case err != nil && m.hasLeft(cells[i]), errors.Is(err, errMissing): // an older plan was restored, which lacks it
		case err != nil:
			return err
		case record.State == protocol.Empty:
			if record.Version == 0 || record.Incarnation != number { // otherwise the next one's version must be known
				m.noteEmpty(cells[i], version)
			}
			found[i] = store.Op{Path: m.deployment.Cell(ref), Version: version}
		case record.Incarnation != number, takesOver:
			forged[i] = record.Incarnation == number
			found[i] = store.Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data}
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

// fill adds as many operations to a commit as fit into one request; the first write always fits.
func (m *Member) fill(ops, more []store.Op) (filled, rest []store.Op) {
	size, writes := 0, false
	for _, op := range ops {
		size, writes = size+store.OpSize(op), writes || op.Write
	}
	for i, op := range more {
		if size += store.OpSize(op); size > m.limit() && (i > 0 || writes) {
			return ops, more[i:]
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// limit is how many bytes of values fit into one cell or commit: a node's size less the overhead of
// the record and the request.
func (m *Member) limit() int { return store.Room(m.store) }

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

// checks are operations that make a commit fail if the agent was fenced, the deployment destroyed, or
// the machine has another agent.
func (m *Member) checks(f fence, more ...store.Op) []store.Op {
	return append([]store.Op{{Path: m.deployment.Server(m.server), Version: f.version}, m.checkLife(f)}, more...)
}

// checkFence is called when a commit failed with ErrVersion: either a cell was
// written meanwhile, perhaps by this agent's own commit whose answer was lost, or
// the agent is fenced.
func (m *Member) checkFence(ctx context.Context) error {
	f, err := m.enrolled()
	if err != nil {
		return err
	}
	path, since := m.deployment.Server(m.server), m.returns.Load()
	node, err := m.store.Read(ctx, path)
	if err != nil {
		return fmt.Errorf("read the incarnation of server %s: %w", m.server, m.gone(ctx, err))
	}
	there := protocol.ParseIncarnation(node)
	if there.ID != f.record.ID { // or the coordinator has lost its data since the commit failed
		if back, lost := m.comeBack(ctx, since, store.ErrVersion); back || lost != nil {
			return lost
		}
		return fenced(there)
	}
	now := fence{there, node.Version, f.turn}
	switch turn, stands, err := m.store.Stat(ctx, m.deployment.Life(m.server, there.ID)); {
	case err != nil:
		return fmt.Errorf("read the incarnation of server %s: %w", m.server, err)
	case stands && turn != f.turn: // an older state was restored, or a write of an agent that died has arrived
		if now.turn, err = m.takeTurn(ctx, there.ID); errors.Is(err, store.ErrVersion) {
			return m.checkFence(ctx)
		} else if err != nil {
			return fmt.Errorf("read the incarnation of server %s: %w", m.server, m.gone(ctx, err))
		}
	}
	m.hold(now)
	return nil
}

// fenced is the error of an agent whose server is now another machine, or none: an operator has
// destroyed the deployment and applied it again.
func fenced(by protocol.IncarnationRecord) error {
	if by.Number == 0 {
		return fmt.Errorf("%w, and applied again since this machine joined it", ErrDestroyed)
	}
	return fmt.Errorf("%w: instance %s, since %s", ErrFenced, by.Instance, by.Since.UTC().Format(time.RFC3339))
}

func (m *Member) noteEmpty(cell contract.CellName, version store.Version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.empty[cell] = version
}

// believeEmpty notes all own cells as never written. Where that is wrong, the first write fails
// with ErrVersion, and reads the cell.
func (m *Member) believeEmpty() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for cell := range m.own {
		m.empty[cell] = 0
	}
}

// forget drops what is cached about some of the server's own cells.
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
