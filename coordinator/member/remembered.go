package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Kept is what a machine has published, by cell: the latest records, not sealed.
type Kept map[contract.CellName]protocol.CellRecord

// ErrOlder says that this machine has seen a newer record: the old one comes from a lagging
// follower, or was replayed.
var ErrOlder = errors.New("it is older than what this machine has already seen")

// ErrForgets says that the machine's disk cannot store what the machine has to remember.
var ErrForgets = errors.New("the record's counter cannot be stored")

// Remembered is what a machine stores of what it has read in its deployment. Nothing of it says
// anything about another deployment, also of the same name.
type Remembered struct {
	Identity *protocol.Identity `json:"identity,omitempty"`
	// Left are the ids of the deployments that the machine has left: it joins none of them again.
	Left []string `json:"left,omitempty"`
	// Counters are the largest numbers of the operator's and the relays' records, by kind.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Seen are the newest versions of others' cells and, by a server's path, its last incarnation.
	Seen map[contract.CellName]protocol.Count `json:"seen,omitempty"`
	// Heat are the last values from Heat that a relay has carried: they stay valid when there is no
	// relay any more, and its record is gone.
	Heat *protocol.HeatValues `json:"heat,omitempty"`
}

// With returns r with more added. With the identity of another deployment r is dropped: only Heat's
// values, which are the machine's, stay.
func (r Remembered) With(more Remembered) Remembered {
	if more.Identity != nil {
		if r.Identity != nil && r.Identity.ID != more.Identity.ID {
			r = Remembered{Left: append(slices.Clip(r.Left), r.Identity.ID), Heat: r.Heat}
			if r.Heat != nil {
				r.Heat = new(*r.Heat)
				r.Heat.Number = 0
			}
		}
		r.Identity = more.Identity
	}
	if more.Heat != nil {
		r.Heat = more.Heat
	}
	r.Left = append(slices.Clip(r.Left), more.Left...)
	r.Counters, r.Seen = maps.Clone(r.Counters), maps.Clone(r.Seen)
	if r.Counters == nil {
		r.Counters = map[string]int64{}
	}
	if r.Seen == nil {
		r.Seen = map[contract.CellName]protocol.Count{}
	}
	maps.Copy(r.Counters, more.Counters)
	maps.Copy(r.Seen, more.Seen)
	return r
}

// Memory is a machine's store on its disk; it is used by several goroutines.
type Memory interface {
	Remembered() Remembered
	// Remember adds to it, and has it on the disk when it returns.
	Remember(Remembered) error
	// Keep stores a cell's record in place of the previous one; Kept returns all. They may be
	// secret.
	Keep(contract.CellName, protocol.CellRecord) error
	Kept() (Kept, error)
}

// UseMemory sets the machine's memory. Without it the member remembers only while it runs.
func (m *Member) UseMemory(memory Memory) { m.memory = memory }

// newMemory is a memory that is not on a disk.
type newMemory struct{}

func (newMemory) Remembered() Remembered { return Remembered{} }

func (newMemory) Remember(Remembered) error { return nil }

func (newMemory) Keep(contract.CellName, protocol.CellRecord) error { return nil }

func (newMemory) Kept() (Kept, error) { return nil, nil }

// within makes the numbers and versions that were seen those of a deployment. The mutex is held.
func (m *Member) within(id string) {
	if m.scope == id {
		return
	}
	m.scope, m.counters, m.seen, m.older = id, map[string]int64{}, map[contract.CellName]protocol.Count{}, map[string]int64{}
	m.groups = map[string]protocol.MembersRecord{}
	if r := m.memory.Remembered(); r.Identity != nil && r.Identity.ID == id {
		maps.Copy(m.counters, r.Counters)
		maps.Copy(m.seen, r.Seen)
	}
}

// adopt makes a deployment the one that the machine remembers. The changes of the plan and of Heat's
// values are numbered anew in it, so those in the stamps of what the machine has published are
// dropped. The mutex is held.
func (m *Member) adopt(identity *protocol.Identity) error {
	more := Remembered{Identity: identity}
	if m.scope == identity.ID {
		more.Counters, more.Seen = m.counters, m.seen
	}
	kept, err := m.memory.Kept()
	for _, cell := range slices.Sorted(maps.Keys(kept)) {
		if r := kept[cell]; err == nil && m.pinned != nil && len(r.Stamp) > 0 {
			r.Stamp = maps.Clone(r.Stamp)
			delete(r.Stamp, contract.PlanSource)
			delete(r.Stamp, contract.HeatSource)
			err = m.memory.Keep(cell, r)
		}
	}
	if err == nil {
		m.pinned = identity
		err = m.remember(more)
	}
	return err
}

// remember stores what was seen in the machine's deployment. The mutex is held.
func (m *Member) remember(more Remembered) error {
	if more.Identity == nil && m.scope != m.pinned.ID {
		return nil // of one that it has not joined
	}
	if err := m.memory.Remember(more); err != nil {
		return fmt.Errorf("%w: %w", ErrForgets, err)
	}
	return nil
}

// notOlder notes the number of an operator's or a relay's record, unless a larger one was seen of
// its kind; then operators and relays are told. ErrOlder, ErrForgets.
func (m *Member) notOlder(ctx context.Context, kind string, number int64) error {
	m.mu.Lock()
	last, told := m.counters[kind], m.older[kind] > 0
	var err error
	if number < last {
		m.older[kind], err = last, ErrOlder
	} else {
		if number > max(last, 1) { // nothing is older than the first
			err = m.remember(Remembered{Counters: map[string]int64{kind: number}})
		}
		if err == nil { // else who tries again stores it first
			m.counters[kind] = number
		}
		delete(m.older, kind)
	}
	m.mu.Unlock()
	if errors.Is(err, ErrOlder) && !told {
		m.leaveWord(ctx, "")
	}
	return err
}

// notSeenLater notes the version of a cell, or the incarnation of a server, unless a later one was
// seen.
func (m *Member) notSeenLater(what contract.CellName, is protocol.Count) (newest bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := m.seen[what]; is.Less(last) {
		return false, nil
	} else if last.Less(is) {
		if is[1] > 1 || is[1] == 0 && is[0] > 1 { // a cell's first version is as old as its writer's incarnation
			err = m.remember(Remembered{Seen: map[contract.CellName]protocol.Count{what: is}})
		}
		if err == nil { // else who tries again stores it first
			m.seen[what] = is
		}
	}
	return err == nil, err
}
