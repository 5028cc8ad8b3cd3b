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
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// Task is an action or a hook: another source that the role's tool runs, with the
// role's inputs, in the role's folder. Only what brings the role up to date writes outputs.
type Task struct {
	contract.Task
	Kind coordinator.RequestKind // Action or Hook
	// Arguments are inputs of this run alone. One of a declared input's name takes
	// its place.
	Arguments map[string]json.RawMessage
	// Pins are what the role is brought up to date with: values of cells that it follows.
	Pins map[contract.CellName]coordinator.CellRecord
	// Start notes that the task is about to start, under the mark of its processes, and what
	// it has of the cells that its role follows. It must not start if that fails.
	Start func(ctx context.Context, mark string, followed journal.Followed) error
	// Waits is told of the reads that wait while the task runs; nil is nobody. It must not block.
	Waits func([]coordinator.Wait)
}

// variable is the environment variable that names the task to its processes.
func (t *Task) variable() string {
	if t.Kind == coordinator.Hook {
		return "HOTC_HOOK"
	}
	return "HOTC_ACTION"
}

// updates says that the task brings the role to what its plan has become: its files, too.
func (t *Task) updates() bool { return t.Kind == coordinator.Hook && t.Name == contract.HookUpdate }

// TaskEnd is how a task ended.
type TaskEnd struct {
	journal.End
	Output string // the end of what it printed, without secrets
}

// silent keeps what a task prints out of the role's log; its answer has that.
type silent struct{ Cells }

func (silent) WriteLog(context.Context, string, []byte) error { return nil }

// RunTask runs a task of a role. An error says that the agent cannot go on; the end
// then tells how far the task came.
func (h *Host) RunTask(ctx context.Context, r contract.Role, t *Task) (TaskEnd, error) {
	quiet := *h
	if !t.updates() { // an update is the role's own last run, and has no answer
		quiet.Cells = silent{h.Cells}
	}
	quiet.Show = func(now coordinator.RoleState) {
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
	if l.goesWell(exit, err) {
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

// withArguments are a role's inputs with arguments among them.
func withArguments(inputs []contract.Input, arguments map[string]json.RawMessage) []contract.Input {
	var all []contract.Input
	for _, in := range inputs {
		if _, replaced := arguments[in.Name]; !replaced {
			all = append(all, in)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		expr, _ := json.Marshal(map[string]json.RawMessage{"$literal": arguments[name]})
		all = append(all, contract.Input{Name: name, Time: contract.Static, Expr: expr, At: map[string]contract.Position{}})
	}
	return all
}

// printsOf is where a task prints to, less the endings.
func (h *Host) printsOf(role string, t *Task) string {
	return filepath.Join(h.Work, coordinator.Segment(role)+"."+string(t.Kind)+"."+coordinator.Segment(t.Name))
}

// Printed is the end of what a task printed when it ran last, as text; "" if there
// may be secrets in it, which only the agent knew that ran it.
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
