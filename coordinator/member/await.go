package member

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// LostProducerError says that the agent that has to write a cell had joined, and has been gone for
// longer than the reader waits.
type LostProducerError struct {
	Cell   contract.CellName
	Server contract.ServerPath
	Since  time.Time
}

func (e *LostProducerError) Error() string {
	return fmt.Sprintf("%s will not be published: the agent of server %s is gone, last seen at %s",
		e.Cell, e.Server, e.Since.UTC().Format(time.RFC3339))
}

// AwaitOptions are the options of a blocking read.
type AwaitOptions struct {
	// IfDown is how long to keep waiting for a producer whose agent had joined and is gone; 0 is
	// contract.DefaultIfDown, negative is forever.
	IfDown time.Duration
	// Blocked is called once, if the first read finds the cell empty.
	Blocked func(since time.Time)
	// Machine is whose cell it is, where Heat decides whether machines exist: what a deleted
	// machine has left is ignored.
	Machine *contract.Member
}

// Await reads a cell, blocking until it holds a value. *FailedCellError,
// *LostProducerError, ErrNotInPlan, ErrDestroyed.
func (m *Member) Await(ctx context.Context, cell contract.CellName, o AwaitOptions) (json.RawMessage, error) {
	record, err := m.AwaitRecord(ctx, cell, o)
	return record.Value, err
}

