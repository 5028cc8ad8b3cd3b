// Package role is the life cycle of a role on a server: what it waits for, when it
// starts, what its end means, and what is reported.
//
//	pending ──► running ──► done
//	   │           │
//	   └───────────┴──────► failed        (skipped: an earlier role failed; runtime/agent)
//
// A role is pending while it waits for its dependencies, its eager inputs and those that
// its files are rendered from: it has no effects yet, and after a restart simply waits
// again. Then, in this order: the coordinator records that it runs, which fails if
// another machine has taken over the server's name; the journal records it, on the disk;
// its files are written; its process starts. So a role that is running in the journal may
// have done anything, any other has done nothing. After a restart, a running role has
// failed as interrupted, unless it is idempotent and runs again.
//
// A role is done when its process has succeeded, every declared output is published,
// and the journal records it, in this order; only then its completion is published.
// Wherever the agent is killed, the next one knows what is left to do and does only that:
// publishing the same value again has no effect.
//
// A role that reads a failed value is ended at once, before its process could react. One
// that writes an invalid value is doomed: its process gets the error and a moment to
// handle it, and is ended. Its exit status no longer matters.
package role

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/journal"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// Cells is a role's view of the coordinator.
type Cells interface {
	AwaitRecord(ctx context.Context, cell contract.CellName, o member.AwaitOptions) (protocol.CellRecord, error)
	Cell(ctx context.Context, cell contract.CellName) (protocol.CellRecord, error)
	Away(ctx context.Context, cell contract.CellName) (bool, error)
	Follow(ctx context.Context, cell contract.CellName, changed func()) error
	Members(ctx context.Context, group string) (protocol.MembersRecord, error)
	FollowMembers(ctx context.Context, group string, changed func()) error
	Renew(ctx context.Context, cell contract.CellName, value json.RawMessage, stamp protocol.Stamp, lack *protocol.Cause, now time.Time) error
	Put(ctx context.Context, cell contract.CellName, value json.RawMessage, now time.Time) error
	File(ctx context.Context, digest string) ([]byte, error)
	WriteLog(ctx context.Context, role string, tail []byte) error
}

// Host is the server that runs a role. It is used by one role at a time.
type Host struct {
	Deployment string
	Server     contract.ServerPath
	// Deploy are the values from Heat, by key. Carried reports whether one may change, and so is
	// read as a cell (contract.HeatCell); nil if none may.
	Deploy  map[string]json.RawMessage
	Carried func(key string) bool
	Drivers []driver.Driver
	Cells   Cells
	Journal *journal.Journal
	// Work is the folder that roles run in, Private that of their temporary files.
	Work, Private string
	// Agent is the path of the agent's own program, for `hotc-agent get`.
	Agent string
	// Serve opens the socket of a role's values; the default is socket.Serve.
	Serve ServeFunc
	// Environment is the agent's, as KEY=VALUE.
	Environment []string
	// Ensure finds the tool that a role's driver or its source needs, and installs it if
	// allowed, with output to a file.
	Ensure func(ctx context.Context, tool driver.Tool, want contract.Install, log *os.File) (program string, err error)
	// Show receives each change of a role's state. It must not block.
	Show func(protocol.RoleState)
	// Begin reports the state of a role that is about to start, and returns when the
	// coordinator has stored it, or member.ErrPlanChanged.
	Begin func(context.Context, protocol.RoleState) error
	// Current returns member.ErrPlanChanged if the role's plan is no longer the one it was
	// read from. It may be nil.
	Current func(context.Context) error
	// Change is the counter of a change of the plan that the run is for, and that its stamps
	// name; 0 is none.
	Change int64
	Now    func() time.Time
	Random io.Reader
	// Grace is how long a process may take to end, Parting how long a doomed one may continue
	// before it is asked to.
	Grace, Parting time.Duration
}

// ServeFunc serves a role's values to its processes, in the role's private folder.
type ServeFunc func(ctx context.Context, folder string, values driver.Values) (Endpoint, error)

