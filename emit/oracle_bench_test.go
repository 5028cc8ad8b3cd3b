package emit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// BenchmarkAgainstHeat prints how many times longer stock Heat takes to parse and
// validate a stack than hotc takes to compile its template, writing included. 500
// servers are what fits Heat's limit of a template's size.
func BenchmarkAgainstHeat(b *testing.B) {
	for _, n := range []int{10, 100, 500} {
		b.Run(fmt.Sprintf("servers=%d", n), func(b *testing.B) {
			path := writeMany(b, n)
			dir := filepath.Join(b.TempDir(), "out")
			for b.Loop() {
				if err := os.RemoveAll(dir); err != nil {
					b.Fatal(err)
				}
				var diags source.Diagnostics
				r := emit.Compile(options(path), &diags)
				if r == nil {
					b.Fatal(diags.All()[0])
				}
				if err := r.Folder.Write(dir); err != nil {
					b.Fatal(err)
				}
			}
			ours := b.Elapsed().Seconds() / float64(b.N)
			in := heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}}
			start := time.Now()
			if v := stockHeat.Oracle(b).Validate(b, in); !v.Accepted {
				b.Fatal(v.Error)
			}
			b.ReportMetric(time.Since(start).Seconds()/ours, "x-faster-than-heat")
		})
	}
}
