package bed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideVariable is set in the environment of the process inside.
const insideVariable = "HOTC_BED"

func inside() bool { return os.Getenv(insideVariable) == "inside" && os.Getpid() == 1 }

// Enter moves the program into the bed's namespaces. It starts the program again there, with the
// same arguments, and does not return outside: it ends this process with the other's status. Inside
// it prepares the namespaces and returns. Call it first in main or TestMain. It returns an error
// where the machine cannot run a bed.
func Enter() error {
	if inside() {
		return prepare()
	}
	if err := machineCan(); err != nil {
		return err
	}
	status, err := enter()
	if err != nil {
		return err
	}
	os.Exit(status)
	return nil
}

// enter runs the program in new namespaces. The process inside is the first of its process
// namespace, so that everything started there dies with it; and it dies with this one's main
// thread, which waits for it and therefore stays.
func enter() (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("enter the bed: %w", err)
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), insideVariable+"=inside", "TMPDIR="+folder+"/tmp")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:    syscall.SIGKILL,
		Cloneflags:   unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Unshareflags: unix.CLONE_NEWNS, // makes the mounts private, too
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("enter the bed: %w", err)
	}
	go func() {
		for s := range signals {
			switch s {
			case syscall.SIGQUIT: // go test's way to ask for all goroutines' stacks
				_ = cmd.Process.Signal(s)
			case syscall.SIGINT: // from a terminal, it reaches all processes concerned
			default:
				_ = cmd.Process.Kill()
			}
		}
	}()
	err = cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return 0, fmt.Errorf("enter the bed: %w", err)
	}
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		return 128 + int(state.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// prepare makes the inside usable: /proc of the new process namespace, and a /run in memory for all
// that the bed creates.
func prepare() error {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc for the bed: %w", err)
	}
	if err := unix.Mount("bed", "/run", "tmpfs", 0, "mode=755,size=70%"); err != nil {
		return fmt.Errorf("mount /run for the bed: %w", err)
	}
	for _, dir := range []string{folder, folder + "/tmp", memberDir, "/run/netns", "/run/lock"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}
