package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// The members of a scaling group have names that Heat generates, and replica slots in the plan. A
// node of the group says which member has which slot; an agent takes one for its member before it
// joins the deployment as the slot's server (docs/coordination.md, "Slots").

// Claim is a member's claim to a slot.
type Claim struct {
	Deployment protocol.Deployment
	Slot       *contract.BootSlot
	Server     contract.ServerPath // this one, by the path that all members share
	Stack      string              // the root stack's id
	// Enrolled says that this machine has been a slot's server before: then it does not take
	// another. Token is the one that all members share, Known the identity that the machine read as
	// that server: since members write the record of slots, it alone proves nothing about the
	// deployment.
	Enrolled bool
	Token    string
	Known    *protocol.Identity
	// IfDown is how long all agents of a slot must be gone until it can be taken from its member; 0
	// is contract.DefaultIfDown.
	IfDown time.Duration
	Now    func() time.Time
	// Waiting is called with the reason to wait, when that changes.
	Waiting func(why string)
	// Full is called once, when all slots have been in use for IfDown.
	Full func(slots int)
}

// Take finds the member's slot, or takes one for it: the lowest that no member of this stack has
// had, otherwise one whose servers are gone. The session is that of a server by its shared path. It
// waits for the deployment, and for a slot. ErrRefused, ErrNotInPlan; ErrFenced if another member
// has this machine's slot, ErrDestroyed if no slot is taken.
func (c *Claim) Take(ctx context.Context, s store.Session) (number int, err error) {
	for range 2 { // the deployment may be applied again between two reads
		if err = c.awaitReady(ctx, s); err != nil {
			return 0, err
		}
		if number, err = c.take(ctx, s); !errors.Is(err, ErrNotInPlan) && !errors.Is(err, store.ErrRefused) {
			break
		}
	}
	return number, err
}

func (c *Claim) take(ctx context.Context, s store.Session) (number int, err error) {
	for {
		record, version, err := c.read(ctx, s)
		if err != nil {
			return 0, err
		}
		at := record.NumberOf(c.Slot.Member)
		if own, known := c.had(); at >= 0 && (!known || at == own) {
			return at, nil
		}
		if c.Enrolled {
			// as with incarnations, a read may lag behind
			switch err := s.Commit(ctx, store.Op{Path: c.path(), Version: version}); {
			case errors.Is(err, store.ErrVersion):
				continue
			case err != nil:
				return 0, c.failed(err)
			}
		}
		free := -1
		switch {
		case c.Enrolled:
			if free, err = c.lost(ctx, s, &record); err != nil {
				return 0, err
			}
		case len(record.Slots) == 0:
			return 0, c.unreadable(errNoSlots)
		default:
			if free, err = c.free(ctx, s, &record); err != nil {
				return 0, err
			}
		}
		if free < 0 {
			if free, err = c.awaitLeft(ctx, s, record, version); err != nil {
				return 0, err
			}
		}
		if free < 0 {
			continue // the record has changed
		}
		if at >= 0 { // a member has moved it
			record.Slots[at] = record.Slots[free]
		}
		record.Slots[free] = protocol.SlotRecord{Member: c.Slot.Member, Stack: c.Stack, Since: c.Now().UTC()}
		data, err := protocol.Encode(record)
		if err != nil {
			return 0, err
		}
		switch err := s.Commit(ctx, store.Op{Path: c.path(), Version: version, Write: true, Data: data}); {
		case errors.Is(err, store.ErrVersion): // a concurrent commit, or this one, its answer lost
		case err != nil:
			return 0, c.failed(err)
		default:
			return free, nil
		}
	}
}

// free is the lowest slot that a new member can take at once: it was never taken, or by a member of
// an earlier stack of the name, and no agent is present in it. Any member may have emptied the
// record while others are in their slots. -1 if there is none.
func (c *Claim) free(ctx context.Context, s store.Session, record *protocol.SlotsRecord) (int, error) {
	for i := range record.Slots {
		if !record.IsFree(i, c.Stack) {
			continue
		}
		if there, err := c.anybody(ctx, s, record, i); err != nil || !there {
			return i, err
		}
	}
	return -1, nil
}

func (c *Claim) path() store.Path { return c.Deployment.Group(c.Slot.Group()) }

func (c *Claim) failed(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNotInPlan
	}
	return fmt.Errorf("take a slot of the group %s: %w", c.Slot.Group(), err)
}

func (c *Claim) read(ctx context.Context, s store.Session) (protocol.SlotsRecord, store.Version, error) {
	node, err := s.Read(ctx, c.path())
	if err != nil {
		return protocol.SlotsRecord{}, 0, c.failed(err)
	}
	if protocol.CountItems(node.Data) > protocol.MostItems {
		return protocol.SlotsRecord{}, 0, c.unreadable(protocol.ErrTooMany)
	}
	record, err := protocol.Decode[protocol.SlotsRecord](c.path(), node.Data)
	if err != nil {
		return protocol.SlotsRecord{}, 0, c.unreadable(err)
	}
	return record, node.Version, nil
}

var errNoSlots = errors.New("it has no slots")

// unreadable says that a member has overwritten the record of slots.
func (c *Claim) unreadable(err error) error {
	return &protocol.RecordError{Server: contract.ServerPath(c.Slot.Path), What: "the slot list of the group " + c.Slot.Group(), Err: err}
}

// had is the slot that this machine had when it was the server, if it was.
func (c *Claim) had() (number int, known bool) {
	if !c.Enrolled || c.Known == nil {
		return 0, false
	}
	return c.Slot.Number(c.Known.Server)
}

