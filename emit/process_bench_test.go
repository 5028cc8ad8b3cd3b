package emit_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// resident starts a command from a small process, and prints how many kB it had resident
// at most: Linux counts what the one that starts it has as the command's own.
const resident = `import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)`

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
			args := []string{hotc, "compile", path, "-q", "--limit", "template=1000000000", "--limit", "resources=1000000", "-o"}
			for b.Loop() {
				compile := exec.Command(args[0], append(args[1:], filepath.Join(b.TempDir(), "out"))...)
				if text, err := compile.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, text)
				}
				ours += compile.ProcessState.UserTime() + compile.ProcessState.SystemTime()
				theirs += processorTime(b, func() { bareDecode(b, text) })
			}
			said, err := exec.Command("python3", append([]string{"-c", resident}, append(args, filepath.Join(b.TempDir(), "out"))...)...).Output()
			kB, wrong := strconv.Atoi(strings.TrimSpace(string(said)))
			if err != nil || wrong != nil {
				b.Fatal(err, wrong)
			}
			b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-yaml-decode")
			b.ReportMetric(ours.Seconds()*1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(kB)/1024, "MiB-resident")
		})
	}
}
