package order

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A dependency exists only if its two resources do, and if the branches of the enclosing
// `if`s are taken. Heat decides all of that by conditions, before it checks for cycles.
// Known parts of a condition are folded by the evaluator, as for absent resources. The
// rest is a formula over a few choices: the values that a parameter is compared with, or
// something else. All of them are tried, up to a bound.

// test is a folded condition with its required value.
type test struct {
	condition *hot.Expr
	want      bool
}

// guards are the alternative conditions under which something exists: each a list of tests
// that must all hold. Without any it always exists.
type guards [][]test

// guarding finds the guards of a stack's dependencies.
type guarding struct {
	stack *program.Stack
	// resources are the tests of resources, by path, calls the guards of calls, by place.
	resources map[contract.ServerPath][]test
	calls     map[source.Place]guards
}

func newGuarding(s *program.Stack, core map[contract.ServerPath]bool) *guarding {
	g := &guarding{stack: s, resources: map[contract.ServerPath][]test{}, calls: map[source.Place]guards{}}
	for _, r := range s.Template.Resources {
		path := s.PathOf(r.Name)
		if !core[path] {
			continue
		}
		g.resources[path] = g.add(nil, s.Template.Enabled(r.Condition), true)
		g.walk(s.Template.Expr(r.Entry.Value), nil)
	}
	return g
}

// add adds a test to others, unless it is known to hold.
func (g *guarding) add(to []test, condition *hot.Expr, want bool) []test {
	e, err := hot.Fold(condition, g.stack.Supplied.Peek)
	if err != nil || e.IsValue() && e.Value == want {
		return to // errors in it are reported elsewhere
	}
	return append(slices.Clip(to), test{e, want})
}

// walk notes the enclosing `if`s of a resource's calls.
func (g *guarding) walk(e *hot.Expr, around []test) {
	if e.Kind == hot.CallExpr {
		g.calls[e.At] = append(g.calls[e.At], around)
	}
	if choice, is := e.If(); is {
		condition := e.WithIf(hot.If{Condition: choice.Condition, Then: hot.Constant(true, e.At), Else: hot.Constant(false, e.At)})
		for i, x := range choice.Branches() {
			g.walk(x, g.add(around, condition, i == 0))
		}
		return
	}
	for x := range e.Inside() {
		g.walk(x, around)
	}
}

// of are the guards of a resource's dependency.
func (g *guarding) of(resource contract.ServerPath, e binding.Edge) guards {
	both := append(slices.Clone(g.resources[resource]), g.resources[e.On]...)
	out := guards(lists.Map(g.calls[e.At], func(way []test) []test { return append(slices.Clone(both), way...) }))
	if len(out) == 0 {
		out = guards{both}
	}
	if slices.ContainsFunc(out, func(way []test) bool { return len(way) == 0 }) {
		return nil
	}
	return out
}

// ofCycle are the tests of a cycle that hold in a world.
func (g *guarding) ofCycle(w *worlds, cycle []cycleStep) (tests []test) {
	for _, s := range cycle {
		for _, way := range g.of(s.resource, s.edge) {
			if w.all(way) {
				tests = append(tests, way...)
				break
			}
		}
	}
	return tests
}
