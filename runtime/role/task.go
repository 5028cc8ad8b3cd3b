package role

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// Task is an action or a hook: another source that the role's tool runs, with the role's
// inputs, in the role's folder. Only the update hook writes outputs.
type Task struct {
	contract.Task
	Kind protocol.RequestKind // Action or Hook
	// Arguments are inputs of only this run. One with a declared input's name replaces it.
	Arguments map[string]json.RawMessage
	// Pins are the values of followed cells that the role is updated to.
	Pins map[contract.CellName]protocol.CellRecord
	// Start records that the task is about to start, with the mark of its processes, and its
	// versions of the cells that its role follows. It must not start if that fails.
	Start func(ctx context.Context, mark string, followed journal.Followed) error
	// Waits, if not nil, receives the reads that wait while the task runs. It must not block.
	Waits func([]protocol.Wait)
}

// variable is the environment variable that names the task to its processes.
func (t *Task) variable() string {
	if t.Kind == protocol.Hook {
		return "HOTC_HOOK"
	}
	return "HOTC_ACTION"
}

// updates reports whether the task updates the role, including its files, to its plan.
func (t *Task) updates() bool { return t.Kind == protocol.Hook && t.Name == contract.HookUpdate }

// TaskEnd is how a task ended.
type TaskEnd struct {
	journal.End
	Output string // the end of what it printed, without secrets
}

// silent keeps a task's output out of the role's log; it is in the task's answer.
type silent struct{ Cells }

func (silent) WriteLog(context.Context, string, []byte) error { return nil }

// RunTask runs a task of a role. An error means that the agent cannot continue; the end
// then says how far the task got.
func (h *Host) RunTask(ctx context.Context, r contract.Role, t *Task) (TaskEnd, error) {
	quiet := *h
	if !t.updates() { // an update is the role's own last run, and has no answer
		quiet.Cells = silent{h.Cells}
	}
	quiet.Show = func(now protocol.RoleState) {
		if t.Waits != nil {
			t.Waits(now.Blocked)
		}
	}
	for _, ending := range printEndings {
		if err := os.Remove(h.printsOf(r.Name, t) + ending); err != nil && !errors.Is(err, os.ErrNotExist) {
			return TaskEnd{}, fmt.Errorf("begin the task's output: %w", err)
		}
	}
	r.Source, r.Files, r.At = t.Source, t.Files, t.At
	r.DependsOn = nil
	follows := r.Follows
	if !t.updates() {
		r.Render, r.Outputs, r.Follows = nil, nil, nil
	}
	r.Inputs = withArguments(r.Inputs, t.Arguments)
	l := newLife(ctx, &quiet, r)
	l.task, l.follows = t, follows
	defer l.release()
	if err := l.pin(); err != nil {
		return TaskEnd{}, err
	}
	job, tool, closeJob, err := l.prepare()
	if err != nil {
		return TaskEnd{End: journal.End{Cause: l.reason(err.Error()), Followed: l.followed()}}, l.endingOr(err)
	}
	defer closeJob()
	exit, err := l.run(tool, job)
	if l.succeeded(exit, err) {
		err = l.publishLast()
	}
	if fatal := l.fatalError(); fatal != nil {
		return TaskEnd{}, fatal
	}
	end := TaskEnd{End: journal.End{Cause: l.causeOf(exit, err), Followed: l.followed()}}
	closeJob()
	end.Output = readable(l.prints.tailNow())
	if l.ending() != nil {
		end.Cause = l.reason(ErrInterrupted.Error())
		return end, l.ending()
	}
	if err == nil && !l.state().Started.IsZero() {
		code := exit.Status()
		end.ExitCode = &code
	}
	return end, nil
}

// withArguments adds arguments to a role's inputs.
func withArguments(inputs []contract.Input, arguments map[string]json.RawMessage) []contract.Input {
	var all []contract.Input
	for _, in := range inputs {
		if _, replaced := arguments[in.Name]; !replaced {
			all = append(all, in)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		all = append(all, contract.Input{Name: name, Time: contract.Static, Expr: hot.LiteralResidual(arguments[name]), At: map[string]contract.Position{}})
	}
	return all
}

// printsOf is the path of a task's output files, without suffixes.
func (h *Host) printsOf(role string, t *Task) string {
	return filepath.Join(h.Work, store.Segment(role)+"."+string(t.Kind)+"."+store.Segment(t.Name))
}

// Printed is the end of the output of a task's last run; "" if it may contain secrets,
// which are known only to the agent that ran it.
func (h *Host) Printed(r contract.Role, t *Task) string {
	if slices.ContainsFunc(r.Inputs, func(in contract.Input) bool { return in.Secret }) {
		return ""
	}
	p, err := openPrints(h.printsOf(r.Name, t))
	if err != nil {
		return ""
	}
	defer p.close()
	p.read = [2]int64{}
	p.look()
	return readable(p.tailNow())
}
