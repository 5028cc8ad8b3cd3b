//go:build e2e

package bed_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// BenchmarkBoot boots a server with a role and one without hotc, one after the other
// and each alone, and compares. busy-% is how much longer cloud-init takes with
// hotc's part in it; ready-% is what hotc takes from the end of cloud-init until the
// first role begins (download, check, enrolment), as a share of the plain boot.
func BenchmarkBoot(b *testing.B) {
	w := newWorld(b, "testdata/boot.yaml")
	d := w.deploy("boots" + strconv.Itoa(b.N)) // a benchmark is called again with more
	d.stack.Complete(b)
	templates := [2]*bed.Server{d.server("ours"), d.server("plain")}
	var boots [2][]float64
	var ready []float64
	const pairs = 6
	for i := range b.N * pairs {
		for k := range 2 {
			k := (k + i) % 2
			took, after := bootAgain(b, w.bed, templates[k], i*2+k)
			boots[k] = append(boots[k], took)
			if k == 0 {
				ready = append(ready, after)
			}
		}
	}
	slices.Sort(ready)
	ours, plain := slices.Min(boots[0]), slices.Min(boots[1]) // what else the machine does only adds
	b.ReportMetric(plain, "s-plain")
	b.ReportMetric(100*(ours/plain-1), "busy-%")
	b.ReportMetric(100*ready[len(ready)/2]/plain, "ready-%")
	b.ReportMetric(0, "ns/op")
}

// bootAgain boots a server like another one, which it fences, and says how many
// seconds cloud-init took, and how long after that the role, if there is one, began.
func bootAgain(b *testing.B, on *bed.Bed, like *bed.Server, n int) (boot, role float64) {
	number := strconv.Itoa(100 + n)
	s, err := on.Rebuild(like, "22222222-2222-4333-8444-555555555"+number, "10.77.201."+strconv.Itoa(1+n))
	do(b, err)
	defer func() { do(b, on.Remove(s)) }()
	until(b, s.Name+" to have begun its role", func() bool {
		_, err := s.Read("var/lib/began")
		return err == nil && s.Booted()
	})
	text, err := s.Read("var/lib/bed/stages")
	do(b, err)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	first, last := strings.Fields(lines[0]), strings.Fields(lines[len(lines)-1])
	ended := seconds(b, last[3])
	began, err := s.Read("var/lib/began")
	do(b, err)
	return ended - seconds(b, first[2]), seconds(b, strings.TrimSpace(began)) - ended
}

func seconds(b *testing.B, text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	do(b, err)
	return f
}
