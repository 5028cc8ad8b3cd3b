package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// evaluation computes a plan's outputs from the cells as they are now, with the
// evaluator that agents use.
type evaluation struct {
	ctx     context.Context
	session *session
	plan    *contract.Plan
	reader  func() (*deploy.Reader, error)
	places  map[contract.CellName]contract.CellRef
	read    map[contract.CellName]coordinator.CellRecord
	secret  map[contract.CellName]bool
	// deploy are values of Heat's, where somebody else gives them: `hotc run`, or agents
	// that tell what Heat decided.
	deploy map[string]json.RawMessage
	// unknown is why values of Heat's are not among them.
	unknown map[string]string
	// missing is why Heat did not make servers.
	missing map[contract.ServerPath]string
}

// learn finds out what Heat decided of the stack's shape.
func (e *evaluation) learn() error {
	if undecided(e.plan) == 0 {
		return nil
	}
	snapshot, err := deploy.TakeSnapshot(e.ctx, e.session, e.session.Deployment, e.session.Secret, e.plan)
	if err != nil {
		return err
	}
	decided := status.DecisionsOf(snapshot.Servers, hot.DecidedSize)
	e.deploy, e.missing = decided.Values, map[contract.ServerPath]string{}
	for i, s := range e.plan.Servers {
		if why, _ := decided.Whether(s); why != "" && snapshot.Servers[i].Incarnation.Number == 0 {
			e.missing[s.Path] = why
		}
	}
	return nil
}

// prefetch reads the cells of many outputs at the same time.
func (e *evaluation) prefetch(outputs []contract.Output) error {
	reader, err := e.reader()
	if err != nil {
		return err
	}
	records := make([]coordinator.CellRecord, len(outputs))
	group, ctx := errgroup.WithContext(e.ctx)
	group.SetLimit(64)
	for i, o := range outputs {
		group.Go(func() (err error) {
			defer mistake.Ends()
			records[i], err = readCell(ctx, reader, e.places[o.Cell])
			return err
		})
	}
	err = group.Wait()
	for i, o := range outputs {
		e.read[o.Cell] = records[i]
	}
	return err
}

// readCell reads a cell; what a server has written that is no record has failed.
func readCell(ctx context.Context, reader *deploy.Reader, place contract.CellRef) (coordinator.CellRecord, error) {
	record, err := reader.Cell(ctx, place)
	var bad *coordinator.RecordError
	if errors.As(err, &bad) {
		return coordinator.CellRecord{State: coordinator.Failed, Cause: &coordinator.Cause{Reason: bad.Error()}}, nil
	}
	return record, err
}

func (e *evaluation) cell(name contract.CellName) (coordinator.CellRecord, error) {
	if record, known := e.read[name]; known {
		return record, nil
	}
	place, known := e.places[name]
	if !known {
		return coordinator.CellRecord{}, fmt.Errorf("the plan has no cell %s", name)
	}
	reader, err := e.reader()
	if err != nil {
		return coordinator.CellRecord{}, err
	}
	record, err := readCell(e.ctx, reader, place)
	if err == nil {
		e.read[name] = record
	}
	return record, err
}

func (e *evaluation) roleOutput(o contract.Output) (output, error) {
	record, err := e.cell(o.Cell)
	if err != nil {
		return output{}, err
	}
	result := output{Name: string(o.Cell), Type: o.Type, Secret: o.Secret, Since: record.Since}
	switch {
	case record.State == coordinator.Valued:
		result.State = outputValue
		if !o.Secret {
			result.Value = record.Value
		}
	case record.State == coordinator.Failed:
		result.State, result.Cause = outputFailed, record.Cause
		result.Message = status.CauseText(record.Cause)
	case e.missing[e.places[o.Cell].Server] != "":
		result.State, result.Message = outputMissing, e.missing[e.places[o.Cell].Server]
	default:
		result.State, result.Message = outputWaiting, "not published yet"
		result.WaitingFor = []contract.CellName{o.Cell}
	}
	return result, nil
}

func (e *evaluation) stackOutput(o contract.StackOutput) (output, error) {
	result := output{Name: o.Name}
	at := map[string]string{}
	for pointer, position := range o.At {
		at[pointer] = string(position)
	}
	residual, err := hot.ParseResidual(o.Expr, at)
	if err != nil {
		return result, source.Fail(source.BadPlan, "the output "+o.Name+": "+err.Error(), "")
	}
	r := &cellResolver{evaluation: e}
	value, err := residual.Eval(r)
	var absent *hot.AbsentError
	switch {
	case r.err != nil:
		return result, r.err
	case r.failed != nil:
		result.State, result.Cause = outputFailed, r.failed
		result.Message = status.CauseText(r.failed)
	case r.heat:
		result.State, result.Message = outputHeat, r.why
	case errors.As(err, &absent):
		result.State, result.Message = outputMissing, absent.Why
	case len(r.waiting) > 0:
		result.State, result.WaitingFor = outputWaiting, r.waiting
		result.Message = fmt.Sprintf("waits for %s", r.waiting[0])
		if n := len(r.waiting); n > 1 {
			result.Message += fmt.Sprintf(" and %d more", n-1)
		}
	case err != nil:
		result.State, result.Message = outputFailed, err.Error()
	default:
		result.State, result.Secret = outputValue, r.secret
		if !r.secret {
			result.Value = value
		}
	}
	return result, nil
}

// cellResolver answers an expression's reads from the cells, and remembers why
// it could not.
type cellResolver struct {
	*evaluation
	waiting []contract.CellName
	failed  *coordinator.Cause
	heat    bool
	why     string // what is known of why it is not there, if it is Heat's
	secret  bool
	err     error
}

var errUnavailable = errors.New("not there")

// Cell implements hot.Resolver.
func (r *cellResolver) Cell(name string) (json.RawMessage, error) {
	cell := contract.CellName(name)
	record, err := r.cell(cell)
	if err != nil {
		r.err = err
		return nil, err
	}
	r.secret = r.secret || r.evaluation.secret[cell]
	switch record.State {
	case coordinator.Valued:
		return record.Value, nil
	case coordinator.Failed:
		r.failed = record.Cause
		if r.failed == nil {
			r.failed = &coordinator.Cause{Reason: name + " has failed"}
		}
	default:
		if !slices.Contains(r.waiting, cell) {
			r.waiting = append(r.waiting, cell)
		}
	}
	return nil, errUnavailable
}

// Deploy implements hot.Resolver: what Heat computed is in the servers' boot files.
func (r *cellResolver) Deploy(key string) (json.RawMessage, error) {
	if v, known := r.deploy[key]; known {
		return v, nil
	}
	r.heat, r.why = true, r.unknown[key]
	return nil, errUnavailable
}

// undecided is how many servers of a plan Heat may make or not.
func undecided(p *contract.Plan) int {
	n := 0
	for _, s := range p.Servers {
		if len(s.If) > 0 {
			n++
		}
	}
	return n
}
