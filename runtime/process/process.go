// Package process starts a role's process and ensures its end.
//
// A role may start anything: children, daemons, processes that leave their group. What it
// leaves behind when it ends by itself stays: that may be the service that it was meant
// to start. But when a role *is ended* (a timeout, a failed read, the agent's own end),
// none of its processes may continue. Three mechanisms ensure that:
//
//   - The process leads its own session and group, so that one signal reaches it and its
//     children, and a terminal's Ctrl-C reaches neither.
//   - Its environment has a random mark (HOTC_RUN), which all descendants inherit: it
//     identifies those that left the group and, after the agent was killed, those that
//     outlived it.
//   - The kernel kills the first process when the agent dies (PDEATHSIG).
//
// A process that leaves the group *and* clears its environment is not found.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// MarkVariable is the environment variable that identifies a role's processes.
const MarkVariable = "HOTC_RUN"

// Grace is how long a process may take to end.
const Grace = 5 * time.Second

// Run starts a command and waits for the end of its first process. Its streams must be
// files, so that what it leaves behind can continue to use them. If ctx ends first, Run
// ends the command's group: SIGTERM first, SIGKILL after the grace.
func Run(ctx context.Context, cmd *exec.Cmd, grace time.Duration) (driver.Exit, error) {
	return run(ctx, cmd, grace, false)
}

func run(ctx context.Context, cmd *exec.Cmd, grace time.Duration, tool bool) (driver.Exit, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := ctx.Err(); err != nil {
		return driver.Exit{}, context.Cause(ctx)
	}
	started, ended, reap := make(chan error), make(chan struct{}), make(chan struct{})
	reaped := make(chan struct{})
	mistake.Go(func() {
		defer close(reaped)
		// For PDEATHSIG, the parent is the starting thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		awaitExit(cmd.Process.Pid)
		close(ended)
		// Until it is reaped, its ID, and so its group's, is not reused.
		<-reap
		cmd.Wait()
	})
	if err := <-started; err != nil {
		return driver.Exit{}, fmt.Errorf("start the process: %w", err)
	}
	select {
	case <-ended:
	case <-ctx.Done():
		patience := grace
		if tool && errors.Is(context.Cause(ctx), driver.ErrInputFailed) {
			patience = 0
		}
		endGroup(cmd.Process.Pid, ended, patience, grace)
		<-ended
	}
	close(reap)
	<-reaped
	return exitOf(cmd), nil
}

// mostPrinted bounds the end of a program's output that is kept.
const mostPrinted = 256 << 10

// Output is Run for a command without an output file; it returns the end of its output.
func Output(ctx context.Context, cmd *exec.Cmd, grace time.Duration) (printed []byte, exit driver.Exit, err error) {
	file, err := os.CreateTemp("", "hotc-output-")
	if err != nil {
		return nil, exit, err
	}
	defer file.Close()
	os.Remove(file.Name())
	cmd.Stdout, cmd.Stderr = file, file
	if exit, err = Run(ctx, cmd, grace); ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if info, statErr := file.Stat(); statErr == nil {
		printed, _ = io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-mostPrinted), mostPrinted))
	}
	return printed, exit, err
}

// RunTool starts a job's tool and waits for its end. A tool may be configured to continue
// after errors, so when an input has failed it is killed, during the read.
func RunTool(ctx context.Context, job *driver.Job, cmd *exec.Cmd) (driver.Exit, error) {
	cmd.Dir, cmd.Stdout, cmd.Stderr = job.Work, job.Stdout, job.Stderr
	if err := job.Started(ctx); err != nil {
		return driver.Exit{}, err
	}
	exit, err := run(ctx, cmd, job.Grace, true)
	if err != nil {
		err = fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return exit, err
}

// awaitExit returns when the process has ended, without reaping it.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// endGroup terminates a group and, after patience, kills what is left.
func endGroup(group int, ended <-chan struct{}, patience, grace time.Duration) {
	if patience > 0 {
		unix.Kill(-group, unix.SIGTERM)
	}
	deadline := time.Now().Add(patience)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
	left := func() []target { return inSession(group) }
	awaitNone(left, deadline)
	unix.Kill(-group, unix.SIGKILL)
	awaitNone(left, time.Now().Add(grace)) // a killed process takes a moment to be gone
}

func exitOf(cmd *exec.Cmd) driver.Exit {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return driver.Exit{Signal: status.Signal()}
	}
	return driver.Exit{Code: cmd.ProcessState.ExitCode()}
}
