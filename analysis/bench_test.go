package analysis_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/analysis"
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/source"
)

// large is a template of servers with five roles of four references each: to the
// role before, to other servers' outputs and to a fact.
func large(servers int) []byte {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nresources:\n")
	for i := range servers {
		fmt.Fprintf(&b, "  s%d:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata:\n      hotc:\n        roles:\n", i)
		for r := range 5 {
			other := i / 2
			if i == 0 {
				other = 0
			}
			fmt.Fprintf(&b, "          - {name: r%d, driver: script, source: \"hotc-agent get a; hotc-agent get b; hotc-agent get c; hotc-agent get d; echo x | hotc-agent put o\", ", r)
			reference := fmt.Sprintf("{get_attr: [s%d, o%d]}", other, r)
			if i == 0 {
				reference = "{get_attr: [s0, first_address]}"
			}
			fmt.Fprintf(&b, "inputs: {a: %s, b: %s, c: {get_attr: [s%d, first_address]}, d: {get_resource: s%d}}, outputs: {o: {attribute: o%d}}}\n",
				reference, reference, (i+1)%servers, i, r)
		}
	}
	return []byte(b.String())
}

// processorTime is the process's CPU time: on a busy machine it says more than the clock.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// The analysis grows linearly: the time for a reference stays the same.
func BenchmarkAnalysis(b *testing.B) {
	for _, servers := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			var diags source.Diagnostics
			p := lower("large.yaml", large(servers), &diags)
			if diags.Failed() {
				b.Fatal(diags.All()[0])
			}
			b.ReportAllocs()
			runtime.GC()
			before := processorTime(b)
			b.ResetTimer()
			var kept *analysis.Findings
			for range b.N {
				kept = analysis.Check(p, binding.Analyse(p, binding.Options{}, &diags), rule.Options{}, &diags)
			}
			b.StopTimer()
			spent := processorTime(b) - before
			if diags.Failed() {
				b.Fatal(diags.All()[0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(servers*20), "ns/ref")
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/float64(servers*20), "cpu-ns/ref")
			var memory runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "live-MiB") // the template and its program, and what the analysis keeps
			runtime.KeepAlive(kept)
			runtime.KeepAlive(p)
		})
	}
}