// Endpoint is such a server.
type Endpoint interface {
	Path() string
	Close()
}

func (h *Host) serve(ctx context.Context, folder string, values driver.Values) (Endpoint, error) {
	if h.Serve != nil {
		return h.Serve(ctx, folder, values)
	}
	return socket.Serve(ctx, folder, values)
}

// ErrInterrupted reports that the agent was told to end while a role ran.
var ErrInterrupted = errors.New("interrupted: the agent was told to end")

// Interrupted is the reason of a run that was running when its agent ended.
const Interrupted = "interrupted: the agent was ended or the server restarted while it ran"

// Run runs a role to its end, from its state in the journal. The state is to be reported;
// an error means that the agent cannot continue or, if it is member.ErrPlanChanged, that
// the role has not started and its plan must be read again.
func (h *Host) Run(ctx context.Context, r contract.Role) (protocol.RoleState, error) {
	l := newLife(ctx, h, r)
	defer l.release()
	switch noted := h.Journal.Role(r.Name); noted.Status {
	case protocol.RoleDone:
		l.recall(noted)
		return l.complete()
	case protocol.RoleFailed:
		l.recall(noted)
		return l.state(), nil
	case protocol.RoleRunning:
		if _, err := process.EndMarked([]string{noted.Run}, h.Grace); err != nil {
			return l.state(), err
		}
		if !r.Idempotent {
			l.recall(noted)
			return l.fail(l.reason(Interrupted), nil)
		}
	case protocol.RolePending, protocol.RoleSkipped:
	}
	return l.live()
}

// Fail fails a role that has not started, for a known reason.
func (h *Host) Fail(ctx context.Context, r contract.Role, reason error) (protocol.RoleState, error) {
	l := newLife(ctx, h, r)
	defer l.release()
	return l.fail(l.reason(reason.Error()), nil)
}

// Key names a role of the host.
func (h *Host) Key(role string) contract.RoleKey {
	return h.Server.Role(role)
}

// live runs a role that has not started to its end.
func (l *life) live() (protocol.RoleState, error) {
	if cause, err := l.awaitDependencies(); cause != nil || err != nil {
		return l.failOr(cause, err)
	}
	if err := l.pin(); err != nil {
		return l.state(), err
	}
	job, tool, closeJob, err := l.prepare()
	if err != nil {
		return l.failUnready(l.reason(err.Error()), l.endingOr(err))
	}
	defer func() { closeJob() }()
	exit, err := l.run(tool, job)
	if hook := contract.FindTask(l.role.Hooks, contract.HookCreate); hook != nil && l.succeeded(exit, err) {
		closeJob()
		exit, closeJob, err = l.runHook(hook)
	}
	if fatal := l.fatalError(); fatal != nil {
		return l.state(), fatal
	}
	if l.state().Started.IsZero() {
		if err == nil {
			err = errors.New("the driver ended without starting anything")
		}
		return l.failUnready(l.causeOf(exit, err), l.ending())
	}
	var status *int
	if err == nil {
		code := exit.Status()
		status = &code
		l.keepStatus(code)
	}
	if l.ending() != nil {
		return l.interrupted(status)
	}
	if cause := l.causeOf(exit, err); cause != nil {
		return l.fail(cause, status)
	}
	if cause := l.missingOutputs(); cause != nil {
		return l.fail(cause, status)
	}
	if err := l.publishLast(); err != nil {
		switch fatal := l.fatalError(); {
		case fatal != nil:
			return l.state(), fatal
		case l.ending() != nil:
			return l.interrupted(status)
		}
		return l.fail(l.causeOf(exit, err), status)
	}
	followed := l.followed()
	if err := l.host.Journal.NoteEnded(l.role.Name, journal.End{ExitCode: status, Followed: followed}); err != nil {
		return l.state(), err
	}
	l.end(protocol.RoleDone, status, nil)
	l.mu.Lock()
	l.now.Followed = followed
	l.mu.Unlock()
	return l.complete()
}

