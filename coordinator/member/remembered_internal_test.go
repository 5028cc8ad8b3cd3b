package member

import (
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// fullDisk refuses the first things that it is to remember.
type fullDisk struct {
	newMemory
	full int
	has  Remembered
}

func (d *fullDisk) Remember(more Remembered) error {
	if d.full--; d.full >= 0 {
		return errors.New("no space left on device")
	}
	d.has = d.has.With(more)
	return nil
}

// A number counts as seen when it is on the disk: who tries again after a full disk stores it first.
func TestANumberIsStoredAtTheSecondTry(t *testing.T) {
	identity := &protocol.Identity{ID: "one"}
	for name, see := range map[string]func(*Member, int64) error{
		"a record's number": func(m *Member, n int64) error { return m.notOlder(t.Context(), protocol.KindPlan, n) },
		"a cell's version": func(m *Member, n int64) error {
			_, err := m.notSeenLater("db.mysql:url", protocol.Count{1, int(n)})
			return err
		},
	} {
		disk := &fullDisk{full: 2}
		m := &Member{memory: disk, pinned: identity, scope: identity.ID, counters: map[string]int64{}, seen: map[contract.CellName]protocol.Count{}, older: map[string]int64{}}
		for range 2 {
			if err := see(m, 7); !errors.Is(err, ErrForgets) {
				t.Errorf("%s: with a full disk: %v", name, err)
			}
		}
		if err := see(m, 7); err != nil || disk.has.Counters[protocol.KindPlan] != 7 && disk.has.Seen["db.mysql:url"] != (protocol.Count{1, 7}) {
			t.Errorf("%s: %v, and it has %v", name, err, disk.has)
		}
	}
}
