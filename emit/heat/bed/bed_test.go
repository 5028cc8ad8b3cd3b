//go:build e2e

package bed_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// The bed of these tests, with hotc and the agent built for it. They share it and
// run at the same time, each with a stack of its own.
var place struct {
	once     sync.Once
	bed      *bed.Bed
	zk       *bed.Ensemble
	programs string
	err      error
}

func TestMain(m *testing.M) {
	if err := bed.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// theBed makes the bed when the first test asks.
func theBed(t testing.TB) *bed.Bed {
	t.Helper()
	place.once.Do(func() { place.err = makePlace() })
	if place.err != nil {
		t.Fatal(place.err)
	}
	return place.bed
}

func makePlace() error {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator),
		"github.com/hotc-dev/hotc/cmd/hotc", "github.com/hotc-dev/hotc/cmd/hotc-agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build hotc: %w: %s", err, out)
	}
	place.programs = dir
	if place.bed, err = bed.New(bed.Options{Files: dir, IPv6: os.Getenv(version6Variable) != ""}); err != nil {
		return err
	}
	place.zk, err = place.bed.ZooKeeper(1)
	return err
}

// another is this program once more, for one of its tests in a bed of its own.
func another(t *testing.T, test, variable string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	do(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), "HOTC_BED=", variable+"=1")
	return cmd
}

// commandTime bounds what would otherwise hang all tests; no test is about it.
const commandTime = 2 * patience

// hotcCommand is a command of hotc's. One that has not ended with its context is made to print
// where all its goroutines are.
func hotcCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(place.programs, "hotc"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = patience / 10
	return cmd
}

// hotc runs a command of the operator's, who sits in the bed.
func hotc(args ...string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), commandTime)
	defer stop()
	cmd := hotcCommand(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	// status and why answer, too, where a role has failed
	if err := cmd.Run(); err != nil && (cmd.ProcessState.ExitCode() != 3 || args[0] != "status" && args[0] != "why") {
		return out.String() + errs.String(), fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), nil
}