// succeeded reports whether a role whose process has ended has not failed.
func (l *life) succeeded(exit driver.Exit, err error) bool {
	return err == nil && exit.OK() && l.doomCause() == nil && l.fatalError() == nil && l.ending() == nil && !l.state().Started.IsZero()
}

// runHook runs a hook as a part of the role, which has already started; the hook's
// processes have the role's mark.
func (l *life) runHook(hook *contract.Task) (driver.Exit, func(), error) {
	l.hook = hook.Name
	l.role.Source, l.role.Files, l.role.At = hook.Source, hook.Files, hook.At
	job, tool, closeJob, err := l.prepare()
	if err != nil {
		return driver.Exit{}, func() {}, err
	}
	job.Started = func(context.Context) error { return nil }
	exit, err := l.run(tool, job)
	return exit, closeJob, err
}

// run runs the driver under the role's timeout, until it has ended everything.
func (l *life) run(tool driver.Driver, job *driver.Job) (driver.Exit, error) {
	if err := l.render(job.Work); err != nil {
		return driver.Exit{}, err
	}
	exit, err := tool.Run(l.process, job)
	if l.process.Err() != nil && l.mark != "" {
		if _, leftErr := process.EndMarked([]string{l.mark}, l.host.Grace); leftErr != nil {
			err = errors.Join(err, leftErr)
		}
	}
	return exit, err
}

// complete publishes the completion of a role that is done, unless a new plan lacks it.
func (l *life) complete() (protocol.RoleState, error) {
	completion := l.host.Key(l.role.Name).Completion()
	err := l.host.Cells.Put(l.ctx, completion, json.RawMessage("null"), l.host.Now())
	if left := (*member.FailedCellError)(nil); errors.As(err, &left) || errors.Is(err, member.ErrNotInPlan) {
		err = l.changedOr(err)
	}
	return l.state(), err
}

// changedOr returns member.ErrPlanChanged if the role's plan has changed, or else err.
func (l *life) changedOr(err error) error {
	if l.host.Current != nil {
		if changed := l.host.Current(l.ctx); errors.Is(changed, member.ErrPlanChanged) {
			return changed
		}
	}
	return err
}

// failOr fails the role with a cause, unless the agent itself is to end.
func (l *life) failOr(cause *protocol.Cause, err error) (protocol.RoleState, error) {
	if err != nil {
		return l.state(), err
	}
	return l.fail(cause, nil)
}

// failUnready fails a role that could not start, unless its plan has changed: its files
// may have been removed with the old one.
func (l *life) failUnready(cause *protocol.Cause, err error) (protocol.RoleState, error) {
	if err == nil {
		err = l.changedOr(nil)
	}
	return l.failOr(cause, err)
}

// fail records the failure. The agent, which knows the roles that follow, reports it.
func (l *life) fail(cause *protocol.Cause, status *int) (protocol.RoleState, error) {
	if err := l.host.Journal.NoteEnded(l.role.Name, journal.End{ExitCode: status, Cause: cause}); err != nil {
		return l.state(), err
	}
	l.end(protocol.RoleFailed, status, cause)
	return l.state(), nil
}

// interrupted ends a role whose agent was told to end. An idempotent one stays running in
// the journal, so that the next agent runs it again.
func (l *life) interrupted(status *int) (protocol.RoleState, error) {
	if l.role.Idempotent {
		return l.state(), l.ending()
	}
	state, err := l.fail(l.reason(ErrInterrupted.Error()), status)
	return state, errors.Join(l.ending(), err)
}

