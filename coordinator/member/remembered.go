package member

import (
	"errors"
	"fmt"
	"maps"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// Kept is what a machine keeps of what it has published, by cell: its latest contents,
// not sealed.
type Kept map[contract.CellName]coordinator.CellRecord

// ErrOlder says that a record was replaced before, as this machine knows: a follower
// that lags behind shows it, or somebody who keeps what was there.
var ErrOlder = errors.New("it is older than what this machine has seen before")

// ErrForgets says that the machine's disk does not take what the machine has to remember.
var ErrForgets = errors.New("what was seen cannot be noted")

// Remembered is what a machine keeps of what it was shown.
type Remembered struct {
	Identity *coordinator.Identity `json:"identity,omitempty"`
	// Counters are the last ones, by what they count.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Heat is the last that a relay has carried of what Heat gives: it holds when no relay carries
	// anything any more, and its record is gone.
	Heat *coordinator.HeatValues `json:"heat,omitempty"`
}

// With is what is remembered when more is.
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

// Memory is where a machine remembers, on its disk; it is used by several goroutines.
type Memory interface {
	Remembered() Remembered
	// Remember adds to it, and has it on the disk when it returns.
	Remember(Remembered) error
	// Keep keeps a cell's contents, in the place of those before; Kept are those of all.
	// They may be secret.
	Keep(contract.CellName, coordinator.CellRecord) error
	Kept() (Kept, error)
}

// UseMemory gives the member what the machine remembers. Without it the member
// remembers as long as it lives.
func (m *Member) UseMemory(memory Memory) { m.memory = memory }

// newMemory is a memory that is on no disk.
type newMemory struct{}

func (newMemory) Remembered() Remembered { return Remembered{} }

func (newMemory) Remember(Remembered) error { return nil }

func (newMemory) Keep(contract.CellName, coordinator.CellRecord) error { return nil }

func (newMemory) Kept() (Kept, error) { return nil, nil }

// recall takes over what the machine remembers, once.
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

// remember is notOlder, with the identity that bears the counter. The mutex is held.
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
