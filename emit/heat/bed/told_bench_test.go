//go:build e2e

package bed_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/bed"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// BenchmarkTold compares how long it takes from the end of the last role, as its agent has noted
// it, until the stack is COMPLETE, by a relay, with how long that takes a bare signal of Heat's.
// Both stacks are the same: each update replaces a server, whose old machine Heat deletes before
// the stack is COMPLETE. That is most of the time, and varies more than all else.
func BenchmarkTold(b *testing.B) {
	const rounds = 12
	told := relayed(b, "testdata/relayed.yaml", "told", "size=0")
	told.relay()
	bare := told.owned("bare", "size=0") // nobody relays
	var took [2][]float64
	var machines [2]*bed.Server // of the round before
	for i := range rounds * b.N {
		for k, d := range []*deployment{told, bare} {
			round := fmt.Sprint(i)
			if i > 0 {
				d.stack.Update(b, d.with("batch", round, "size", 0))
			}
			machines[k] = d.machine("db", machines[k])
			d.await("db", "gate", "running")
			until(b, "Heat to wait for "+d.name, func() bool {
				return slices.ContainsFunc(d.stack.Resources(b), func(r heattest.Resource) bool {
					return r.Name == "hotc_done" && r.Status == "IN_PROGRESS" && r.ID != ""
				})
			})
			time.Sleep(time.Duration(i) * time.Second / rounds) // at another moment between two looks
			ends := make(chan time.Time, 1)                     // Heat is asked all the time, in both turns
			go func() { ends <- complete(b, d.stack) }()
			open(b, machines[k], round)
			began := time.Time{}
			if d == bare {
				d.await("db", "gate", "done")
				began = time.Now()
				d.stack.Signal(b, "hotc_done")
			}
			end := <-ends
			if d == told {
				began = d.status()["db"].Roles[0].Ended
			}
			took[k] = append(took[k], end.Sub(began).Seconds())
		}
	}
	for k := range took {
		slices.Sort(took[k])
	}
	relay, signal := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.Logf("by a relay %.2f, by a bare signal %.2f", took[0], took[1])
	b.ReportMetric(relay, "s-relay")
	b.ReportMetric(relay/signal, "bare-ratio")
	b.ReportMetric(0, "ns/op")
}

// complete is when the stack is COMPLETE.
func complete(b *testing.B, s *heattest.Stack) time.Time {
	b.Helper()
	for {
		now := s.Status(b)
		if now.Status == "COMPLETE" {
			return time.Now()
		}
		if now.Status == "FAILED" {
			b.Errorf("%s: %s", now, now.Reason)
			return time.Now()
		}
		time.Sleep(20 * time.Millisecond)
	}
}
