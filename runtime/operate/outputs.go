package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Outputs is the result of `hotc outputs --json` (docs/json.md).
type Outputs struct {
	Stack   string   `json:"stack"`
	Outputs []Output `json:"outputs"` // the stack's
	Roles   []Output `json:"roles"`   // the roles'
}

// OutputState says whether an output has a value.
type OutputState string

// The states of an output.
const (
	OutputValue   OutputState = "value"
	OutputWaiting OutputState = "waiting"
	OutputFailed  OutputState = "failed"
	// OutputHeat is an output that needs a value only Heat knows.
	OutputHeat OutputState = "heat"
	// OutputMissing is one of a server that Heat did not create, or computed from such.
	OutputMissing OutputState = "missing"
)

// Output is one output, of the stack or of a role.
type Output struct {
	Name       string              `json:"name"`
	State      OutputState         `json:"state"`
	Value      json.RawMessage     `json:"value,omitempty"`
	Secret     bool                `json:"secret,omitempty"` // its value is not shown
	Type       contract.Type       `json:"type,omitempty"`
	Since      time.Time           `json:"since,omitzero"`
	WaitingFor []contract.CellName `json:"waiting_for,omitempty"`
	Cause      *protocol.Cause     `json:"cause,omitempty"`
	Message    string              `json:"message,omitempty"`
}

// Evaluation computes a plan's outputs from the current cells, with the agents' evaluator.
type Evaluation struct {
	ctx      context.Context
	operator *Operator
	plan     *contract.Plan
	reader   func() (*deploy.Reader, error)
	places   map[contract.CellName]contract.CellRef
	read     map[contract.CellName]protocol.CellRecord
	secret   map[contract.CellName]bool
	// deploy are Heat's values where they have another source: `hotc run`, or agents that report
	// what Heat decided.
	deploy map[string]json.RawMessage
	// unknown says why values of Heat's are missing there.
	unknown map[string]string
	// missing says why Heat did not create servers, or no longer has them; "" is that it has.
	missing map[contract.ServerPath]string
	// came are the servers that a machine has joined as.
	came map[contract.ServerPath]bool
}

// Learn finds out what Heat decided of the stack's topology.
func (e *Evaluation) Learn() error {
	if e.plan.Undecided() == 0 && len(e.plan.Groups()) == 0 {
		return nil
	}
	snapshot, err := deploy.TakeSnapshot(e.ctx, e.operator, e.operator.Deployment, e.operator.Secret, e.plan)
	if err != nil {
		return err
	}
	decided := status.DecisionsOf(snapshot.Servers, e.operator.Size)
	e.deploy, e.missing, e.came = decided.Values, map[contract.ServerPath]string{}, map[contract.ServerPath]bool{}
	for _, s := range status.New(e.plan, snapshot, e.operator.Size).Servers {
		e.came[s.Path] = s.Came()
		if e.missing[s.Path] = s.Missing; s.Left {
			e.missing[s.Path] = "Heat has removed its machine from its group"
		}
	}
	return nil
}

// prefetch reads the cells of many outputs in parallel.
func (e *Evaluation) prefetch(outputs []contract.Output) error {
	reader, err := e.reader()
	if err != nil {
		return err
	}
	records := make([]protocol.CellRecord, len(outputs))
	err = store.Each(e.ctx, len(outputs), func(ctx context.Context, i int) (err error) {
		records[i], err = readCell(ctx, reader, e.places[outputs[i].Cell])
		return err
	})
	for i, o := range outputs {
		e.read[o.Cell] = records[i]
	}
	return err
}

// readCell reads a cell; a malformed record counts as failed.
func readCell(ctx context.Context, reader *deploy.Reader, place contract.CellRef) (protocol.CellRecord, error) {
	record, err := reader.Cell(ctx, place)
	if bad, is := errors.AsType[*protocol.RecordError](err); is {
		return protocol.CellRecord{State: protocol.Failed, Cause: &protocol.Cause{Reason: bad.Error()}}, nil
	}
	return record, err
}

func (e *Evaluation) cell(name contract.CellName) (protocol.CellRecord, error) {
	if record, known := e.read[name]; known {
		return record, nil
	}
	place, known := e.places[name]
	if !known {
		return protocol.CellRecord{}, fmt.Errorf("the plan has no cell %s", name)
	}
	reader, err := e.reader()
	if err != nil {
		return protocol.CellRecord{}, err
	}
	record, err := readCell(e.ctx, reader, place)
	if err == nil {
		e.read[name] = record
	}
	return record, err
}

func (e *Evaluation) roleOutput(o contract.Output) (Output, error) {
	record, err := e.cell(o.Cell)
	if err != nil {
		return Output{}, err
	}
	result := Output{Name: string(o.Cell), Type: o.Type, Secret: o.Secret, Since: record.Since}
	switch {
	case e.missing[e.places[o.Cell].Server] != "":
		result.State, result.Message = OutputMissing, e.missing[e.places[o.Cell].Server]
	case record.State == protocol.Valued:
		result.State = OutputValue
		if !o.Secret {
			result.Value = record.Value
		}
	case record.State == protocol.Failed:
		result.State, result.Cause = OutputFailed, record.Cause
		result.Message = status.CauseText(record.Cause)
	default:
		result.State, result.Message = OutputWaiting, "not published yet"
		result.WaitingFor = []contract.CellName{o.Cell}
	}
	return result, nil
}

