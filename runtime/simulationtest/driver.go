package simulationtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// driverName is the driver of roles in generated programs.
const driverName = "simulated"

// tool runs roles as their program says, in virtual time.
type tool struct{ process *process }

// Name implements driver.Driver.
func (tool) Name() string { return driverName }

// Prepare implements driver.Driver.
func (tool) Prepare(context.Context, *driver.Job) error { return nil }

// run is one run of a role.
type run struct {
	process *process
	job     *driver.Job
	key     contract.RoleKey
	role    *Role
	of      made
	again   bool // it brings the role up to date

	mu   sync.Mutex
	read map[string]string // the first value read of each input
}

// Run implements driver.Driver.
func (t tool) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	p := t.process
	key := p.machine.Server.Role(job.Role.Name)
	var of made
	if err := json.Unmarshal(job.Role.Source, &of); err != nil {
		return driver.Exit{}, err
	}
	if of.Delete {
		return t.runDelete(ctx, job, key)
	}
	if of.Hook {
		return t.runHook(ctx, job, key, of)
	}
	r := &run{process: p, job: job, key: key, role: p.world.program.Roles[key], of: of, read: map[string]string{}}
	steps := r.role.Steps
	for ; len(steps) > 0 && steps[0].Eager; steps = steps[1:] {
		if err := r.readInput(ctx, steps[0].Name); err != nil {
			return driver.Exit{}, err
		}
	}
	if p.mark(key, "before the start") {
		return driver.Exit{}, errDead
	}
	if err := p.begin(ctx, job, of); err != nil {
		return driver.Exit{}, err
	}
	p.world.history.started(p, job.Role, of)
	exit := r.run(ctx, steps)
	if p.mark(key, "at the end") {
		return driver.Exit{}, errDead
	}
	p.world.roleEnded(p.machine)
	return exit, nil
}

// begin notes a run. Its agent may have noted it, too, if it is killed meanwhile.
func (p *process) begin(ctx context.Context, job *driver.Job, of made) error {
	err := job.Started(ctx)
	if err == nil || isClosed(p.dead) {
		h, key := p.world.history, fmt.Sprintf("%v %s", p.machine, job.Role.Name)
		h.mu.Lock()
		h.tried[key] = append(h.tried[key], of.Version)
		h.mu.Unlock()
	}
	return err
}

func (r *run) run(ctx context.Context, steps []Step) driver.Exit {
	for i, step := range steps {
		if r.process.mark(r.key, fmt.Sprintf("before step %d", i)) {
			return driver.Exit{Signal: syscall.SIGKILL}
		}
		err := r.step(ctx, step)
		if ctx.Err() != nil {
			return driver.Exit{Signal: syscall.SIGTERM}
		}
		if err != nil && !r.role.Stubborn {
			fmt.Fprintf(r.job.Stderr, "%v\n", err)
			return driver.Exit{Code: 1}
		}
	}
	return driver.Exit{Code: r.role.Exit}
}

func (r *run) step(ctx context.Context, s Step) error {
	switch s.Op {
	case Read:
		return r.readInput(ctx, s.Name)
	case Both:
		errs := make(chan error, 1)
		go func() { errs <- r.readInput(ctx, s.Other) }()
		return errors.Join(r.readInput(ctx, s.Name), <-errs)
	case Write:
		return r.write(ctx, s.Name, r.made(r.cellOf(s.Name)))
	case Other:
		return r.write(ctx, s.Name, "another value")
	case Hang:
		<-ctx.Done()
		return ctx.Err()
	default:
		timer := time.NewTimer(s.For)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
}

func (r *run) cellOf(output string) contract.CellName {
	for _, o := range r.job.Role.Outputs {
		if o.Name == output {
			return o.Cell
		}
	}
	return ""
}

func (r *run) input(name string) contract.Input {
	for _, in := range r.job.Role.Inputs {
		if in.Name == name {
			return in
		}
	}
	return contract.Input{}
}

func (r *run) readInput(ctx context.Context, name string) error {
	begun := r.process.world.history.reads(r, name)
	value, err := r.job.Values.Read(ctx, name)
	if isClosed(r.process.dead) {
		return errDead
	}
	begun.ended(value, err)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, again := r.read[name]; again && first != string(value) {
		r.process.world.history.violate("%s of %v read input %s twice: first %s, then %s", r.key, r.process, name, first, value)
	}
	r.read[name] = string(value)
	r.process.world.history.saw(r, name)
	return nil
}

func (r *run) write(ctx context.Context, output, value string) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	begun := r.process.world.history.writes(r, r.cellOf(output), value)
	err = r.job.Values.Write(ctx, output, text)
	if isClosed(r.process.dead) {
		return errDead
	}
	begun.ended(nil, err)
	return err
}
