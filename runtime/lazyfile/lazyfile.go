// Package lazyfile gives a role its inputs as ordinary files whose opening blocks
// until the value is there, for every language and every child process.
//
// The files are empty. Fanotify asks the agent for its permission whenever one is
// opened (FAN_OPEN_PERM): the opener sleeps in the kernel until the value has been
// written into the file by a descriptor that was opened before, and then reads it.
// After that the kernel asks no more. An opener whose value will not come gets an
// error (EPERM).
//
// Only the role's own processes wait. They are known by the text that they have in
// their environment, or one of their parents, or the leader of their session
// (reader.go). All others, a backup, an indexer, get EPERM at once: they neither hang
// nor take an empty file for a value.
//
// When nobody holds the fanotify descriptor any more the kernel lets every opener
// through, to an empty file. So two processes hold it: the agent, which answers, and
// a guard (guard.go), which does nothing until the agent has gone. If the agent dies
// the guard ends the role, denies what is still asked for and removes the files before
// it lets go; if the guard dies the agent ends the role.
//
// FACTS: an opener that waits can be ended by SIGKILL only; the right to ask needs
// CAP_SYS_ADMIN in the first user namespace, and a kernel with
// CONFIG_FANOTIFY_ACCESS_PERMISSIONS. Where these are not, Open returns
// ErrUnsupported.
package lazyfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// ErrUnsupported says that this kernel, or who we are, cannot let an opening wait.
var ErrUnsupported = errors.New("files whose opening waits need a kernel with fanotify permission events, and root in the first user namespace")

// ErrGuardDied says that the role must be ended: nobody would end it if the agent died.
var ErrGuardDied = errors.New("the guard of its input files has died")

// EndsRole says of a context's cause that the role must be ended for the files' sake.
func EndsRole(cause error) bool {
	var broken *brokenError
	return errors.Is(cause, ErrGuardDied) || errors.As(cause, &broken)
}

// brokenError is what makes it impossible to answer.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// Options are what Open needs.
type Options struct {
	// Folder is where the files are made, by the names in Inputs' keys; the values are
	// what Read is asked for.
	Folder string
	Inputs map[string]string
	// Read gives an input's value as it stands in the file. It blocks.
	Read func(ctx context.Context, input string) ([]byte, error)
	// Guard is the command line of the guard, which calls Guard.
	Guard []string
	// Mark is the text of process.MarkVariable in the role's environment.
	Mark string
}

// Files are a role's files.
type Files struct {
	Options
	ctx    context.Context
	cancel context.CancelCauseFunc
	events *os.File
	guard  *exec.Cmd
	life   *os.File // the guard's standard input
	byFile map[inode]*file
	done   chan struct{}
	gone   chan struct{} // the guard has ended

	mu     sync.Mutex
	closed bool
}

type inode struct{ device, number uint64 }

// file is one input.
type file struct {
	path, input string
	own         *os.File
	waiting     []int32 // openers, by the descriptors of their events
	asked       bool
	denied      bool
}

// orders are what the guard is told at its start.
type orders struct {
	Mark  string   `json:"mark"`
	Files []string `json:"files"`
}

// Open makes the files. The context is the one to run the role under until Close: it
// ends, with a cause of which EndsRole is true, if the role must be ended.
func Open(ctx context.Context, o Options) (*Files, context.Context, error) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (%w)", ErrUnsupported, os.NewSyscallError("fanotify_init", err))
	}
	f := &Files{Options: o, byFile: map[inode]*file{}, done: make(chan struct{}), gone: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	// The guard's copy is taken while the descriptor still blocks: os.File would make it
	// block again for both when it is passed on.
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		unix.Close(fd)
		return nil, nil, os.NewSyscallError("dup", err)
	}
	forGuard := os.NewFile(uintptr(copied), "fanotify")
	defer forGuard.Close()
	if err := errors.Join(f.make(fd), f.startGuard(forGuard), unix.SetNonblock(fd, true)); err != nil {
		f.stopGuard()
		f.closeFiles()
		unix.Close(fd)
		return nil, nil, err
	}
	f.events = os.NewFile(uintptr(fd), "fanotify")
	mistake.Go(f.answer)
	return f, f.ctx, nil
}

// make makes and marks the files.
func (f *Files) make(fd int) error {
	for name, input := range f.Inputs {
		x := &file{path: filepath.Join(f.Folder, name), input: input}
		var err error
		if x.own, err = os.OpenFile(x.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return fmt.Errorf("make the file of input %s: %w", input, err)
		}
		id, err := inodeOf(int(x.own.Fd()))
		if err != nil {
			return err
		}
		f.byFile[id] = x
		if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, x.path); err != nil {
			os.Remove(x.path)
			return fmt.Errorf("%w (%w)", ErrUnsupported, os.NewSyscallError("fanotify_mark", err))
		}
	}
	return nil
}

func inodeOf(fd int) (inode, error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return inode{}, os.NewSyscallError("fstat", err)
	}
	return inode{s.Dev, s.Ino}, nil
}

func (f *Files) startGuard(fanotify *os.File) error {
	folder, err := os.Open(f.Folder)
	if err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	defer folder.Close()
	in, life, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	defer in.Close()
	f.life = life
	f.guard = exec.Command(f.Guard[0], f.Guard[1:]...)
	f.guard.Stdin, f.guard.ExtraFiles, f.guard.Env, f.guard.Dir = in, []*os.File{fanotify, folder}, []string{}, "/"
	f.guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends the agent or the role does not reach it
	if err := f.guard.Start(); err != nil {
		close(f.gone)
		return fmt.Errorf("start the guard: %w", err)
	}
	mistake.Go(func() {
		defer close(f.gone)
		_ = f.guard.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.closed {
			f.cancel(ErrGuardDied)
		}
	})
	o := orders{Mark: f.Mark}
	for _, x := range f.byFile {
		o.Files = append(o.Files, filepath.Base(x.path))
	}
	if err := json.NewEncoder(life).Encode(o); err != nil {
		return fmt.Errorf("instruct the guard: %w", err)
	}
	return nil
}

// atEase is what the guard is told when the role has ended.
const atEase = "done"

func (f *Files) stopGuard() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	if f.life == nil {
		return
	}
	_, _ = f.life.WriteString(atEase)
	f.life.Close()
	<-f.gone
}

func (f *Files) closeFiles() {
	for _, x := range f.byFile {
		x.own.Close()
	}
}

// Close denies what is still asked for and lets go. The role has ended by then; a file
// whose value was not asked for is removed, so that nobody finds it empty.
func (f *Files) Close() {
	f.cancel(context.Canceled)
	for _, x := range f.byFile {
		if !x.hasValue() {
			os.Remove(x.path)
		}
	}
	<-f.done
	f.stopGuard()
	f.events.Close()
	f.closeFiles()
}

func (x *file) hasValue() bool {
	info, err := x.own.Stat()
	return err == nil && info.Size() > 0
}
