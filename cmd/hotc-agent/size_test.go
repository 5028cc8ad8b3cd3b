package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// BenchmarkSize builds the agent as a release does, and measures it: the program,
// and what it holds in memory while a role waits for a value.
func BenchmarkSize(b *testing.B) {
	program := filepath.Join(b.TempDir(), "hotc-agent")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, text)
	}
	info, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	for name, start := range map[string]startCoordinator{"socket": inMemory, "zookeeper": inZooKeeper} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				bed := newBedOn(b, start, false, "hotc-agent get x")
				bed.program = program
				p := bed.start()
				bed.awaitBlocked()
				b.ReportMetric(float64(residentKiB(b, p.Process.Pid))/1024, "MiB-resident")
				p.Process.Kill()
				p.status()
			}
			b.ReportMetric(float64(info.Size())/1e6, "MB-program")
		})
	}
}

func inZooKeeper(t testing.TB, _ string) (string, func(...coordinator.Credential) coordinator.Store) {
	url := zktest.Start(t).URL("/hotc")
	return url, func(creds ...coordinator.Credential) coordinator.Store {
		store, err := zookeeper.Open(context.Background(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

func residentKiB(b *testing.B, pid int) (size int) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &size); err == nil {
			return size
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
