package order

import (
	"fmt"
	"strconv"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Net makes the net of a deployment: a process for each server, whose first task
// is that Heat makes it and whose others are its roles in their order, and one for
// each other resource that Heat makes before or after something else. Cells are
// roles' outputs and completions, servers' facts, and that a resource is there.
//
// A resource that needs a role's value waits for the whole role: its wait
// condition is signalled when the role is done. A condition is a process of its own
// where it waits for more than that one role, and where a nested stack is there only
// when its conditions are.
func Net(p *program.Program, a *binding.Analysis) *waits.Net {
	b := &netBuilder{program: p, analysis: a, net: &waits.Net{}, cells: map[string]waits.CellID{}, made: map[string]waits.CellID{},
		begun: map[*program.Nest]waits.CellID{}, members: map[*program.Nest][]string{},
		waits: map[string][]binding.Wait{}, conditions: map[*binding.Signal]waits.CellID{}, inner: map[*program.Nest][]*binding.Signal{}}
	for _, w := range a.Waits {
		b.waits[w.Resource] = append(b.waits[w.Resource], w)
	}
	var all []part
	for _, stack := range p.Stacks() {
		for _, r := range stack.Template.Resources {
			if !stack.Absent(r.Name) {
				all = append(all, parts(stack, r)...)
			}
		}
	}
	for _, x := range all {
		b.declare(x)
	}
	for _, s := range a.Signals {
		b.declareCondition(s)
	}
	for _, x := range all {
		b.process(x)
	}
	for _, s := range a.Signals {
		b.condition(s)
	}
	return b.net
}

type netBuilder struct {
	program  *program.Program
	analysis *binding.Analysis
	net      *waits.Net
	cells    map[string]waits.CellID
	made     map[string]waits.CellID // by path
	begun    map[*program.Nest]waits.CellID
	members  map[*program.Nest][]string
	waits    map[string][]binding.Wait
	// conditions are the wait conditions that are there.
	conditions map[*binding.Signal]waits.CellID
	inner      map[*program.Nest][]*binding.Signal // by the nest whose members they stand in
}

// part is what becomes a process: a resource, or a group's member.
type part struct {
	path   string
	at     source.Place
	nest   *program.Nest   // that it is, if it stands for others
	within *program.Nest   // whose member it is, or lies in
	server *program.Server // nil without roles
	boots  bool            // it is a server, with roles or without
}

func parts(stack *program.Stack, r *hot.Resource) []part {
	path := stack.PathOf(r.Name)
	x := part{path: path, at: stack.Place(r.Entry.Key), nest: stack.NestOf(r.Name), within: stack.Nest,
		server: stack.Server(r.Name), boots: stack.Type(r) == roles.ServerType}
	out := []part{x}
	if x.nest != nil {
		for _, m := range x.nest.Members {
			if m.Server != nil {
				out = append(out, part{path: m.Server.Path, at: m.Server.At(), within: x.nest, server: m.Server, boots: true})
			}
		}
	}
	return out
}

// declare adds the cells of a resource and, if it is a server, of its roles.
func (b *netBuilder) declare(x part) {
	b.made[x.path] = b.net.AddCell(x.path, x.at)
	if x.nest != nil {
		b.begun[x.nest] = b.net.AddCell(x.path, x.at)
	}
	if x.within != nil {
		b.members[x.within] = append(b.members[x.within], x.path)
	}
	for _, fact := range b.analysis.Facts[x.path] {
		cell := program.FactCell(x.path, fact)
		b.cells[cell] = b.net.AddCell(cell, x.at)
	}
	if x.server == nil {
		return
	}
	for _, role := range x.server.Roles {
		for _, o := range role.Outputs {
			if o.Value == nil {
				b.cells[o.Cell()] = b.net.AddCell(o.Cell(), o.At)
			}
		}
		b.cells[role.Key()] = b.net.AddCell(role.Key(), role.At)
	}
}

// process is a resource with what Heat waits for before it makes it and, if it is
// a server, its roles. A nested stack or a group begins with its own turn, and is
// there when all its members are.
func (b *netBuilder) process(x part) {
	name, at, s := x.path, x.at, x.server
	made := b.made[name]
	start := waits.Task{Name: name, At: at, Heat: true, Completion: made, Owns: []waits.CellID{made}}
	if x.within != nil {
		start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: b.begun[x.within], At: at, What: "the stack around it"})
	}
	for _, e := range b.analysis.Edges[name] {
		if on, ok := b.made[e.On]; ok {
			start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: on, At: e.At, What: "resource " + e.On})
		}
	}
	for _, w := range b.waits[name] {
		cell := b.cells[w.Role.Key()]
		if !w.Signal.Beside {
			cell = b.conditions[w.Signal]
		}
		start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: cell, At: w.At, What: conditionOf(w.Signal)})
	}
	if x.nest != nil {
		begun := b.begun[x.nest]
		start.Owns = append(start.Owns, begun)
		start.Body = append(start.Body, waits.Step{Op: waits.Write, Cell: begun, At: at, What: "resource " + name})
		for _, member := range b.members[x.nest] {
			start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: b.made[member], At: at, What: "member " + member})
		}
		for _, s := range b.inner[x.nest] {
			start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: b.conditions[s], At: at, What: conditionOf(s)})
		}
	}
	start.Body = append(start.Body, waits.Step{Op: waits.Write, Cell: made, At: at, What: "resource " + name, Progress: 1})
	for _, fact := range b.analysis.Facts[name] {
		cell := b.cells[program.FactCell(name, fact)]
		start.Owns = append(start.Owns, cell)
		start.Body = append(start.Body, waits.Step{Op: waits.Write, Cell: cell, At: at, What: fact, Progress: 1})
	}
	process := waits.Process{Name: name, At: at, Server: x.boots, Tasks: []waits.Task{start}}
	if s != nil {
		for _, role := range s.Roles {
			process.Tasks = append(process.Tasks, b.task(role))
		}
	}
	b.net.Processes = append(b.net.Processes, process)
}

