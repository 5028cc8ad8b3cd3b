package relay

import (
	"context"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// halfHeat is a Heat that ends waits, but lists neither events nor resources: it answers 500, late,
// or with more than a relay reads.
type halfHeat struct{ *cloud }

var errHalf = fmt.Errorf("no answer from Heat: the answer is too large: %w", heat.ErrUnreachable)

func (halfHeat) Events(context.Context, string, string, string, int) ([]heat.Event, error) {
	return nil, errHalf
}

func (halfHeat) Resources(context.Context, string, string, int) ([]heat.Resource, error) {
	return nil, errHalf
}

// What a relay asks Heat for beside its waits holds up none of them, and is said.
func TestWaitsEndThoughHeatListsNothing(t *testing.T) {
	w := newWorld(t)
	m := w.machine("i-1")
	for name, value := range map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`} {
		if err := m.Put(t.Context(), name, []byte(value), noon); err != nil {
			t.Fatal(err)
		}
	}
	w.report(m, "mysql=done backup=done")
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "i-1"})
	said := make(chan string, 100)
	ended := w.relay(t.Context(), "once", func(r *Relay) {
		r.Heat, r.Once = halfHeat{w.cloud}, true
		r.Say = func(text string) { said <- text }
	})
	if err := <-ended; err != nil {
		t.Errorf("with --once it ends with %v", err)
	}
	if got := w.said(); len(got) != 1 {
		t.Errorf("Heat was told %q", got)
	}
	for close(said); ; {
		text, more := <-said
		if !more {
			t.Error("it does not say that Heat lists no events")
		}
		if !more || text == "Heat: "+errHalf.Error() {
			break
		}
	}
}
