package order

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// task builds the task of a role: what it waits for before it begins, what its source
// does, its completion.
func (b *netBuilder) task(role *program.Role) waits.Task {
	done := b.done[role]
	t := waits.Task{Name: role.Name, At: role.At, Completion: done, Timeout: role.Timeout, Body: make([]waits.Step, 0, sizeOf(role)),
		Owns: make([]waits.CellID, 0, len(role.Outputs)+1)}
	for _, d := range role.DependsOn {
		cell, known := b.done[d.Role]
		if !known {
			continue
		}
		t.Body = append(t.Body, waits.Step{Op: waits.Read, Cell: cell, At: d.At, What: fmt.Sprintf("role %s", d.Role.Key()), Start: true})
	}
	l := lowering{netBuilder: b, role: role}
	for _, in := range role.Inputs {
		if in.Eager {
			first, at := len(t.Body), in.At
			if in.EagerAt.Known() {
				at = in.EagerAt
			}
			t.Body = l.read(t.Body, in, at, false)
			for i := range t.Body[first:] {
				t.Body[first+i].Start = true
				if in.EagerAt.Known() && role.Meaning.Environment[in.Name].How != program.ReadByName {
					t.Body[first+i].What += "; with `eager: false` only where its script reads it"
				}
			}
		}
	}
	for _, o := range role.Outputs {
		if o.Value == nil {
			t.Owns = append(t.Owns, b.cells[o.Cell()])
		}
	}
	for _, f := range role.Files {
		t.Body = l.steps(t.Body, f.Steps)
	}
	t.Body = l.body(t.Body)
	for _, o := range role.Outputs {
		if o.Value == nil && o.AtEnd {
			t.Body = append(t.Body, waits.Step{Op: waits.Write, Cell: b.cells[o.Cell()], At: o.At, What: "output " + strconv.Quote(o.Name), Progress: 1})
		}
	}
	t.Body = append(t.Body, waits.Step{Op: waits.Write, Cell: done, At: role.At, What: "completion", Progress: 1})
	t.Owns = append(t.Owns, done)
	return t
}

// lowering builds the steps of one role.
type lowering struct {
	*netBuilder
	role *program.Role
}

// input finds an input that is read where the source reads it.
func (l *lowering) input(name string) *program.Input {
	return lists.Find(l.role.Inputs, func(in *program.Input) bool { return in.Name == name && !in.Eager })
}

// output finds an output that is published where the source writes it.
func (l *lowering) output(name string) *program.Output {
	return lists.Find(l.role.Outputs, func(o *program.Output) bool { return o.Name == name && o.Value == nil && !o.AtEnd })
}

// sizeOf estimates how many steps a role has.
func sizeOf(role *program.Role) int {
	size := len(role.DependsOn) + len(role.Inputs) + len(role.Outputs) + 1
	if role.Meaning != nil && role.Meaning.Sequence != nil {
		size = max(size, len(role.DependsOn)+len(role.Meaning.Sequence.Steps)+1)
	}
	return size
}

// body adds what the role's source does. Where the driver does not know, every input
// is read and every output written at some point.
func (l *lowering) body(out []waits.Step) []waits.Step {
	if l.role.Meaning == nil { // the reason is reported already; a possible deadlock is not a second finding
		return append(append(out, l.writes(nil)...), l.reads(nil)...)
	}
	sequence := l.role.Meaning.Sequence
	switch {
	case sequence == nil:
		return append(out, waits.Unordered(append(l.reads(nil), l.writes(nil)...))...)
	case sequence.Complete:
		return l.steps(out, sequence.Steps)
	}
	named := map[string]bool{}
	sequence.Walk(func(s *program.Step) {
		if s.Op == program.ReadInput || s.Op == program.WriteOutput {
			named[fmt.Sprint(s.Op, s.Name)] = true
		}
	})
	return append(out, waits.AnyTime(l.reads(named), l.writes(named), l.steps(nil, sequence.Steps))...)
}

func (l *lowering) reads(but map[string]bool) []waits.Step {
	var out []waits.Step
	for _, in := range l.role.Inputs {
		if !in.Eager && !but[fmt.Sprint(program.ReadInput, in.Name)] {
			out = l.read(out, in, in.At, true)
		}
	}
	return out
}

func (l *lowering) writes(but map[string]bool) []waits.Step {
	var out []waits.Step
	for _, o := range l.role.Outputs {
		if o.Value == nil && !o.AtEnd && !but[fmt.Sprint(program.WriteOutput, o.Name)] {
			out = append(out, waits.Step{Op: waits.Write, Cell: l.cells[o.Cell()], At: o.At, What: "output " + strconv.Quote(o.Name), Guess: true, Progress: 1})
		}
	}
	return out
}

