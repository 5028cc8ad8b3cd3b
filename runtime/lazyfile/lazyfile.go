// Package lazyfile passes inputs to a role as ordinary files that block when opened until
// the value has arrived, for every language and child process.
//
// The files are empty. Fanotify requests the agent's permission whenever one is opened
// (FAN_OPEN_PERM): the opener sleeps in the kernel until the value has been written, by a
// descriptor that was opened before, and then reads it. After that no more permission is
// needed. An opener whose value has failed gets an error (EPERM).
//
// Only the role's own processes wait. They have, or one of their parents or their session
// leader has, the role's mark in the environment (reader.go). All others, such as a backup
// or an indexer, get EPERM at once: they neither hang nor read an empty file.
//
// When the last fanotify descriptor is closed, the kernel allows every opener, to an empty
// file. So two processes hold it: the agent, which answers, and a guard (guard.go), which
// does nothing until the agent is gone. If the agent dies, the guard ends the role, denies
// the openers and removes the files before it exits; if the guard dies, the agent ends the
// role.
//
// A waiting opener can be ended only by SIGKILL. Permission events need CAP_SYS_ADMIN in
// the initial user namespace, and a kernel with CONFIG_FANOTIFY_ACCESS_PERMISSIONS.
// Otherwise Open returns ErrUnsupported.
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

// ErrUnsupported reports that this kernel or user cannot block opens.
var ErrUnsupported = errors.New("files that block when opened need a kernel with fanotify permission events, and root in the initial user namespace")

// ErrGuardDied means that the role must be ended: nothing would end it if the agent died.
var ErrGuardDied = errors.New("the guard of its input files has died")

// EndsRole reports whether a context's cause is one of this package's, which ends the role.
func EndsRole(cause error) bool {
	var broken *brokenError
	return errors.Is(cause, ErrGuardDied) || errors.As(cause, &broken)
}

// brokenError makes it impossible to answer.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// Options are the arguments of Open.
type Options struct {
	// Folder is where the files are created, named by the keys of Inputs; its values are
	// passed to Read.
	Folder string
	Inputs map[string]string
	// Read returns the content of an input's file. It blocks.
	Read func(ctx context.Context, input string) ([]byte, error)
	// Guard is the command line of the guard, which calls Guard.
	Guard []string
	// Mark is the value of process.MarkVariable in the role's environment.
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
	written     bool // it has its value
	denied      bool
}

// orders are the guard's configuration.
type orders struct {
	Mark  string   `json:"mark"`
	Files []string `json:"files"`
}

// Open creates the files. The role runs under the context until Close: it ends, with a
// cause of which EndsRole is true, if the role must be ended.
func Open(ctx context.Context, o Options) (*Files, context.Context, error) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (%w)", ErrUnsupported, os.NewSyscallError("fanotify_init", err))
	}
	f := &Files{Options: o, byFile: map[inode]*file{}, done: make(chan struct{}), gone: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	// Duplicate for the guard while the descriptor is still blocking: passing on an os.File
	// would make both block again.
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

// make creates and marks the files.
func (f *Files) make(fd int) error {
	for name, input := range f.Inputs {
		x := &file{path: filepath.Join(f.Folder, name), input: input}
		var err error
		if x.own, err = os.OpenFile(x.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return fmt.Errorf("create the file of input %s: %w", input, err)
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
	f.guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals to the agent or the role do not reach it
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

// roleEnded tells the guard that the role has ended.
const roleEnded = "done"

func (f *Files) stopGuard() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	if f.life == nil {
		return
	}
	_, _ = f.life.WriteString(roleEnded)
	f.life.Close()
	<-f.gone
}

func (f *Files) closeFiles() {
	for _, x := range f.byFile {
		x.own.Close()
	}
}

// Close denies the remaining openers and closes fanotify, after the role has ended. A file
// whose value was not read is removed, so that it is not found empty.
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
