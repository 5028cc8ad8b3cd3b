// Package order analyses what waits for what, before anything is deployed.
package order

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/rings"
	"github.com/hotc-dev/hotc/compiler/source"
)

// HeatCycles finds dependency cycles between resources, which Heat refuses as
// CircularDependency, including those that hotc adds for roles' inputs. A cycle under
// conditions exists only for some values of the parameters, or not at all.
func HeatCycles(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	for _, s := range p.Stacks() {
		if (&heatCycles{stack: s, edges: a.Edges, diags: diags}).find() {
			return
		}
	}
}

// heatCycles finds those of a stack: dependencies never leave it.
type heatCycles struct {
	stack *program.Stack
	edges map[contract.ServerPath][]binding.Edge
	diags *source.Diagnostics
}

func (h *heatCycles) find() bool {
	cycle := h.cycle(nil)
	if cycle == nil {
		return false
	}
	g := newGuarding(h.stack, h.core())
	if cycle = h.cycle(func(from contract.ServerPath, e binding.Edge) bool { return g.of(from, e) == nil }); cycle != nil {
		report(cycle, "", h.diags)
		return true
	}
	return h.conditional(g)
}

// conditional tries the values that conditions test for.
func (h *heatCycles) conditional(g *guarding) bool {
	var tests []test
	for _, from := range slices.Sorted(maps.Keys(g.resources)) {
		for _, e := range h.edges[from] {
			tests = append(tests, slices.Concat(g.of(from, e)...)...)
		}
	}
	w, few := newWorlds(h.stack.Template, tests)
	if !few {
		report(h.cycle(nil), "if its conditions allow it (they have too many combinations to try)", h.diags)
		return true
	}
	var first []cycleStep
	where, always := "", true
	for more := true; more; more = w.next() {
		cycle := h.cycle(func(from contract.ServerPath, e binding.Edge) bool { return w.any(g.of(from, e)) })
		if cycle == nil {
			always = false
		} else if first == nil {
			first, where = cycle, "if "+w.describe(g.ofCycle(w, cycle))
		}
	}
	if first == nil {
		return false
	}
	if always {
		where = ""
	}
	report(first, where, h.diags)
	return true
}

// cycleStep is one dependency of a cycle.
type cycleStep struct {
	resource contract.ServerPath
	edge     binding.Edge
}

// cycle is the first one among the dependencies for which there is true; nil means all.
func (h *heatCycles) cycle(there func(from contract.ServerPath, e binding.Edge) bool) []cycleStep {
	return rings.First(h.paths(), func(at contract.ServerPath, yield func(cycleStep, contract.ServerPath) bool) {
		for _, e := range h.edges[at] {
			if (there == nil || there(at, e)) && !yield(cycleStep{at, e}, e.On) {
				return
			}
		}
	})
}

// paths are the paths of the stack's resources.
func (h *heatCycles) paths() []contract.ServerPath {
	return lists.Map(h.stack.Template.Resources, func(r *hot.Resource) contract.ServerPath { return h.stack.PathOf(r.Name) })
}

// core are the resources on cycles.
func (h *heatCycles) core() map[contract.ServerPath]bool {
	on := func(path contract.ServerPath) []contract.ServerPath {
		return lists.Map(h.edges[path], func(e binding.Edge) contract.ServerPath { return e.On })
	}
	ring := rings.Of(h.paths(), on)
	size := map[int]int{}
	for _, n := range ring {
		size[n]++
	}
	core := map[contract.ServerPath]bool{}
	for path, n := range ring {
		core[path] = size[n] > 1 || slices.Contains(on(path), path)
	}
	return core
}

// report reports a cycle; where names the values for which it exists, "" is all.
func report(cycle []cycleStep, where string, diags *source.Diagnostics) {
	names := []string{}
	added := -1
	for i, s := range cycle {
		names = append(names, string(s.resource))
		if s.edge.Added && added < 0 {
			added = i
		}
	}
	first, hint := 0, "remove one of these dependencies"
	if slices.ContainsFunc(cycle, func(s cycleStep) bool { return s.edge.Implied != "" }) {
		hint = "remove one of those that the template names; those that Heat adds stay as long as the values are the same"
	}
	if added >= 0 {
		first = added
		hint = "pass this value to the role at run time: as another role's output, or as a fact of a server with one network"
	}
	message := fmt.Sprintf("Heat would refuse this dependency cycle: %s", spelledOut(names))
	d := &source.Diagnostic{Code: source.HeatCycle, At: cycle[first].edge.At, Message: message, Hint: hint}
	if where != "" {
		d.Severity, d.Message = source.Warning, message+", "+where
		d.Hint += ", or make these conditions exclude each other"
	}
	diags.Add(d)
	for i := range cycle {
		told, left := shows(i, len(cycle))
		if left > 0 {
			d.Notes = append(d.Notes, source.Note{Message: fmt.Sprintf("… %d more", left)})
		}
		if !told {
			continue
		}
		s := cycle[(first+i)%len(cycle)]
		why := "needs"
		if s.edge.Added {
			why = "needs, for a role's input,"
		}
		text := fmt.Sprintf("%s %s %s", s.resource, why, s.edge.On)
		if s.edge.Implied != "" {
			text += ": " + s.edge.Implied
		}
		d.Note(s.edge.At, text)
	}
}
