package member

import (
	"errors"
	"fmt"
	"maps"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// Kept is what a machine has published, by cell: the latest records, not sealed.
type Kept map[contract.CellName]coordinator.CellRecord

// ErrOlder says that this machine has seen a newer record: the old one comes from a lagging
// follower, or was replayed.
var ErrOlder = errors.New("it is older than what this machine has already seen")

// ErrForgets says that the machine's disk cannot store what the machine has to remember.
var ErrForgets = errors.New("the record's counter cannot be stored")

// Remembered is what a machine stores of what it has read.
type Remembered struct {
	Identity *coordinator.Identity `json:"identity,omitempty"`
	// Counters are the largest ones seen, by what they count.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Heat are the last values from Heat that a relay has carried: they stay valid when there is no
	// relay any more, and its record is gone.
	Heat *coordinator.HeatValues `json:"heat,omitempty"`
}

// With returns r with more added.
func (r Remembered) With(more Remembered) Remembered {
	if more.Identity != nil {
		r.Identity = more.Identity
	}
	if more.Heat != nil {
		r.Heat = more.Heat
	}
	counters := maps.Clone(r.Counters)
	if counters == nil {
		counters = map[string]int64{}
	}
	maps.Copy(counters, more.Counters)
	r.Counters = counters
	return r
}

// Memory is a machine's store on its disk; it is used by several goroutines.
type Memory interface {
	Remembered() Remembered
	// Remember adds to it, and has it on the disk when it returns.
	Remember(Remembered) error
	// Keep stores a cell's record in place of the previous one; Kept returns all. They may be
	// secret.
	Keep(contract.CellName, coordinator.CellRecord) error
	Kept() (Kept, error)
}

// UseMemory sets the machine's memory. Without it the member remembers only while it runs.
func (m *Member) UseMemory(memory Memory) { m.memory = memory }

// newMemory is a memory that is not on a disk.
type newMemory struct{}

func (newMemory) Remembered() Remembered { return Remembered{} }

func (newMemory) Remember(Remembered) error { return nil }

func (newMemory) Keep(contract.CellName, coordinator.CellRecord) error { return nil }

func (newMemory) Kept() (Kept, error) { return nil, nil }

// recall loads what the machine remembers, once.
func (m *Member) recall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counters != nil {
		return
	}
	r := m.memory.Remembered()
	m.counters, m.pinned = map[string]int64{}, r.Identity
	for what, counter := range r.Counters {
		m.counters[what] = counter
	}
}

// remember is notOlder, with the identity that has the counter. The mutex is held.
func (m *Member) remember(what string, counter int64, identity *coordinator.Identity) error {
	switch last := m.counters[what]; {
	case counter < last:
		return ErrOlder
	case counter == last && identity == nil:
		return nil
	}
	m.counters[what] = counter
	if counter == 1 {
		return nil // nothing is older
	}
	if err := m.memory.Remember(Remembered{Identity: identity, Counters: map[string]int64{what: counter}}); err != nil {
		return fmt.Errorf("%w: %w", ErrForgets, err)
	}
	return nil
}
