package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// TestMain lets test scripts run hotc itself, and removes what tests built.
func TestMain(m *testing.M) {
	testscript.Main(removing{m}, map[string]func(){"hotc": main})
}

// removing removes the binaries behind the tests.
type removing struct{ m *testing.M }

// Run implements testscript.TestingM.
func (r removing) Run() int {
	defer func() { _ = os.RemoveAll(binaries.dir) }()
	return r.m.Run()
}

// The commands as a user types them: one script a subject in testdata/script.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	agent := binary(t, "hotc-agent")
	standIn := chefStandIn(t)
	// Where the tests run under nohup, what they start would not notice a closed terminal.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangup) })
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: false,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"agents": agents, "until": until},
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("AGENT", agent)
			env.Setenv("GORACE", os.Getenv("GORACE")) // a script's environment is its own
			env.Setenv("STANDIN", standIn)
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			env.Setenv("HOTC_BIN", bin) // a PATH with hotc alone
			_, url := serve(t)
			env.Setenv(coordinatorVariable, url)
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "fanotify":
				return openingsWait(), nil
			case "userns":
				return exec.Command("unshare", "--user", "--map-root-user", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}

// openingsWait says whether the opening of a file can wait here (runtime/lazyfile).
func openingsWait() bool {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	probe, err := os.CreateTemp("", "hotc-fanotify-*")
	if err != nil {
		return false
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	return unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, probe.Name()) == nil
}
