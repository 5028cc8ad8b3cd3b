//go:build e2e

package bed_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkParameterChanged measures from the beginning of a plain stack update that changes a
// parameter until the role that reads it has been started on its server, by a relay (s-first), and
// the role that reads from that one, too (s-last). The goal is 5 s; Heat's own part is in it.
func BenchmarkParameterChanged(b *testing.B) {
	const rounds = 10
	d := relayed(b, "testdata/given.yaml", "parameter"+fmt.Sprint(b.N), "level=0")
	d.relay()
	d.ends("CREATE_COMPLETE")
	var took [2][]float64
	for i := range rounds * b.N {
		began := time.Now()
		d.stack.Update(b, d.with("level", fmt.Sprint(i+1)))
		d.ends("UPDATE_COMPLETE")
		now := d.status()
		for k, server := range []string{"cache", "web"} {
			took[k] = append(took[k], now[server].Roles[0].Update.Started.Sub(began).Seconds())
		}
	}
	for k := range took {
		slices.Sort(took[k])
	}
	b.Logf("the first role %.2f, the last %.2f", took[0], took[1])
	b.ReportMetric(took[0][len(took[0])/2], "s-first")
	b.ReportMetric(took[1][len(took[1])/2], "s-last")
	b.ReportMetric(slices.Max(took[1]), "s-slowest")
	b.ReportMetric(0, "ns/op")
}
