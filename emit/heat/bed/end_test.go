//go:build e2e

package bed_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/bed"
)

// sleeperVariable makes the test below a bed's inhabitant.
const sleeperVariable = "HOTC_BED_SLEEPER"

// marker is an argument by which its processes are found.
const marker = "86413.25"

func TestSleeper(t *testing.T) {
	if os.Getenv(sleeperVariable) == "" {
		t.Skip("is started by TestKilledBedLeavesNothing")
	}
	b, err := bed.New(bed.Options{})
	do(t, err)
	_, err = b.ZooKeeper(1)
	do(t, err)
	// a process of another session that nobody waits for
	do(t, exec.Command("setsid", "sleep", marker).Start())
	time.Sleep(time.Hour)
}

// A bed whose program is killed takes everything with it.
func TestKilledBedLeavesNothing(t *testing.T) {
	t.Parallel()
	cmd := another(t, "TestSleeper", sleeperVariable)
	do(t, cmd.Start())
	until(t, "the other bed to stand", func() bool { return len(marked(t)) > 0 })
	do(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	until(t, "everything of the killed bed to be gone", func() bool { return len(marked(t)) == 0 })
}

// marked are the command lines with the marker.
func marked(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	do(t, err)
	var found []string
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if bytes.Contains(line, []byte(marker)) {
			found = append(found, string(line))
		}
	}
	return found
}

// failingVariable makes the test below fail.
const failingVariable = "HOTC_BED_FAILS"

func TestThatFails(t *testing.T) {
	if os.Getenv(failingVariable) == "" {
		t.Skip("is started by TestFailureTellsAll")
	}
	d := newWorld(t, "testdata/anew.yaml").deploy("told")
	d.await("db", "serve", "done")
	d.await("web", "reads", "running")
	t.Fatal("on purpose")
}

// A scenario that fails prints the stack's reason, hotc status and why, and of every
// server cloud-init's stages and output, the agent's log and what roles printed.
func TestFailureTellsAll(t *testing.T) {
	t.Parallel()
	out, err := another(t, "TestThatFails", failingVariable).CombinedOutput()
	if err == nil {
		t.Error("a test that fails has passed")
	}
	text := string(out)
	for part, times := range map[string]int{
		"on purpose": 1, "stack told: CREATE_IN_PROGRESS": 1, "hotc status": 1, "hotc why": 1, "server db (": 1, "server web (": 1,
		"--- /var/lib/bed/stages\n": 2, "--- /var/log/cloud-init-output.log\n": 2, "--- /var/log/hotc-agent.log\n": 2,
		"--- /var/log/cloud-init.log\n": 2, "hotc-agent: server db of told, incarnation 1: 2 roles": 1,
		"--- /var/lib/hotc/roles/serve.stderr\n": 1,
	} {
		if n := strings.Count(text, part); n < times {
			t.Errorf("%q is printed %d times, not %d", part, n, times)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}

// Where there can be no bed, that is said, and it is a failure.
func TestMachineThatCannot(t *testing.T) {
	t.Parallel()
	cmd := another(t, "TestThatFails", failingVariable)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	program := filepath.Join(t.TempDir(), "tests")
	text, err := os.ReadFile(cmd.Path)
	do(t, err)
	do(t, os.WriteFile(program, text, 0o755))
	for dir := filepath.Dir(program); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		do(t, os.Chmod(dir, 0o755))
	}
	cmd.Path = program
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "e2e: ") || !strings.Contains(string(out), "root") {
		t.Errorf("for nobody: %v\n%s", err, out)
	}
}

// The requests of a user in the bed.
func TestRequestsInTheBed(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/own.yaml").deploy("asked")
	d.stack.Complete(t)
	s := d.server("script")
	listed, err := bed.Ask("servers", "")
	do(t, err)
	if !bytes.Contains([]byte(listed.Text), []byte(s.Name)) {
		t.Errorf("servers: %s", listed.Text)
	}
	logs, err := bed.Ask("logs", s.Name)
	do(t, err)
	if !bytes.Contains([]byte(logs.Text), []byte("signalled Heat: SUCCESS")) {
		t.Errorf("logs: %s", logs.Text)
	}
	command, environment, err := bed.InServer(s.Name, []string{"hostname"})
	do(t, err)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = environment
	if out, err := cmd.CombinedOutput(); err != nil || string(bytes.TrimSpace(out)) != s.HostName {
		t.Errorf("hostname on %s: %v: %s", s.Name, err, out)
	}
	for _, action := range []string{"cut", "restore", "suspend", "resume", "off", "on", "reboot"} {
		if _, err := bed.Ask(action, s.Name); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
	if _, err := bed.Ask("fly", s.Name); err == nil {
		t.Error("servers can fly")
	}
	if _, err := bed.Ask("off", "nobody"); err == nil {
		t.Error("a server that is not there is off")
	}
}
