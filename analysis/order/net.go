package order

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Net builds the net of a deployment: a process for each server, whose first task
// is its creation by Heat and whose others are its roles in order, and one for each
// other resource. Cells are roles' outputs and completions, servers' facts, and the
// existence of resources.
//
// A resource that needs a role's value waits for the whole role: its wait
// condition is signalled when the role is done. A condition is a process of its own
// where it waits for more than that one role, and in a nested stack, which is complete
// only when its conditions are.
func Net(p *program.Program, a *binding.Analysis) *waits.Net {
	b := &netBuilder{analysis: a, net: &waits.Net{}, cells: make(map[contract.CellName]waits.CellID, 4*len(p.Servers)), done: make(map[*program.Role]waits.CellID, 4*len(p.Servers)), created: map[contract.ServerPath]waits.CellID{},
		started: map[*program.StackResource]waits.CellID{}, members: map[*program.StackResource][]contract.ServerPath{},
		waits: map[contract.ServerPath][]binding.Wait{}, conditions: map[*binding.Signal]waits.CellID{}, inner: map[*program.StackResource][]*binding.Signal{}}
	for _, w := range a.Waits {
		b.waits[w.Resource] = append(b.waits[w.Resource], w)
	}
	var all []part
	for _, stack := range p.Stacks() {
		for _, r := range stack.Template.Resources {
			if stack.Makes(r.Name) {
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
	analysis *binding.Analysis
	net      *waits.Net
	cells    map[contract.CellName]waits.CellID // of outputs and facts
	done     map[*program.Role]waits.CellID
	created  map[contract.ServerPath]waits.CellID // by path
	started  map[*program.StackResource]waits.CellID
	members  map[*program.StackResource][]contract.ServerPath
	waits    map[contract.ServerPath][]binding.Wait
	// conditions are the wait conditions with a process of their own.
	conditions map[*binding.Signal]waits.CellID
	inner      map[*program.StackResource][]*binding.Signal // by the stack resource whose members contain them
}

// part is what becomes a process: a resource, or a group's member.
type part struct {
	path          contract.ServerPath
	at            source.Place
	stackResource *program.StackResource // itself, if it is a stack resource
	within        *program.StackResource // whose member it is or belongs to
	server        *program.Server        // nil without roles
	boots         bool                   // it is a server, with roles or without
}

func parts(stack *program.Stack, r *hot.Resource) []part {
	path := stack.PathOf(r.Name)
	x := part{path: path, at: stack.Place(r.Entry.Key), stackResource: stack.StackResourceOf(r.Name), within: stack.StackResource,
		server: stack.Server(r.Name), boots: stack.ServerType(r) != nil}
	out := []part{x}
	if x.stackResource != nil {
		for _, s := range x.stackResource.Servers() {
			out = append(out, part{path: s.Path, at: s.At(), within: x.stackResource, server: s, boots: true})
		}
	}
	return out
}

// declare adds the cells of a resource and, if it is a server, of its roles.
func (b *netBuilder) declare(x part) {
	b.created[x.path] = b.net.AddCell(string(x.path))
	if x.stackResource != nil {
		b.started[x.stackResource] = b.net.AddCell(string(x.path))
	}
	if x.within != nil {
		b.members[x.within] = append(b.members[x.within], x.path)
	}
	b.declareServer(x.path, x.server)
}

// declareServer adds the cells of a server's facts and, if it has any, of its roles.
func (b *netBuilder) declareServer(path contract.ServerPath, s *program.Server) {
	for _, fact := range b.analysis.Facts[path] {
		cell := path.Fact(fact)
		b.cells[cell] = b.net.AddCell(string(cell))
	}
	if s == nil {
		return
	}
	for _, role := range s.Roles {
		for _, o := range role.Outputs {
			if o.Value == nil {
				b.cells[o.Cell()] = b.net.AddCell(string(o.Cell()))
			}
		}
		b.done[role] = b.net.AddCell(string(role.Key()))
	}
}

// process adds a resource with what Heat waits for before it creates it and, if it is
// a server, its roles. The members of a nested stack or a group wait for its start, and
// it is complete when all its members are.
func (b *netBuilder) process(x part) {
	path, name, at, s := x.path, string(x.path), x.at, x.server
	made := b.created[path]
	start := waits.Task{Name: name, At: at, Heat: true, Completion: made, Owns: []waits.CellID{made}}
	if x.within != nil {
		start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: b.started[x.within], At: at, What: "its enclosing stack"})
	}
	for _, e := range b.analysis.Edges[path] {
		if on, ok := b.created[e.On]; ok {
			start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: on, At: e.At, What: "resource " + string(e.On), Why: e.Implied})
		}
	}
	for _, w := range b.waits[path] {
		cell := b.done[w.Role]
		if !w.Signal.Beside {
			cell = b.conditions[w.Signal]
		}
		start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: cell, At: w.At, What: conditionOf(w.Signal)})
	}
	if x.stackResource != nil {
		begun := b.started[x.stackResource]
		start.Owns = append(start.Owns, begun)
		start.Body = append(start.Body, waits.Step{Op: waits.Write, Cell: begun, At: at, What: "resource " + name})
		for _, member := range b.members[x.stackResource] {
			start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: b.created[member], At: at, What: "member " + string(member)})
		}
		for _, s := range b.inner[x.stackResource] {
			start.Body = append(start.Body, waits.Step{Op: waits.Read, Cell: b.conditions[s], At: at, What: conditionOf(s)})
		}
	}
	start.Body = append(start.Body, waits.Step{Op: waits.Write, Cell: made, At: at, What: "resource " + name, Progress: 1})
	for _, fact := range b.analysis.Facts[path] {
		cell := b.cells[path.Fact(fact)]
		start.Owns = append(start.Owns, cell)
		start.Body = append(start.Body, waits.Step{Op: waits.Write, Cell: cell, At: at, What: string(fact), Progress: 1})
	}
	process := waits.Process{Name: name, Server: x.boots, Tasks: []waits.Task{start}}
	if s != nil {
		process.Tasks = append(process.Tasks, lists.Map(s.Roles, b.task)...)
	}
	b.net.Processes = append(b.net.Processes, process)
}