// AwaitRecord is Await, and returns the whole record, of a failed cell, too.
func (m *Member) AwaitRecord(ctx context.Context, cell contract.CellName, o AwaitOptions) (protocol.CellRecord, error) {
	var none protocol.CellRecord
	news := m.knownPlans().news
	ref, err := m.place(cell)
	if err != nil {
		return none, err
	}
	if record, done, err := m.look(ctx, ref, o.Machine); done || err != nil {
		return record, err
	}
	if o.Blocked != nil {
		o.Blocked(time.Now())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := m.store.Watch(ctx, m.deployment.Cell(ref))
	if err != nil {
		return none, fmt.Errorf("wait for %s: %w", cell, err)
	}
	var keys <-chan struct{} // a box may be there before its key
	if ref.Sealed {
		if keys, err = m.store.Watch(ctx, m.deployment.SealsFor(ref.Server, m.server)); err != nil {
			return none, fmt.Errorf("wait for %s: %w", cell, err)
		}
	}
	var machines <-chan struct{}
	if o.Machine != nil {
		if machines, err = m.store.Watch(ctx, m.deployment.Members(o.Machine.Group)); err != nil {
			return none, fmt.Errorf("wait for %s: %w", cell, err)
		}
	}
	lost := m.followProducer(ctx, ref.Server, o.IfDown)
	for {
		open, since := true, time.Time{}
		select {
		case <-news:
			news = m.knownPlans().news
			if _, err := m.place(cell); err != nil {
				return none, err
			}
			continue
		case _, open = <-changes:
		case _, open = <-keys:
		case _, open = <-machines:
		case since = <-lost:
		}
		if !open {
			return none, fmt.Errorf("wait for %s: %w", cell, store.WatchEnded(ctx))
		}
		if record, done, err := m.look(ctx, ref, o.Machine); done || err != nil {
			return record, err
		}
		if !since.IsZero() {
			return none, &LostProducerError{Cell: cell, Server: ref.Server, Since: since}
		}
	}
}

// look reads a cell; done says that it has a value, and not of a machine that is gone.
func (m *Member) look(ctx context.Context, ref contract.CellRef, machine *contract.Member) (record protocol.CellRecord, done bool, err error) {
	record, _, err = m.readCell(ctx, ref)
	if err == nil && machine != nil && record.State != protocol.Empty {
		said, err := m.Members(ctx, machine.Group)
		if err != nil {
			return protocol.CellRecord{}, false, err
		}
		if now := said.Of(machine, record).State; now == protocol.Gone || now == protocol.Unknown {
			return protocol.CellRecord{}, false, err
		}
	}
	if err == nil {
		record, err = m.opened(ctx, ref, record)
	}
	if err != nil {
		return protocol.CellRecord{}, false, err
	}
	switch record.State {
	case protocol.Valued:
		return record, true, nil
	case protocol.Failed:
		return record, false, &FailedCellError{ref.Cell, record.Cause}
	default:
		return protocol.CellRecord{}, false, nil
	}
}

// arrivalCheck is how often a reader checks whether a producer without presence was enrolled: one
// that died in between leaves no change to watch.
const arrivalCheck = 30 * time.Second

// WriterLost sends the time since when the agent of a cell's writer is gone, once it has been gone
// for contract.DefaultIfDown.
func (m *Member) WriterLost(ctx context.Context, cell contract.CellName) (<-chan time.Time, error) {
	ref, err := m.place(cell)
	if err != nil {
		return nil, err
	}
	return m.followProducer(ctx, ref.Server, 0), nil
}

// Away reports whether the agent of a cell's writer had joined, and is gone.
func (m *Member) Away(ctx context.Context, cell contract.CellName) (bool, error) {
	ref, err := m.place(cell)
	if err != nil {
		return false, err
	}
	missing, err := m.missing(ctx, ref.Server)
	return missing == departed, err
}

// followProducer sends the time since when the agent of a server is gone, once it has been gone for
// ifDown. It runs concurrently with the wait for the value, so that neither depends on the other's
// requests.
func (m *Member) followProducer(ctx context.Context, server contract.ServerPath, ifDown time.Duration) <-chan time.Time {
	if ifDown < 0 || server == m.server || server == contract.Operator {
		return nil
	}
	return m.followAgent(ctx, server, cmp.Or(ifDown, contract.DefaultIfDown*time.Second))
}

// followAgent is followProducer for any server.
func (m *Member) followAgent(ctx context.Context, server contract.ServerPath, ifDown time.Duration) <-chan time.Time {
	lost := make(chan time.Time, 1)
	mistake.Go(func() {
		changes, err := m.store.Watch(ctx, m.deployment.Presence(server))
		if err != nil {
			return
		}
		var since time.Time
		again := time.NewTimer(time.Hour)
		defer again.Stop()
		for {
			select {
			case _, open := <-changes:
				if !open {
					return
				}
			case <-again.C:
			}
			missing, err := m.missing(ctx, server)
			now := time.Now()
			switch {
			case err != nil: // the context has ended, or the next check will tell
				again.Reset(arrivalCheck)
			case missing == present:
				since = time.Time{}
				again.Stop()
			case missing == neverCame:
				again.Reset(arrivalCheck + m.spread(server, arrivalCheck/10))
			case since.IsZero():
				since = now
				again.Reset(ifDown)
			case now.Sub(since) >= ifDown:
				lost <- since
				return
			default:
				again.Reset(ifDown - now.Sub(since))
			}
		}
	})
	return lost
}

// spread staggers the checks of many readers for one server. Their names do that as well as random
// numbers, and runs are reproducible.
func (m *Member) spread(server contract.ServerPath, over time.Duration) time.Duration {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", m.server, server)
	return time.Duration(h.Sum64() % uint64(over))
}

// arrival is the state of a server's agent, by its nodes.
type arrival uint8

const (
	present   arrival = iota
	neverCame         // the server may still be booting: no reason to give up
	departed          // it was enrolled, and has no session
)

func (m *Member) missing(ctx context.Context, server contract.ServerPath) (arrival, error) {
	_, here, err := m.store.Stat(ctx, m.deployment.Presence(server))
	if err != nil || here {
		return present, err
	}
	version, _, err := m.store.Stat(ctx, m.deployment.Server(server))
	if version == 0 {
		return neverCame, err
	}
	return departed, err
}

var errMissing = errors.New("its node does not exist, or this server has no access to it")

// opened checks a cell's record against the plan, and opens a sealed one. One whose key is not
// there yet is empty. One of another type is unknown: if it is due to a change of the plan, the next
// value has the right one.
func (m *Member) opened(ctx context.Context, ref contract.CellRef, record protocol.CellRecord) (protocol.CellRecord, error) {
	record, err := protocol.CheckCell(ref, record)
	if err == nil && record.State == protocol.Valued && ref.Sealed {
		if record, err = m.openRecord(ctx, ref, record); err == nil && record.State == protocol.Valued {
			if wrong := protocol.CheckType(ref, record); wrong != nil {
				err = protocol.NewCellError(ref, wrong)
			}
		}
	}
	if errors.Is(err, protocol.ErrOtherType) {
		m.tell(err.Error())
		return protocol.CellRecord{State: protocol.Unknown}, nil
	}
	return record, err
}

// gone explains why a node of the server's own is missing; or, once the member has its server's
// identity, which differs in each deployment, why it is refused. Either the deployment was
// destroyed, the server was removed, or the plan no longer has the node.
func (m *Member) gone(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrNotFound) && (m.member.Load() == nil || !errors.Is(err, store.ErrRefused)) {
		return err
	}
	if lost := m.stands(ctx); lost != nil {
		return fmt.Errorf("%w: %w", lost, err)
	}
	if m.CheckPlan(ctx) != nil {
		return fmt.Errorf("%w: %w: %w", ErrPlanChanged, errMissing, err)
	}
	return fmt.Errorf("%w: %w", errMissing, err)
}

// stands checks whether the deployment in which the machine has become the server still exists.
// ErrDestroyed, *RemovedError.
func (m *Member) stands(ctx context.Context) error {
	f, err := m.enrolled()
	if err != nil {
		return cmp.Or(m.Removed(ctx), ErrDestroyed)
	}
	for _, path := range []store.Path{m.deployment.Ready(), m.deployment.Server(m.server), m.deployment.Life(m.server, f.record.ID)} {
		_, stands, err := m.store.Stat(ctx, path)
		if err != nil {
			return err
		}
		if !stands {
			return cmp.Or(m.Removed(ctx), ErrDestroyed)
		}
	}
	return nil
}

// goneOf is gone for a node of another server: if it is missing, or refused, that says nothing
// about this one's deployment.
func (m *Member) goneOf(ctx context.Context, server contract.ServerPath, what string, err error) error {
	if server == m.server || !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrRefused) {
		return m.gone(ctx, err)
	}
	if lost := m.stands(ctx); lost != nil {
		return fmt.Errorf("%w: %w", lost, err)
	}
	return &protocol.RecordError{Server: server, What: what, Err: fmt.Errorf("%w: %w", errMissing, err)}
}
