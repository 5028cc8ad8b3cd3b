//go:build e2e

package bed_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/bed"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// bare is a stack that waits for a signal, at each update again.
const bare = `heat_template_version: 2018-08-31
parameters: {round: {type: string, default: '0'}}
resources:
  config: {type: OS::Heat::SoftwareConfig}
  done:
    type: OS::Heat::SoftwareDeployment
    properties: {server: bare, config: {get_resource: config}, signal_transport: HEAT_SIGNAL, input_values: {round: {get_param: round}}}
`

// BenchmarkTold compares how long it takes from the end of the last role, as its agent has noted
// it, until the stack is COMPLETE, by a relay, with how long a bare signal of Heat's takes. Heat
// looks once a second.
func BenchmarkTold(b *testing.B) {
	const rounds = 12
	d := relayed(b, "testdata/relayed.yaml", "told", "size=0")
	d.relay()
	path := filepath.Join(b.TempDir(), "bare.yaml")
	do(b, os.WriteFile(path, []byte(bare), 0o600))
	signalled := d.bed.Judge.Create(b, "bare", heattest.Input{Template: path})
	b.Cleanup(func() { signalled.Delete(b) })
	var took [2][]float64
	var db *bed.Server // of the round before
	for i := range rounds * b.N {
		round := fmt.Sprint(i)
		if i > 0 {
			d.stack.Update(b, d.with("batch", round, "size", 0))
			signalled.Update(b, heattest.Input{Template: path, Parameters: map[string]any{"round": round}})
		}
		db = d.machine("db", db)
		d.await("db", "gate", "running")
		time.Sleep(time.Duration(i) * time.Second / rounds) // at another moment between two looks of Heat's
		open(b, db, round)
		ended := complete(b, d.stack)
		took[0] = append(took[0], ended.Sub(d.status()["db"].Roles[0].Ended).Seconds())
		until(b, "the bare stack to wait", func() bool {
			return slices.ContainsFunc(signalled.Resources(b), func(r heattest.Resource) bool { return r.Name == "done" && r.Status == "IN_PROGRESS" && r.ID != "" })
		})
		time.Sleep(time.Duration(i) * time.Second / rounds)
		ends := make(chan time.Time, 1) // Heat is asked all the time, as in the relay's turn
		go func() { ends <- complete(b, signalled) }()
		began := time.Now()
		signalled.Signal(b, "done")
		took[1] = append(took[1], (<-ends).Sub(began).Seconds())
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
			b.Fatalf("%s: %s", now, now.Reason)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