// Stack evaluates an output of the stack.
func (e *Evaluation) Stack(o contract.StackOutput) (Output, error) {
	result := Output{Name: o.Name}
	residual, err := hot.ParseResidual(o.Expr, o.At)
	if err != nil {
		return result, source.Fail(source.BadPlan, "the output "+o.Name+": "+err.Error(), "")
	}
	r := &cellResolver{Evaluation: e}
	value, err := residual.Eval(r)
	var absent *hot.AbsentError
	switch {
	case r.err != nil:
		return result, r.err
	case r.failed != nil:
		result.State, result.Cause = OutputFailed, r.failed
		result.Message = status.CauseText(r.failed)
	case r.heat:
		result.State, result.Message = OutputHeat, r.why
	case errors.As(err, &absent):
		result.State, result.Message = OutputMissing, absent.Why
	case len(r.waiting) > 0:
		result.State, result.WaitingFor = OutputWaiting, r.waiting
		result.Message = fmt.Sprintf("waits for %s", r.waiting[0])
		if n := len(r.waiting); n > 1 {
			result.Message += fmt.Sprintf(" and %d more", n-1)
		}
	case err != nil:
		result.State, result.Message = OutputFailed, err.Error()
	default:
		result.State, result.Secret = OutputValue, r.secret
		if !r.secret {
			result.Value = value
		}
	}
	return result, nil
}

// cellResolver answers an expression's reads from the cells, and remembers why
// it could not.
type cellResolver struct {
	*Evaluation
	waiting []contract.CellName
	failed  *protocol.Cause
	heat    bool
	why     string // what is known of why it is not there, if it is Heat's
	secret  bool
	err     error
}

var errUnavailable = errors.New("not there")

// Cell implements hot.Resolver.
func (r *cellResolver) Cell(cell contract.CellName) (json.RawMessage, error) {
	record, err := r.cell(cell)
	if err != nil {
		r.err = err
		return nil, err
	}
	r.secret = r.secret || r.Evaluation.secret[cell]
	switch record.State {
	case protocol.Valued:
		return record.Value, nil
	case protocol.Failed:
		r.failed = record.Cause
		if r.failed == nil {
			r.failed = &protocol.Cause{Reason: string(cell) + " has failed"}
		}
	default:
		if !slices.Contains(r.waiting, cell) {
			r.waiting = append(r.waiting, cell)
		}
	}
	return nil, errUnavailable
}

// Joined implements hot.Joiner: the members of a group that scales have any of its slots. `hotc run`
// has the first ones.
func (r *cellResolver) Joined(group string, count, _ int) ([]int, error) {
	in := map[int]bool{}
	for _, s := range r.plan.Servers {
		if s.Slot != nil && s.Slot.Group == group && (r.came[s.Path] && r.missing[s.Path] == "" || r.came == nil && s.Slot.Number < count) {
			in[s.Slot.Number] = true
		}
	}
	return slices.Sorted(maps.Keys(in)), nil
}

// Deploy implements hot.Resolver: Heat's values are in the servers' boot files.
func (r *cellResolver) Deploy(key string) (json.RawMessage, error) {
	if v, known := r.deploy[key]; known {
		return v, nil
	}
	r.heat, r.why = true, r.unknown[key]
	return nil, errUnavailable
}

// Writer names the role that writes a cell, or the server whose fact it is.
func (e *Evaluation) Writer(cell contract.CellName) string {
	server := e.places[cell].Server
	return cmp.Or(string(cell.Of(server).Role), string(server))
}

// Named evaluates one output.
func (e *Evaluation) Named(name string) (Output, error) {
	for _, o := range e.plan.Outputs {
		if o.Name == name {
			return e.Stack(o)
		}
	}
	var known []string
	for _, o := range e.plan.Outputs {
		known = append(known, o.Name)
	}
	for _, r := range roleOutputs(e.plan) {
		if string(r.Cell) == name {
			return e.roleOutput(r)
		}
		known = append(known, string(r.Cell))
	}
	return Output{}, source.Fail(source.UnknownName, "the deployment has no output "+name, "its outputs: "+someOf(known))
}

// All evaluates all outputs.
func (e *Evaluation) All() (Outputs, error) {
	report := Outputs{Stack: string(e.operator.Deployment), Outputs: []Output{}, Roles: []Output{}}
	roles := roleOutputs(e.plan)
	if err := e.prefetch(roles); err != nil {
		return report, err
	}
	for _, o := range e.plan.Outputs {
		result, err := e.Stack(o)
		if err != nil {
			return report, err
		}
		report.Outputs = append(report.Outputs, result)
	}
	for _, r := range roles {
		result, err := e.roleOutput(r)
		if err != nil {
			return report, err
		}
		report.Roles = append(report.Roles, result)
	}
	return report, nil
}

// roleOutputs are the outputs of all roles, in the order of the plan.
func roleOutputs(p *contract.Plan) []contract.Output {
	var all []contract.Output
	for _, r := range p.EachRole() {
		all = append(all, r.Outputs...)
	}
	return all
}

// Evaluate prepares to compute a plan's outputs under ctx.
func (o *Operator) Evaluate(ctx context.Context, p *contract.Plan) *Evaluation {
	e := &Evaluation{ctx: ctx, operator: o, plan: p, places: map[contract.CellName]contract.CellRef{}, read: map[contract.CellName]protocol.CellRecord{}, secret: map[contract.CellName]bool{}}
	e.reader = sync.OnceValues(func() (*deploy.Reader, error) { return o.reader(ctx, p) })
	for _, c := range p.Cells {
		e.places[c.Name] = contract.CellRef{Cell: c.Name, Server: c.Server, Sealed: c.Sealed}
	}
	for _, o := range roleOutputs(p) {
		e.secret[o.Cell] = o.Secret
	}
	return e
}

// Without supplies Heat's values where there is no Heat, and why others are not known.
func (e *Evaluation) Without(values map[string]json.RawMessage, unknown map[string]string) *Evaluation {
	e.deploy, e.unknown = values, unknown
	return e
}