func conditionOf(s *binding.Signal) string { return "the wait condition of " + s.In.PathOf(s.Name) }

func (b *netBuilder) declareCondition(s *binding.Signal) {
	if s.Beside && s.In.Nest == nil {
		return // its role stands for it
	}
	b.conditions[s] = b.net.AddCell(s.In.PathOf(s.Name), s.Roles[0].At)
	if s.In.Nest != nil {
		b.inner[s.In.Nest] = append(b.inner[s.In.Nest], s)
	}
}

// condition is the process of a wait condition: Heat makes it when what its servers
// lie in is there, and it is there when their roles are done.
func (b *netBuilder) condition(s *binding.Signal) {
	cell, known := b.conditions[s]
	if !known {
		return
	}
	at := s.Roles[0].At
	task := waits.Task{Name: conditionOf(s), At: at, Heat: true, Completion: cell, Owns: []waits.CellID{cell}}
	task.Body = append(task.Body, waits.Step{Op: waits.Read, Cell: b.made[s.In.PathOf(s.Resource)], At: at, What: "resource " + s.In.PathOf(s.Resource)})
	for _, r := range s.Roles {
		task.Body = append(task.Body, waits.Step{Op: waits.Read, Cell: b.cells[r.Key()], At: r.At, What: "role " + r.Key()})
	}
	task.Body = append(task.Body, waits.Step{Op: waits.Write, Cell: cell, At: at, What: conditionOf(s), Progress: 1})
	b.net.Processes = append(b.net.Processes, waits.Process{Name: conditionOf(s), At: at, Condition: true, Tasks: []waits.Task{task}})
}

func (b *netBuilder) task(role *program.Role) waits.Task {
	done := b.cells[role.Key()]
	t := waits.Task{Name: role.Name, At: role.At, Completion: done, Timeout: role.Timeout}
	for _, d := range role.DependsOn {
		cell, known := b.cells[d.Role.Key()]
		if !known {
			continue
		}
		t.Body = append(t.Body, waits.Step{Op: waits.Read, Cell: cell, At: d.At, What: "role " + d.Role.Key(), Start: true})
	}
	l := lowering{netBuilder: b, role: role, inputs: map[string]*program.Input{}, outputs: map[string]*program.Output{}}
	for _, in := range role.Inputs {
		l.inputs[in.Name] = in
		if in.Eager {
			start := l.read(in, in.At, false)
			for i := range start {
				start[i].Start = true
			}
			t.Body = append(t.Body, start...)
		}
	}
	for _, o := range role.Outputs {
		if o.Value == nil {
			l.outputs[o.Name] = o
			t.Owns = append(t.Owns, b.cells[o.Cell()])
		}
	}
	for _, f := range role.Files {
		t.Body = append(t.Body, l.steps(f.Steps)...)
	}
	t.Body = append(t.Body, l.body()...)
	t.Body = append(t.Body, waits.Step{Op: waits.Write, Cell: done, At: role.At, What: "completion", Progress: 1})
	t.Owns = append(t.Owns, done)
	return t
}

// lowering makes the steps of one role.
type lowering struct {
	*netBuilder
	role    *program.Role
	inputs  map[string]*program.Input
	outputs map[string]*program.Output
}

// body is what the role's source does. Where the driver cannot tell, every input
// is read and every output written at some time.
func (l *lowering) body() []waits.Step {
	var sequence *program.Sequence
	if l.role.Meaning != nil {
		sequence = l.role.Meaning.Sequence
	}
	if sequence == nil {
		return waits.Unordered(append(l.reads(nil), l.writes(nil)...))
	}
	body := l.steps(sequence.Steps)
	if sequence.Complete {
		return body
	}
	named := map[string]bool{}
	sequence.Walk(func(s *program.Step) {
		if s.Op == program.ReadInput || s.Op == program.WriteOutput {
			named[fmt.Sprint(s.Op, s.Name)] = true
		}
	})
	return waits.AnyTime(l.reads(named), l.writes(named), body)
}

