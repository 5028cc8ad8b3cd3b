// Package graph draws a program's servers, roles and values as a graph (DOT, Mermaid, or its own
// SVG), and a predicted run as a timeline. It decides nothing: it draws what the analysis found.
package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hotc-dev/hotc/analysis"
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Graph is a program as boxes and arrows.
type Graph struct {
	Servers []*Server
	Edges   []*Edge
}

// Server is a box with its roles in order.
type Server struct {
	Name string
	// Count is how many servers the box represents: members of a group that run the same roles.
	Count int
	// Perhaps means that Heat decides whether the server exists, or how many do: Count is the
	// maximum.
	Perhaps bool
	Roles   []string // empty for a server that only publishes facts, or a resource
	// Deadlocked are the roles that are part of a deadlock's cycle.
	Deadlocked map[string]bool
}

// Edge is what one role, server or resource needs from another.
type Edge struct {
	From, To Port
	// Labels are the values passed along it.
	Labels []Label
	Time   contract.Time
	// Completion means that only the end of the role is waited for.
	Completion bool
	Deadlocked bool
}

// Label is a passed value.
type Label struct {
	Name   string
	Secret bool
}

// secret reports whether one of the values is secret.
func (e *Edge) secret() bool {
	return slices.ContainsFunc(e.Labels, func(l Label) bool { return l.Secret })
}

// Port is a role or, without one, the server as a whole.
type Port struct {
	Server string
	Role   string
}

// title is the heading of a box.
func (s *Server) title() string {
	switch {
	case s.Count > 1 && s.Perhaps:
		return fmt.Sprintf("%s up to ×%d", s.Name, s.Count)
	case s.Perhaps:
		return s.Name + " (perhaps)"
	case s.Count > 1:
		return fmt.Sprintf("%s ×%d", s.Name, s.Count)
	}
	return s.Name
}

// New builds the graph of an analysed program: without roles, of its resources. Members of groups
// share a box unless single is set.
func New(p *program.Program, a *binding.Analysis, f *analysis.Findings, single bool) *Graph {
	b := &builder{graph: &Graph{}, collapse: newCollapse(p, single), servers: map[string]*Server{}, edges: map[edgeKey]*Edge{}}
	for _, s := range p.Servers {
		known := b.servers[b.box(s.Path)] != nil
		box := b.server(s.Path)
		box.Perhaps = box.Perhaps || len(a.ExistenceConditions[s.Path]) > 0
		for _, role := range s.Roles {
			if !known {
				box.Roles = append(box.Roles, role.Name)
			}
		}
	}
	plain := true
	for role := range p.Roles {
		plain = false
		b.role(role, a)
	}
	if plain {
		b.resources(p)
	}
	for _, w := range a.Waits {
		b.server(w.Resource)
		b.edge(b.port(w.Role.Server.Path, w.Role.Name), b.port(w.Resource, ""), contract.Run, true, Label{})
	}
	for _, resource := range slices.Sorted(maps.Keys(a.Edges)) {
		for _, e := range a.Edges[resource] {
			from, to := b.servers[b.box(e.On)], b.servers[b.box(resource)]
			if from != nil && to != nil && from != to {
				b.edge(b.port(e.On, ""), b.port(resource, ""), contract.Deploy, false, Label{})
			}
		}
	}
	b.deadlocks(f)
	slices.SortFunc(b.graph.Edges, func(x, y *Edge) int { return x.key().compare(y.key()) })
	return b.graph
}

type builder struct {
	*collapse
	graph   *Graph
	servers map[string]*Server
	edges   map[edgeKey]*Edge
}

type edgeKey struct {
	from, to   Port
	time       contract.Time
	completion bool
}

func (k edgeKey) compare(other edgeKey) int {
	return cmp.Or(k.from.compare(other.from), k.to.compare(other.to), cmp.Compare(k.time, other.time),
		cmp.Compare(strconv.FormatBool(k.completion), strconv.FormatBool(other.completion)))
}

func (p Port) compare(other Port) int {
	return cmp.Or(cmp.Compare(p.Server, other.Server), cmp.Compare(p.Role, other.Role))
}

func (e *Edge) key() edgeKey { return edgeKey{e.From, e.To, e.Time, e.Completion} }

func (b *builder) server(path contract.ServerPath) *Server {
	name := b.box(path)
	if b.servers[name] == nil {
		b.servers[name] = &Server{Name: name, Count: b.count(name), Deadlocked: map[string]bool{}}
		b.graph.Servers = append(b.graph.Servers, b.servers[name])
	}
	return b.servers[name]
}

// resources adds a box for each resource of a program without roles.
func (b *builder) resources(p *program.Program) {
	for _, s := range p.Stacks() {
		for _, r := range s.Template.Resources {
			if s.Makes(r.Name) {
				b.server(s.PathOf(r.Name))
			}
		}
	}
}

func (b *builder) role(role *program.Role, a *binding.Analysis) {
	to := b.port(role.Server.Path, role.Name)
	for _, d := range role.DependsOn {
		b.edge(b.port(d.Role.Server.Path, d.Role.Name), to, contract.Run, true, Label{})
	}
	for _, bound := range a.Bound(role) {
		for _, ref := range bound.References {
			switch o := a.Cells[ref.Cell].Output; {
			case ref.Cell == "" || ref.Writer == contract.Operator: // values of Heat and the operator have no arrows
			case o != nil:
				b.edge(b.port(o.Role.Server.Path, o.Role.Name), to, contract.Run, false, Label{o.Name, o.Secret})
			case ref.Writer != role.Server.Path:
				b.server(ref.Writer)
				b.edge(b.port(ref.Writer, ""), to, contract.Run, false, Label{Name: ref.Cell.Of(ref.Writer).Name})
			}
		}
	}
}

// port returns the port of a role or, with "", of the server, in the server's box.
func (b *builder) port(path contract.ServerPath, role string) Port { return Port{b.box(path), role} }

func (b *builder) edge(from, to Port, time contract.Time, completion bool, label Label) {
	e := &Edge{From: from, To: to, Time: time, Completion: completion}
	if known := b.edges[e.key()]; known != nil {
		e = known
	} else {
		b.edges[e.key()] = e
		b.graph.Edges = append(b.graph.Edges, e)
	}
	if label.Name != "" && !slices.Contains(e.Labels, label) {
		e.Labels = append(e.Labels, label)
	}
}

// deadlocks marks the arrows of the cycles, which are opposite to the waits.
func (b *builder) deadlocks(f *analysis.Findings) {
	port := func(process, task int) Port {
		p := f.Net.Processes[process]
		if p.Tasks[task].Heat {
			return b.port(contract.ServerPath(p.Name), "")
		}
		return b.port(contract.ServerPath(p.Name), p.Tasks[task].Name)
	}
	for _, d := range f.Deadlocks {
		for i, w := range d.Cycle {
			next := d.Cycle[(i+1)%len(d.Cycle)]
			from, to := port(next.Process, w.WriteTask), port(w.Process, w.Task)
			for _, e := range b.graph.Edges {
				e.Deadlocked = e.Deadlocked || e.From == from && e.To == to
			}
			for _, p := range []Port{from, to} {
				if s := b.servers[p.Server]; s != nil {
					s.Deadlocked[p.Role] = true
				}
			}
		}
	}
}
