// Package order looks at what waits for what, before anything is deployed.
package order

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// HeatCycles finds cycles of dependencies between resources, which Heat refuses
// as CircularDependency. Those that roles' inputs make are hotc's to explain.
func HeatCycles(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	c := cycles{edges: a.Edges, state: map[string]mark{}}
	for _, s := range p.Stacks() {
		for _, r := range s.Template.Resources {
			if cycle := c.from(s.PathOf(r.Name)); cycle != nil {
				report(cycle, diags)
				return
			}
		}
	}
}

type mark uint8

const (
	unseen mark = iota
	onPath
	finished
)

// step is a resource on the path, with the edge that leads on from it.
type step struct {
	resource string
	next     int // index of the edge to follow next
}

type cycles struct {
	edges map[string][]binding.Edge
	state map[string]mark
}

// cycleStep is one dependency of a cycle.
type cycleStep struct {
	resource string
	edge     binding.Edge
}

// from searches depth first, with a stack of its own: a chain of resources can be
// as long as the template.
func (c *cycles) from(start string) []cycleStep {
	if c.state[start] != unseen {
		return nil
	}
	path := []step{{resource: start}}
	c.state[start] = onPath
	for len(path) > 0 {
		top := &path[len(path)-1]
		edges := c.edges[top.resource]
		if top.next == len(edges) {
			c.state[top.resource] = finished
			path = path[:len(path)-1]
			continue
		}
		on := edges[top.next].On
		top.next++
		switch c.state[on] {
		case unseen:
			c.state[on] = onPath
			path = append(path, step{resource: on})
		case onPath:
			return c.cycle(path, on)
		}
	}
	return nil
}

// cycle cuts the part of the path that closes at a resource.
func (c *cycles) cycle(path []step, at string) []cycleStep {
	i := 0
	for path[i].resource != at {
		i++
	}
	var out []cycleStep
	for _, s := range path[i:] {
		out = append(out, cycleStep{s.resource, c.edges[s.resource][s.next-1]})
	}
	return out
}

func report(cycle []cycleStep, diags *source.Diagnostics) {
	names := []string{}
	added := -1
	for i, s := range cycle {
		names = append(names, s.resource)
		if s.edge.Added && added < 0 {
			added = i
		}
	}
	first, hint := 0, "remove one of these dependencies"
	if added >= 0 {
		first = added
		hint = "let the role get this value at run time: from another role's output, or as a fact of a server with one network"
	}
	d := diags.Error(source.HeatCycle, cycle[first].edge.At, fmt.Sprintf("Heat would refuse this as circular: %s", circle(names)), hint)
	for i := range cycle {
		told, left := tells(i, len(cycle))
		if left > 0 {
			d.Notes = append(d.Notes, source.Note{Message: fmt.Sprintf("and so on: %d more", left)})
		}
		if !told {
			continue
		}
		s := cycle[(first+i)%len(cycle)]
		why := "needs"
		if s.edge.Added {
			why = "needs, for a role's input,"
		}
		d.Notes = append(d.Notes, source.Note{At: s.edge.At, Message: fmt.Sprintf("%s %s %s", s.resource, why, s.edge.On)})
	}
}