// lost is the slot that this machine had, and takes again: it is free, or the record has this member
// in another one, and the deployment is the one that the machine knows. Otherwise the error is why the
// machine has none.
func (c *Claim) lost(ctx context.Context, s store.Session, record *protocol.SlotsRecord) (number int, err error) {
	number, ok := c.had()
	moved := record.NumberOf(c.Slot.Member) >= 0
	if !ok || number > protocol.MostItems || !moved && number < len(record.Slots) && record.Slots[number].Member != "" {
		return 0, c.gone(*record)
	}
	token := protocol.SlotToken(c.Token, number)
	if err := s.Authenticate(ctx, protocol.ServerCredential(c.Known.Server, token)); err != nil {
		return 0, c.failed(err)
	}
	node, err := s.Read(ctx, c.Deployment.Identity(c.Known.Server))
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrRefused) {
		return 0, c.gone(*record)
	}
	if err != nil {
		return 0, c.failed(err)
	}
	identity, _, err := protocol.OpenIdentity(c.Deployment, c.Known.Server, token, c.Known, node.Data)
	if err != nil {
		return 0, c.failed(err)
	}
	if identity.ID != c.Known.ID {
		return 0, c.gone(*record)
	}
	if missing := number + 1 - len(record.Slots); missing > 0 {
		record.Slots = append(record.Slots, make([]protocol.SlotRecord, missing)...)
	}
	return number, nil
}

// gone is why a machine that had a slot has none.
func (c *Claim) gone(record protocol.SlotsRecord) error {
	if !slices.ContainsFunc(record.Slots, func(r protocol.SlotRecord) bool { return r.Member != "" }) {
		return c.failed(ErrDestroyed)
	}
	return c.failed(fmt.Errorf("%w: while this member's agents were gone, another member took its slot", ErrFenced))
}

// awaitReady waits until the deployment is ready.
func (c *Claim) awaitReady(ctx context.Context, s store.Session) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := s.Watch(ctx, c.Deployment.Ready())
	if err != nil {
		return c.failed(err)
	}
	said := ""
	for range changes {
		why, err := whyIncomplete(ctx, s, c.Deployment)
		if err != nil || why == "" {
			return err
		}
		if why != said && c.Waiting != nil {
			c.Waiting(why)
		}
		said = why
	}
	return fmt.Errorf("wait for the deployment %s: %w", c.Deployment, store.WatchEnded(ctx))
}

// slotLooks is how often, within IfDown, a member without a slot checks which agents are present.
const slotLooks = 20

// awaitLeft waits until all agents of a slot have been gone for IfDown; -1 says that the record has
// changed.
func (c *Claim) awaitLeft(ctx context.Context, s store.Session, record protocol.SlotsRecord, version store.Version) (number int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	patience := cmp.Or(c.IfDown, contract.DefaultIfDown*time.Second)
	if c.Waiting != nil {
		c.Waiting(fmt.Sprintf("no replica slot of the group %s is free (it has %d); one without an agent for %v can be taken over", c.Slot.Group(), len(record.Slots), patience))
	}
	changes, err := s.Watch(ctx, c.path())
	if err != nil {
		return 0, c.failed(err)
	}
	began := time.Now()
	seen := make([]time.Time, len(record.Slots))
	look := time.NewTicker(max(patience/slotLooks, time.Millisecond))
	defer look.Stop()
	for i := range seen {
		seen[i] = began
	}
	for {
		anybodyLeft := false
		for i := range record.Slots {
			there, err := c.anybody(ctx, s, &record, i)
			if err != nil {
				return 0, err
			}
			if there {
				seen[i] = time.Now()
			} else if anybodyLeft = true; time.Since(seen[i]) >= patience {
				return i, nil
			}
		}
		if !anybodyLeft && c.Full != nil && time.Since(began) >= patience {
			c.Full(len(record.Slots))
			c.Full = nil
		}
		select {
		case <-look.C:
		case _, open := <-changes:
			if !open {
				return 0, c.failed(store.WatchEnded(ctx))
			}
			now, _, err := s.Stat(ctx, c.path())
			if err != nil || now != version {
				return -1, err
			}
		}
	}
}

// anybody reports whether an agent of a slot's servers is present.
func (c *Claim) anybody(ctx context.Context, s store.Session, record *protocol.SlotsRecord, number int) (bool, error) {
	own := strings.TrimPrefix(string(c.Server), c.Slot.Path) // whatever a member has written into the record
	for _, within := range append([]string{own}, record.Within...) {
		server := c.Slot.Within(contract.ServerPath(c.Slot.Path+within), number)
		if _, there, err := s.Stat(ctx, c.Deployment.Presence(server)); err != nil || there {
			return there, err
		}
	}
	return false, nil
}

// KeepSlot makes Enrol check that the member still has its slot: another member may take it before
// the machine is the slot's server.
func (m *Member) KeepSlot(c *Claim, number int) { m.claim, m.slot = c, number }

// slotCheck is the operation that makes a commit fail if the member has lost its slot; none for a
// server without a slot.
func (m *Member) slotCheck(ctx context.Context) ([]store.Op, error) {
	if m.claim == nil {
		return nil, nil
	}
	record, version, err := m.claim.read(ctx, m.store)
	if err != nil {
		return nil, err
	}
	if record.NumberOf(m.claim.Slot.Member) != m.slot {
		return nil, m.claim.gone(record)
	}
	return []store.Op{{Path: m.claim.path(), Version: version}}, nil
}
