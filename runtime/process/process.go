// Package process starts a role's process and makes sure of its end.
//
// A role may start whatever it likes: children, daemons, processes that leave
// their group. What it leaves behind when it ends by itself stays, that may be
// the very service it was there to start. But when a role is *ended* (a timeout,
// a failed read, the agent's own end) nothing of it may go on. Three nets hold
// that, from fine to coarse:
//
//   - The process leads a session and group of its own, so that one signal
//     reaches it and its children, and a terminal's Ctrl-C reaches neither.
//   - Each of the processes has a random text in its environment (HOTC_RUN), which
//     children inherit wherever they move: it finds those that left the group, and,
//     after the agent itself was killed, those that outlived it.
//   - The kernel kills the first process when the agent dies (PDEATHSIG).
//
// What leaves the group *and* clears its environment is out of reach.
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

// MarkVariable is the environment variable by which a role's processes are found.
const MarkVariable = "HOTC_RUN"

// Grace is how long a process that was asked to end may take.
const Grace = 5 * time.Second

// Run starts a command and waits for the end of its first process. Its streams
// must be files, so that what it leaves behind can go on using them. When ctx
// ends first, Run ends the command's group: asked first, killed after the grace.
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
		// The kernel means the starting thread when it says parent in PDEATHSIG.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		awaitExit(cmd.Process.Pid)
		close(ended)
		// As long as it is not reaped, its number, and so its group's, is not given to
		// another process.
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

// mostPrinted is how much of what a program printed is looked at, from its end.
const mostPrinted = 256 << 10

// Output is Run of a command for whose output there is no other place; it returns the end of
// that.
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

// RunTool starts a job's tool and waits for its end. A tool goes on after what fails, if its
// user wants that: so when an input has failed it is killed, in the midst of the read.
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

// awaitExit returns when the process has ended, and leaves it to be reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// endGroup asks a group to end, for as long as patience lasts, and kills what is left.
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