func conditionOf(s *binding.Signal) string {
	return "the wait condition of " + string(s.In.PathOf(s.Name))
}

func (b *netBuilder) declareCondition(s *binding.Signal) {
	if s.Beside && s.In.StackResource == nil {
		return // its role replaces it
	}
	b.conditions[s] = b.net.AddCell(string(s.In.PathOf(s.Name)))
	if s.In.StackResource != nil {
		b.inner[s.In.StackResource] = append(b.inner[s.In.StackResource], s)
	}
}

// condition adds the process of a wait condition: Heat creates it after the resource that
// contains its servers, and it is complete when their roles are done.
func (b *netBuilder) condition(s *binding.Signal) {
	cell, known := b.conditions[s]
	if !known {
		return
	}
	at := s.Roles[0].At
	task := waits.Task{Name: conditionOf(s), At: at, Heat: true, Completion: cell, Owns: []waits.CellID{cell}}
	task.Body = append(task.Body, waits.Step{Op: waits.Read, Cell: b.created[s.In.PathOf(s.Resource)], At: at, What: "resource " + string(s.In.PathOf(s.Resource))})
	for _, r := range s.Roles {
		task.Body = append(task.Body, waits.Step{Op: waits.Read, Cell: b.done[r], At: r.At, What: fmt.Sprintf("role %s", r.Key())})
	}
	task.Body = append(task.Body, waits.Step{Op: waits.Write, Cell: cell, At: at, What: conditionOf(s), Progress: 1})
	b.net.Processes = append(b.net.Processes, waits.Process{Name: conditionOf(s), Condition: true, Tasks: []waits.Task{task}})
}
