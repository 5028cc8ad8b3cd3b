package order

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/program"
)

// locations maps the path of a process to the resource that it is or belongs to.
type locations map[string]location

type location struct {
	stack *program.Stack
	name  string // of the resource; a group's for its members
}

// around is the resource that contains its stack.
func (w location) around() (_ location, is bool) {
	n := w.stack.StackResource
	if n == nil {
		return w, false
	}
	return location{n.In, n.Resource.Name}, true
}

func findAll(p *program.Program) locations {
	all := locations{}
	for _, s := range p.Stacks() {
		for _, r := range s.Template.Resources {
			for _, x := range parts(s, r) {
				all[string(x.path)] = location{s, r.Name}
			}
		}
	}
	return all
}

// exclude says whether no values of the conditions allow all processes of a cycle to exist.
func (all locations) exclude(n *waits.Net, d waits.Deadlock) bool {
	tests := map[*program.Stack][]test{}
	seen := map[location]bool{}
	for _, w := range d.Cycle {
		at, known := all[n.Processes[w.Process].Name]
		for known && !seen[at] {
			seen[at] = true
			g := guarding{stack: at.stack}
			tests[at.stack] = g.add(tests[at.stack], at.stack.Template.Enabled(at.stack.Template.Resource(at.name).Condition), true)
			at, known = at.around()
		}
	}
	for s, list := range tests {
		if len(list) > 1 && !possible(s, list) {
			return true
		}
	}
	return false
}

// mayLack are the processes of a cycle that conditions may exclude.
func (all locations) mayLack(n *waits.Net, d waits.Deadlock) []int {
	var lacking []int
	for _, w := range d.Cycle {
		at, known := all[n.Processes[w.Process].Name]
		conditional := false
		for known && !conditional {
			conditional = at.stack.Template.Resource(at.name).Condition != nil
			at, known = at.around()
		}
		if conditional && !slices.Contains(lacking, w.Process) {
			lacking = append(lacking, w.Process)
		}
	}
	return lacking
}

// possible says whether some tests can hold together, or are too many to try.
func possible(s *program.Stack, tests []test) bool {
	w, few := newWorlds(s.Template, tests)
	if !few {
		return true
	}
	for more := true; more; more = w.next() {
		if w.all(tests) {
			return true
		}
	}
	return false
}
