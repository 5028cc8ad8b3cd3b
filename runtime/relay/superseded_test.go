package relay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// busy is a Heat that does not answer one of the questions for a while.
type busy struct {
	*cloud
	what  string
	times int
}

func (b *busy) refuses(what string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.times--; b.what == what && b.times >= 0 {
		return errors.New("no answer from Heat")
	}
	return nil
}

func (b *busy) Stack(ctx context.Context, name string) (*heat.Stack, error) {
	if err := b.refuses("stack"); err != nil && b.looked() > 0 {
		return nil, err
	}
	return b.cloud.Stack(ctx, name)
}

func (b *busy) Resources(ctx context.Context, name, id string, depth int) ([]heat.Resource, error) {
	if err := b.refuses("resources"); err != nil {
		return nil, err
	}
	return b.cloud.Resources(ctx, name, id, depth)
}

// Where Heat does not say whether a wait was superseded, it is told nothing yet: a failure would
// leave the stack in progress for ever.
func TestADoubtThatIsNotAnswered(t *testing.T) {
	for _, what := range []string{"stack", "resources"} {
		w := newWorld(t)
		w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
		w.waits["w1"].Created.Time = noon
		w.updated, w.has, w.names, w.state = noon.Add(time.Minute), []string{"id-2"}, `{"db":{}}`, "UPDATE_IN_PROGRESS"
		w.report(w.machine("id-1"), "mysql=failed")
		w.relay(t.Context(), "relay", func(r *Relay) { r.Heat = &busy{w.cloud, what, 20} })
		w.until("Heat was told", func() bool { return len(w.said()) == 1 })
		if got := w.said()[0]; !strings.HasPrefix(got, "w1 COMPLETE superseded") {
			t.Errorf("%s: Heat was told %q", what, got)
		}
	}
}
