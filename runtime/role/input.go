package role

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// input is a declared input. All its readers share one evaluation, which ends when the
// last of them leaves.
type input struct {
	contract.Input
	expr *hot.Residual

	mu      sync.Mutex
	attempt *attempt
}

// attempt is one evaluation of an input.
type attempt struct {
	readers int
	cancel  context.CancelFunc
	done    chan struct{}
	value   json.RawMessage
	err     error
}

func (l *life) parseInputs() error {
	for _, in := range l.role.Inputs {
		expr, err := hot.ParseResidual(in.Expr, in.At)
		if err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
		l.inputs[in.Name] = &input{Input: in, expr: expr}
	}
	return nil
}

// Read returns an input's value. A failed value ends the role; its process gets no answer, as it
// could not handle it.
func (l *life) Read(ctx context.Context, name string) (json.RawMessage, error) {
	in, declared := l.inputs[name]
	if !declared {
		return nil, l.undeclared("input", name)
	}
	in.mu.Lock()
	a := in.attempt
	if a == nil {
		evaluation, cancel := context.WithCancel(l.process)
		a = &attempt{cancel: cancel, done: make(chan struct{})}
		in.attempt = a
		mistake.Go(func() {
			defer cancel()
			a.value, a.err = l.evaluate(evaluation, in)
			close(a.done)
		})
	}
	a.readers++
	in.mu.Unlock()
	select {
	case <-a.done:
		if a.err == nil || !errors.Is(context.Cause(l.process), driver.ErrInputFailed) {
			return a.value, a.err
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case <-ctx.Done():
		l.leave(in, a)
		return nil, context.Cause(ctx)
	}
}

func (l *life) leave(in *input, a *attempt) {
	in.mu.Lock()
	defer in.mu.Unlock()
	a.readers--
	select {
	case <-a.done:
	default:
		if a.readers == 0 {
			a.cancel()
			in.attempt = nil
		}
	}
}

var errInputTimeout = errors.New("the input timed out")

func (l *life) evaluate(ctx context.Context, in *input) (json.RawMessage, error) {
	if in.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, seconds(in.Timeout), errInputTimeout)
		defer cancel()
	}
	r := &resolver{life: l, ctx: ctx, in: in}
	value, err := in.expr.Eval(r)
	if err == nil && in.Type != "" {
		value, err = driver.Check(in.Type, value)
	}
	switch {
	case err == nil:
		if in.Secret {
			l.mask.add(value)
		}
		return value, nil
	case errors.Is(context.Cause(ctx), errInputTimeout):
		err = fmt.Errorf("no value after %v (the input's timeout)", seconds(in.Timeout))
		return nil, l.failedRead(in, r, err)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case stopsAgent(err):
		l.giveUp(err)
		return nil, err
	case notDelivered(err) && in.Default != nil:
		return in.Default, nil
	case notDelivered(err) && in.Optional:
		return json.RawMessage("null"), nil
	}
	return nil, l.failedRead(in, r, err)
}

// notDelivered reports whether the producer has definitely failed to deliver.
func notDelivered(err error) bool {
	var failed *member.FailedCellError
	var absent *hot.AbsentError
	return errors.As(err, &failed) || errors.As(err, &absent) || errors.Is(err, member.ErrNotInPlan)
}

// failedRead ends the role.
func (l *life) failedRead(in *input, r *resolver, err error) error {
	at := in.At[""]
	if placed, is := errors.AsType[*hot.Error](err); is {
		if placed.At.Known() {
			at = contract.Position(placed.At.String())
		}
		if placed.Err != nil {
			err = placed.Err
		} else {
			err = errors.New(placed.Message)
		}
	}
	var cause *protocol.Cause
	if r.last != "" {
		cause = l.blockedOn(r.last, fmt.Sprintf(" (input %s)", in.Name), at, err)
	} else {
		cause = l.reasonAt(at, fmt.Sprintf("input %s: %v", in.Name, err))
	}
	l.setDoom(cause)
	l.kill(driver.ErrInputFailed)
	return errors.New(cause.String())
}

// Foresee returns an input's value when it has arrived. It is not a read: its failure does
// not affect the role.
func (l *life) Foresee(ctx context.Context, name string) (json.RawMessage, error) {
	in, declared := l.inputs[name]
	if !declared {
		return nil, l.undeclared("input", name)
	}
	value, err := in.expr.Eval(&resolver{life: l, ctx: ctx, in: in, ahead: true})
	if err == nil && in.Type != "" {
		value, err = driver.Check(in.Type, value)
	}
	return value, err
}

// resolver resolves the references of an input's expression.
type resolver struct {
	life *life
	ctx  context.Context
	in   *input
	last contract.CellName // the cell being read; "" once its value has arrived
	// ahead is set before any read: the wait is not shown, and has no end.
	ahead bool
}

// Cell reads a cell once for the whole role.
func (r *resolver) Cell(cell contract.CellName) (json.RawMessage, error) {
	if value, known := r.life.cells.get(cell); known {
		return value, nil
	}
	r.last = cell
	record, err := r.awaitCell(r.ctx, cell)
	if err != nil {
		if record.State == protocol.Failed {
			r.life.cells.put(cell, record)
		}
		return nil, err
	}
	r.last = ""
	return r.life.cells.put(cell, record), nil
}

func (r *resolver) awaitCell(ctx context.Context, cell contract.CellName) (protocol.CellRecord, error) {
	if r.ahead {
		return r.life.host.Cells.AwaitRecord(ctx, cell, member.AwaitOptions{IfDown: -1, Machine: r.life.machine(cell)})
	}
	return r.life.await(ctx, cell, r.in.Name, r.in.At[""], seconds(r.in.IfDown))
}

// Deploy returns a value from Heat.
func (r *resolver) Deploy(key string) (json.RawMessage, error) {
	if carried := r.life.host.Carried; carried != nil && carried(key) {
		return r.Cell(contract.HeatCell(key))
	}
	value, there := r.life.host.Deploy[key]
	if !there {
		return nil, noDeployValue(key)
	}
	return value, nil
}

// undeclared is the error for an unknown name of an input or output.
func (l *life) undeclared(kind, name string) error {
	var declared []string
	if kind == "input" {
		declared = inputNames(l.role)
	}
	for _, out := range l.role.Outputs {
		if kind == "output" {
			declared = append(declared, out.Name)
		}
	}
	return fmt.Errorf("%s %s is not declared; the %ss of %s are: %s", kind, name, kind, l.host.Key(l.role.Name), cmp.Or(strings.Join(declared, ", "), "none"))
}

func inputNames(r contract.Role) (names []string) {
	for _, in := range r.Inputs {
		names = append(names, in.Name)
	}
	return names
}
