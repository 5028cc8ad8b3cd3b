package graph

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/hotc-dev/hotc/analysis"
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Graph is a program as boxes and arrows.
type Graph struct {
	Servers []*Server
	Edges   []*Edge
}

// Server is a box that holds its roles in their order.
type Server struct {
	Name  string
	Roles []string // empty for a server that only publishes facts, or a resource
	// Deadlocked says that one of its roles is in a deadlock's cycle.
	Deadlocked map[string]bool
}

// Edge is what one role, server or resource needs of another.
type Edge struct {
	From, To Port
	// Labels are the values that go along it.
	Labels []string
	Time   binding.Time
	Secret bool
	// Completion says that only the end of the role is waited for.
	Completion bool
	Deadlocked bool
}

// Port is a role, or with no role the server as a whole.
type Port struct {
	Server string
	Role   string
}

// New makes the graph of an analysed program.
func New(p *program.Program, a *binding.Analysis, f *analysis.Findings) *Graph {
	b := &builder{graph: &Graph{}, servers: map[string]*Server{}, edges: map[edgeKey]*Edge{}, outputs: map[string]*program.Output{}}
	for _, s := range p.Servers {
		box := b.server(s.Path)
		for _, role := range s.Roles {
			box.Roles = append(box.Roles, role.Name)
			for _, o := range role.Outputs {
				b.outputs[o.Cell()] = o
			}
		}
	}
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			b.role(role, a)
		}
	}
	for _, w := range a.Waits {
		b.server(w.Resource)
		b.edge(Port{w.Role.Server.Path, w.Role.Name}, Port{Server: w.Resource}, binding.Run, true, "")
	}
	for _, resource := range slices.Sorted(maps.Keys(a.Edges)) {
		for _, e := range a.Edges[resource] {
			if b.servers[resource] != nil && b.servers[e.On] != nil && e.On != resource {
				b.edge(Port{Server: e.On}, Port{Server: resource}, binding.Deploy, false, "")
			}
		}
	}
	b.deadlocks(f)
	sort.Slice(b.graph.Edges, func(i, j int) bool { return fmt.Sprint(b.graph.Edges[i].key()) < fmt.Sprint(b.graph.Edges[j].key()) })
	return b.graph
}

type builder struct {
	graph   *Graph
	servers map[string]*Server
	edges   map[edgeKey]*Edge
	outputs map[string]*program.Output
}

type edgeKey struct {
	from, to   Port
	time       binding.Time
	completion bool
}

func (e *Edge) key() edgeKey { return edgeKey{e.From, e.To, e.Time, e.Completion} }

func (b *builder) server(name string) *Server {
	if b.servers[name] == nil {
		b.servers[name] = &Server{Name: name, Deadlocked: map[string]bool{}}
		b.graph.Servers = append(b.graph.Servers, b.servers[name])
	}
	return b.servers[name]
}

func (b *builder) role(role *program.Role, a *binding.Analysis) {
	to := Port{role.Server.Path, role.Name}
	for _, d := range role.DependsOn {
		b.edge(Port{d.Role.Server.Path, d.Role.Name}, to, binding.Run, true, "")
	}
	for _, in := range role.Inputs {
		bound := a.Inputs[in]
		if bound == nil {
			continue
		}
		for _, ref := range bound.References {
			if ref.Cell == "" {
				continue
			}
			o := b.outputs[ref.Cell]
			switch {
			case o != nil:
				e := b.edge(Port{o.Role.Server.Path, o.Role.Name}, to, binding.Run, false, o.Name)
				e.Secret = e.Secret || o.Secret
			case ref.Writer != role.Server.Path:
				b.server(ref.Writer)
				b.edge(Port{Server: ref.Writer}, to, binding.Run, false, ref.Cell[len(ref.Writer)+1:])
			}
		}
	}
}

func (b *builder) edge(from, to Port, time binding.Time, completion bool, label string) *Edge {
	e := &Edge{From: from, To: to, Time: time, Completion: completion}
	if known := b.edges[e.key()]; known != nil {
		e = known
	} else {
		b.edges[e.key()] = e
		b.graph.Edges = append(b.graph.Edges, e)
	}
	for _, l := range e.Labels {
		if l == label {
			return e
		}
	}
	if label != "" {
		e.Labels = append(e.Labels, label)
	}
	return e
}

// deadlocks marks the arrows of the cycles: against the direction of the waits.
func (b *builder) deadlocks(f *analysis.Findings) {
	port := func(process, task int) Port {
		p := f.Net.Processes[process]
		if p.Tasks[task].Heat {
			return Port{Server: p.Name}
		}
		return Port{p.Name, p.Tasks[task].Name}
	}
	for _, d := range f.Deadlocks {
		for i, w := range d.Cycle {
			next := d.Cycle[(i+1)%len(d.Cycle)]
			from, to := port(next.Process, w.WriteTask), port(w.Process, w.Task)
			for _, e := range b.graph.Edges {
				if e.From == from && e.To == to {
					e.Deadlocked = true
				}
			}
			b.mark(to)
			b.mark(from)
		}
	}
}

func (b *builder) mark(p Port) {
	if s := b.servers[p.Server]; s != nil {
		s.Deadlocked[p.Role] = true
	}
}