func (l *lowering) reads(but map[string]bool) []waits.Step {
	var out []waits.Step
	for _, in := range l.role.Inputs {
		if !in.Eager && !but[fmt.Sprint(program.ReadInput, in.Name)] {
			out = append(out, l.read(in, in.At, true)...)
		}
	}
	return out
}

func (l *lowering) writes(but map[string]bool) []waits.Step {
	var out []waits.Step
	for _, o := range l.role.Outputs {
		if o.Value == nil && !but[fmt.Sprint(program.WriteOutput, o.Name)] {
			out = append(out, waits.Step{Op: waits.Write, Cell: l.cells[o.Cell()], At: o.At, What: "output " + strconv.Quote(o.Name), Guess: true, Progress: 1})
		}
	}
	return out
}

func (l *lowering) steps(list []program.Step) []waits.Step {
	var out []waits.Step
	for i := range list {
		s := &list[i]
		first := len(out)
		switch s.Op {
		case program.ReadInput:
			if in := l.inputs[s.Name]; in != nil && !in.Eager {
				out = append(out, l.read(in, s.At, false)...)
			}
		case program.WriteOutput:
			if o := l.outputs[s.Name]; o != nil {
				out = append(out, waits.Step{Op: waits.Write, Cell: l.cells[o.Cell()], At: s.At, What: "output " + strconv.Quote(o.Name)})
			}
		case program.Fork:
			choice := waits.Step{Op: waits.Choice, At: s.At}
			for _, way := range s.Ways {
				choice.Ways = append(choice.Ways, l.steps(way))
			}
			out = append(out, choice)
		case program.AnyOrder:
			out = append(out, unordered(l.steps(s.Ways[0]))...)
		case program.ReadAny:
			out = append(out, waits.Step{Op: waits.Choice, At: s.At, Ways: [][]waits.Step{nil, l.reads(nil)}})
		}
		for j := range out[first:] {
			out[first+j].Progress = s.Progress
		}
	}
	return out
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
func (l *lowering) read(in *program.Input, at source.Place, guess bool) []waits.Step {
	bound := l.analysis.Inputs[in]
	if bound == nil {
		return nil
	}
	timeout := in.Timeout
	if r := in.Role.Timeout; r > 0 && !in.Eager && (timeout == 0 || r < timeout) {
		timeout = r
	}
	like := waits.Step{Op: waits.Read, At: at, What: "input " + strconv.Quote(in.Name), Timeout: timeout, Tolerant: in.HasDefault || in.Optional, Guess: guess}
	return reading{lowering: l, like: like, input: in}.cells(bound.Expr, nil)
}

// conditionNames are the named conditions of an expression by the place of their
// `if`: what is folded has only what they mean.
func conditionNames(e *hot.Expr) map[source.Span]string {
	names := map[source.Span]string{}
	e.Walk(func(x *hot.Expr) bool {
		if x.Kind == hot.CallExpr && x.Func.Meaning() == "if" && x.Arg().Kind == hot.ListExpr && len(x.Arg().Items) > 0 {
			if name, ok := x.Arg().Items[0].Value.(string); ok {
				names[x.At.Span] = name
			}
		}
		return true
	})
	return names
}

// reading makes the reads of one input.
type reading struct {
	*lowering
	like  waits.Step
	input *program.Input
}

func (r reading) cells(e *hot.Expr, out []waits.Step) []waits.Step {
	if e.Kind == hot.CallExpr {
		if e.Func == hot.CellRef {
			for _, name := range e.Cells() {
				if cell, ok := r.lowering.cells[name]; ok {
					step := r.like
					step.Cell = cell
					out = append(out, step)
				}
			}
			return out
		}
		if arg := e.Arg(); e.Func.Meaning() == "if" && arg.Kind == hot.ListExpr && len(arg.Items) >= 2 {
			return r.branches(e, arg.Items, out)
		}
	}
	for _, x := range e.Items {
		out = r.cells(x, out)
	}
	return out
}

func (r reading) branches(call *hot.Expr, items []*hot.Expr, out []waits.Step) []waits.Step {
	out = r.cells(items[0], out)
	key := conditionNames(r.input.Expr)[call.At.Span]
	if key == "" {
		text, _ := hot.EncodeResidual(items[0])
		key = string(text)
	}
	choice := waits.Step{Op: waits.Choice, At: r.like.At, Key: key, Ways: make([][]waits.Step, 2)}
	for i, x := range items[1:min(3, len(items))] {
		choice.Ways[i] = r.cells(x, nil)
	}
	if len(choice.Ways[0])+len(choice.Ways[1]) > 0 {
		out = append(out, choice)
	}
	return out
}
