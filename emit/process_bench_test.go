package emit_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkProcess measures `hotc compile` as a user starts it: the processor's time of
// the whole process against that of the YAML library's bare decoding, which here starts
// no process, and the memory that it has resident at most.
func BenchmarkProcess(b *testing.B) {
	hotc := filepath.Join(b.TempDir(), "hotc")
	build := exec.Command("go", "build", "-trimpath", "-o", hotc, "github.com/hotc-dev/hotc/cmd/hotc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, text)
	}
	for _, n := range []int{10, 100, 1000, 10000} {
		path := writeMany(b, n)
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("servers=%d", n), func(b *testing.B) {
			var ours, theirs time.Duration
			resident := int64(0) // kB
			for b.Loop() {
				out := filepath.Join(b.TempDir(), "out")
				compile := exec.Command(hotc, "compile", path, "-o", out, "--limit", "template=1000000000", "--limit", "resources=1000000")
				if text, err := compile.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, text)
				}
				ours += compile.ProcessState.UserTime() + compile.ProcessState.SystemTime()
				resident = max(resident, compile.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
				theirs += processorTime(b, func() { bareDecode(b, text) })
			}
			b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-yaml-decode")
			b.ReportMetric(ours.Seconds()*1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(resident)/1024, "MiB-resident")
		})
	}
}
