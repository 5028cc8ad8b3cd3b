package lazyfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/runtime/process"
)

// BenchmarkOpen prints what the opening of a file costs whose value is there: the first
// one, for which the kernel asks the agent, beside one of an ordinary file.
func BenchmarkOpen(b *testing.B) {
	const inputs = 200
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	readAll := func(folder string) {
		cmd := exec.Command("bash", "-c", `for f in "$0"/*; do read -r x <"$f"; [ "$x" = value ] || exit 1; done`, folder)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), process.MarkVariable + "=" + mark}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	o := Options{Mark: mark, Guard: []string{program, "guard"}, Inputs: map[string]string{},
		Read: func(context.Context, string) ([]byte, error) { return []byte("value\n"), nil }}
	plain := b.TempDir()
	for i := range inputs {
		name := fmt.Sprintf("in%d", i)
		o.Inputs[name] = name
		if err := os.WriteFile(filepath.Join(plain, name), []byte("value\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var ours, peer time.Duration
	for b.Loop() {
		o.Folder = b.TempDir()
		f, _, err := Open(context.Background(), o)
		if errors.Is(err, ErrUnsupported) {
			b.Skipf("SKIPPED: no file's opening can wait here: %v", err)
		}
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		readAll(o.Folder)
		between := time.Now()
		readAll(plain)
		ours, peer = ours+between.Sub(start), peer+time.Since(between)
		f.Close()
	}
	b.ReportMetric(float64((ours-peer).Microseconds())/float64(b.N*inputs), "µs/open")
}

// BenchmarkGuard prints what a role with such files costs before it starts: the guard's
// start.
func BenchmarkGuard(b *testing.B) {
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, _, err := Open(context.Background(), Options{Folder: b.TempDir(), Mark: mark, Guard: []string{program, "guard"},
			Inputs: map[string]string{"db": "db"}, Read: func(context.Context, string) ([]byte, error) { return nil, nil }})
		if err != nil && strings.Contains(err.Error(), ErrUnsupported.Error()) {
			b.Skipf("SKIPPED: no file's opening can wait here: %v", err)
		}
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