func (l *lowering) steps(out []waits.Step, list []program.Step) []waits.Step {
	for i := range list {
		s := &list[i]
		first := len(out)
		switch s.Op {
		case program.ReadInput:
			if in := l.input(s.Name); in != nil {
				out = l.read(out, in, s.At, false)
			}
		case program.WriteOutput:
			if o := l.output(s.Name); o != nil {
				out = append(out, waits.Step{Op: waits.Write, Cell: l.cells[o.Cell()], At: s.At, What: "output " + strconv.Quote(o.Name)})
			}
		case program.Fork:
			out = append(out, waits.Step{Op: waits.Choice, At: s.At, Ways: lists.Map(l.open(s.Ways), func(way []program.Step) []waits.Step { return l.steps(nil, way) })})
		case program.AnyOrder:
			out = append(out, unordered(l.steps(nil, s.Ways[0]))...)
		case program.ReadAny:
			out = append(out, waits.Step{Op: waits.Choice, At: s.At, Ways: [][]waits.Step{nil, l.reads(nil)}})
		}
		for j := range out[first:] {
			out[first+j].Progress = s.Progress
		}
	}
	return out
}

// open are the ways that may be taken: not those that assume another value of an input than it has.
// If none is left, each ends in a failure, and all count.
func (l *lowering) open(ways [][]program.Step) [][]program.Step {
	open := slices.DeleteFunc(slices.Clone(ways), func(way []program.Step) bool {
		return slices.ContainsFunc(way, func(s program.Step) bool { return s.Op == program.Assume && l.denies(s) })
	})
	if len(open) == 0 {
		return ways
	}
	return open
}

// denies says whether an input is known, and is not what a step assumes.
func (l *lowering) denies(s program.Step) bool {
	in := lists.Find(l.role.Inputs, func(in *program.Input) bool { return in.Name == s.Name })
	bound := l.analysis.Inputs[in]
	if in == nil || bound == nil || bound.Time != contract.Static || !bound.Expr.IsValue() {
		return false
	}
	switch bound.Expr.Value.(type) {
	case string, bool, int64:
	default:
		return false
	}
	text := fmt.Sprint(bound.Expr.Value)
	if text == s.Text {
		return s.Differs
	}
	number, err := strconv.Atoi(strings.TrimSpace(text))
	other, wrong := strconv.Atoi(strings.TrimSpace(s.Text))
	return !s.Differs && (err != nil || wrong != nil || number != other) // -eq compares numbers
}

// unordered puts forks among steps of unknown order at both ends.
func unordered(steps []waits.Step) []waits.Step {
	var plain, reads, writes []waits.Step
	for _, s := range steps {
		if s.Op != waits.Choice {
			plain = append(plain, s)
			continue
		}
		for _, way := range s.Ways {
			for _, x := range way {
				switch x.Op {
				case waits.Read:
					reads = append(reads, x)
				case waits.Write:
					writes = append(writes, x)
				}
			}
		}
	}
	out := waits.AnyTime(reads, nil, waits.Unordered(plain))
	if len(writes) > 0 {
		out = append(append([]waits.Step{{Op: waits.Choice, Ways: [][]waits.Step{writes, nil}}}, out...),
			waits.Step{Op: waits.Choice, Ways: [][]waits.Step{nil, writes}})
	}
	return out
}

// read is an input's wait for all cells that its expression needs. A cell in a
// branch of an `if` is needed only where that branch is taken.
func (l *lowering) read(out []waits.Step, in *program.Input, at source.Place, guess bool) []waits.Step {
	bound := l.analysis.Inputs[in]
	if bound == nil || bound.Time != contract.Run {
		return out
	}
	timeout := in.Timeout
	if r := in.Role.Timeout; r > 0 && !in.Eager && (timeout == 0 || r < timeout) {
		timeout = r
	}
	like := waits.Step{Op: waits.Read, At: at, What: "input " + strconv.Quote(in.Name), Timeout: timeout, Tolerant: in.HasDefault || in.Optional, Guess: guess}
	return reading{lowering: l, like: like, input: in}.cells(bound.Expr, out)
}

// conditionNames are the named conditions of an expression by the place of their
// `if`: folded expressions have only their definitions.
func conditionNames(e *hot.Expr) map[source.Span]string {
	names := map[source.Span]string{}
	for x := range e.Calls() {
		if choice, is := x.If(); is {
			if name, ok := choice.Condition.Value.(string); ok {
				names[x.At.Span] = name
			}
		}
	}
	return names
}

// reading builds the reads of one input.
type reading struct {
	*lowering
	like  waits.Step
	input *program.Input
}

func (r reading) cells(e *hot.Expr, out []waits.Step) []waits.Step {
	if e.Kind == hot.CallExpr {
		if e.Ref().Kind == hot.ToCell {
			for _, name := range e.Cells() {
				if cell, ok := r.lowering.cells[name]; ok {
					step := r.like
					step.Cell = cell
					out = append(out, step)
				}
			}
			return out
		}
		if choice, is := e.If(); is {
			return r.branches(e, choice, out)
		}
	}
	for x := range e.Inside() {
		out = r.cells(x, out)
	}
	return out
}

func (r reading) branches(call *hot.Expr, c hot.If, out []waits.Step) []waits.Step {
	out = r.cells(c.Condition, out)
	key := conditionNames(r.input.Expr)[call.At.Span]
	if key == "" {
		text, _ := hot.EncodeResidual(c.Condition)
		key = string(text)
	}
	choice := waits.Step{Op: waits.Choice, At: r.like.At, Key: key, Ways: make([][]waits.Step, 2)}
	for i, x := range c.Branches() {
		choice.Ways[i] = r.cells(x, nil)
	}
	if len(choice.Ways[0])+len(choice.Ways[1]) > 0 {
		out = append(out, choice)
	}
	return out
}