// prepare creates the job and lets the driver prepare it.
func (l *life) prepare() (job *driver.Job, tool driver.Driver, closeJob func(), err error) {
	if tool = driver.Find(l.host.Drivers, l.role.Driver); tool == nil {
		return nil, nil, nil, fmt.Errorf("this agent has no driver %q", l.role.Driver)
	}
	if err := l.parseInputs(); err != nil {
		return nil, nil, nil, err
	}
	job, closeJob, err = l.openJob()
	if err != nil {
		return nil, nil, nil, err
	}
	if err = l.findTool(tool, job); err == nil {
		err = tool.Prepare(l.ctx, job)
	}
	if err != nil {
		closeJob()
		return nil, nil, nil, err
	}
	return job, tool, closeJob, nil
}

// findTool ensures that a driver's tool is installed.
func (l *life) findTool(d driver.Driver, job *driver.Job) error {
	needed, any := driver.ToolFor(d, l.role)
	if !any {
		return nil
	}
	var want contract.Install
	if l.role.Install != nil {
		want = *l.role.Install
	}
	program, err := l.host.Ensure(l.ctx, needed, want, job.Stderr)
	job.Program = program
	return err
}

// openJob creates the folders, streams and socket of a run.
func (l *life) openJob() (*driver.Job, func(), error) {
	name := store.Segment(l.role.Name)
	folder := filepath.Join(l.host.Private, name)
	work := filepath.Join(l.host.Work, name)
	own := map[string]string{"HOTC_DEPLOYMENT": l.host.Deployment, "HOTC_SERVER": string(l.host.Server), "HOTC_ROLE": l.role.Name}
	if l.task != nil {
		own[l.task.variable()] = l.task.Name
	} else if l.hook != "" {
		own["HOTC_HOOK"] = l.hook
	}
	socket.Remove(folder)
	if err := os.RemoveAll(folder); err != nil {
		return nil, nil, fmt.Errorf("clear the role's folder: %w", err)
	}
	bin := filepath.Join(folder, "bin")
	err := errors.Join(os.MkdirAll(work, 0o755), os.MkdirAll(bin, 0o700))
	if err == nil {
		err = os.Symlink(l.host.Agent, filepath.Join(bin, "hotc-agent"))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("create the role's folder: %w", err)
	}
	if l.mark == "" {
		var random [8]byte
		if _, err := io.ReadFull(l.host.Random, random[:]); err != nil {
			return nil, nil, fmt.Errorf("read randomness: %w", err)
		}
		l.mark = hex.EncodeToString(random[:])
	}
	base := work
	if l.task != nil {
		base = l.host.printsOf(l.role.Name, l.task)
	}
	prints, err := openPrints(base)
	if err != nil {
		return nil, nil, err
	}
	prints.mask = &l.mask
	if l.prints != nil {
		prints.from, prints.tail = l.prints.from, l.prints.tailNow()
	}
	l.prints = prints
	server, err := l.host.serve(l.ctx, folder, l)
	if err != nil {
		prints.close()
		return nil, nil, err
	}
	stopLog := l.followLog()
	own[socket.Variable], own[process.MarkVariable] = server.Path(), l.mark
	job := &driver.Job{
		Role: l.role, Folder: folder, Work: work, Values: l, Files: l.host.Cells,
		Stdout: prints.stdout, Stderr: prints.stderr, Started: l.start, Grace: l.host.Grace,
		Need: func(ctx context.Context, tool driver.Tool) (string, error) {
			return l.host.Ensure(ctx, tool, contract.Install{}, prints.stderr)
		},
		Environment: environment(l.host.Environment, bin, own),
	}
	return job, sync.OnceFunc(func() {
		server.Close()
		stopLog()
		if err := prints.scrub(); err != nil {
			fmt.Fprintf(prints.stderr, "hotc-agent: %v\n", err)
		}
		prints.close()
		socket.Remove(folder)
		os.RemoveAll(folder)
	}), nil
}

// keepStatus writes the exit status beside the role's folder.
func (l *life) keepStatus(code int) {
	path := filepath.Join(l.host.Work, store.Segment(l.role.Name)+".status")
	if os.WriteFile(path+".new", fmt.Appendf(nil, "%d\n", code), 0o644) == nil {
		os.Rename(path+".new", path)
	}
}
