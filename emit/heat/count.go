package heat

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// How many signals a wait condition waits for: one from each server with roles. Where Heat
// decides how many servers exist, it also computes the sum, from each stack's own terms:
// resources whose conditions are true, and group sizes. No nested template can compute it; each
// outputs its terms as a list.

const (
	// outputServers is the name prefix of those outputs.
	outputServers = "hotc_servers"
	// resourceCount is the name prefix of the stack that sums for a version that cannot.
	resourceCount = "hotc_count"
	// SumFile is that stack's template.
	SumFile = "hotc/sum.yaml"
	// counted is hotc's own entry in a handle that is signalled from the start.
	counted = "hotc"
)

// sumTemplate adds up; null is a group's count left to Heat's default.
const sumTemplate = `heat_template_version: 2016-10-14
description: Written by hotc. How many servers signal, for a template whose own version cannot compute it.
parameters:
  terms: {type: json}
outputs:
  sum: {value: {yaql: {expression: "$.data.terms.servers.flatten().select(int(coalesce($, 1))).sum(0)", data: {terms: {get_param: terms}}}}}
`

// counter records which outputs the templates need for others' sums.
type counter struct {
	program *program.Program
	stacks  map[*hot.Template][]*program.Stack
	needs   map[*hot.Template]map[string][]string // paths of servers by the output's name
}

// count collects what Heat has to count.
func (c *counter) count(a *binding.Analysis) {
	c.needs = map[*hot.Template]map[string][]string{}
	if c.varies(c.program.Root, nil) {
		c.terms(c.program.Template, nil)
	}
	for _, x := range a.Signals {
		if c.varies(x.In, serversOf(x)) {
			c.terms(x.In.Template, serversOf(x))
		}
	}
}

// serversOf returns the names from a signal's stack to its servers, without members.
func serversOf(x *binding.Signal) []string {
	path, _ := contract.RoleKey(x.Name).Split()
	return strings.Split(string(path), "/")
}

// varies reports whether Heat decides how many servers with roles are on a path, in any use of
// the stack's template; nil is all.
func (c *counter) varies(s *program.Stack, path []string) bool {
	return slices.ContainsFunc(c.stacks[s.Template], func(use *program.Stack) bool {
		return slices.ContainsFunc(use.Template.Resources, func(r *hot.Resource) bool {
			n := use.StackResourceOf(r.Name)
			if !onPath(r, path) || use.Absent(r.Name) || use.Server(r.Name) == nil && (n == nil || !n.HasRoles()) {
				return false
			}
			return r.Condition != nil && nesting.Open(use, r) || n != nil && (n.Open() || c.membersVary(n, path))
		})
	})
}

func onPath(r *hot.Resource, path []string) bool { return len(path) == 0 || path[0] == r.Name }

// membersVary is varies for the members of a stack resource that is itself on the path.
func (c *counter) membersVary(n *program.StackResource, path []string) bool {
	return slices.ContainsFunc(n.Stacks(), func(s *program.Stack) bool { return c.varies(s, below(path)) })
}

func below(path []string) []string {
	if len(path) == 0 {
		return nil
	}
	return path[1:]
}

// term is a summand: an expression for which Heat yields a number or a list of numbers; or a
// number, with a condition and another number for when that is false.
type term struct {
	heats             tree
	number, otherwise int64
	condition         tree
}

func (t term) written() value.Value {
	switch {
	case t.heats != nil:
		return t.heats
	case t.condition != nil:
		return dict("if", []value.Value{t.condition, t.number, t.otherwise})
	}
	return t.number
}

// terms returns the summands for the servers on a path of a template.
func (c *counter) terms(t *hot.Template, path []string) (out []term) {
	for _, r := range t.Resources {
		if !onPath(r, path) {
			continue
		}
		x := c.termOf(t, r, path)
		if x != nil && r.Condition != nil && (t != c.program.Template || nesting.Open(c.program.Root, r)) {
			if condition := r.Condition.Value.Data(); x.heats == nil && x.condition == nil {
				x.condition = condition
			} else {
				x = &term{heats: dict("if", []value.Value{condition, x.written(), int64(0)})}
			}
		}
		if x != nil {
			out = append(out, *x)
		}
	}
	return out
}

// termOf returns the summand of one resource; nil if it has no servers with roles.
func (c *counter) termOf(t *hot.Template, r *hot.Resource, path []string) *term {
	for _, use := range c.stacks[t] {
		if s := use.Server(r.Name); s != nil && len(s.Roles) > 0 {
			return &term{number: 1}
		}
		if n := use.StackResourceOf(r.Name); n != nil && n.HasRoles() {
			return c.termOfNest(t, n, path)
		}
	}
	return nil
}

func (c *counter) termOfNest(t *hot.Template, n *program.StackResource, path []string) *term {
	inRoot := t == c.program.Template
	switch {
	case inRoot && !n.Open() && !c.membersVary(n, path):
		known, _ := inMembers(n.Members, below(path))
		return &term{number: known}
	case inRoot && n.Slots() && c.sure(n, path) >= 0:
		each, _ := inMembers(slices.Values([]*program.Member{n.First()}), below(path))
		return &term{number: c.sure(n, path) * each}
	case n.Slots() && n.Inline():
		return sizeOf(n.Count, emitplan.HOT(n.Count))
	case n.Inline():
		size := n.Resource.Property("count")
		if size.IsNull() {
			return &term{number: int64(n.Most())}
		}
		e := t.Expr(size)
		if e.MayBeOmitted() {
			return sizeOf(e, emitplan.HOT(e))
		}
		return sizeOf(e, size.Data())
	}
	name := outputOf(below(path))
	for other := range usesOf(c.stacks[t], n) {
		for _, s := range other.Stacks() {
			c.need(s.Template, name, below(path))
		}
	}
	if n.Slots() {
		return &term{heats: attribute(n.Resource.Name, program.OutputsList, name)}
	}
	return &term{heats: attribute(n.Resource.Name, name)}
}

// sizeOf is a group's count as a term; null, for Heat's default, counts as that in each sum.
func sizeOf(e *hot.Expr, written tree) *term {
	if number, known := e.Value.(int64); known {
		return &term{number: number}
	}
	if choice, is := e.If(); is && choice.Else != nil {
		then, isNumber := choice.Then.Value.(int64)
		otherwise, alsoNumber := choice.Else.Value.(int64)
		if isNumber && alsoNumber {
			return &term{number: then, condition: binding.Written(choice.Condition), otherwise: otherwise}
		}
	}
	return &term{heats: written}
}

// need records that a template outputs the terms of a path to its parent stack.
func (c *counter) need(t *hot.Template, name string, path []string) {
	if _, have := c.needs[t][name]; have {
		return
	}
	if c.needs[t] == nil {
		c.needs[t] = map[string][]string{}
	}
	c.needs[t][name] = path
	c.terms(t, path)
}

// sure is a scaling group's initial size, if all members have the same servers; -1 if only Heat
// knows.
func (c *counter) sure(n *program.StackResource, path []string) int64 {
	e, err := hot.Fold(n.Count, n.In.Supplied.Peek)
	if err != nil || !e.IsValue() || c.membersVary(n, path) {
		return -1
	}
	size, err := hot.GroupSize(e.Value, 0)
	if err != nil {
		return -1
	}
	return int64(size)
}

// inMembers returns the number of servers with roles on a path in some members and, where Heat
// decides, how many numbers their sum has: a group of servers adds one.
func inMembers(members iter.Seq[*program.Member], path []string) (servers int64, numbers int) {
	for m := range members {
		if m.Server != nil && len(m.Server.Roles) > 0 {
			servers, numbers = servers+1, 1
		}
		if m.Stack != nil {
			s, n := inStack(m.Stack, path)
			servers, numbers = servers+s, numbers+n
		}
	}
	return servers, numbers
}

func inStack(in *program.Stack, path []string) (servers int64, numbers int) {
	for _, r := range in.Template.Resources {
		if !onPath(r, path) || in.Absent(r.Name) {
			continue
		}
		if x := in.Server(r.Name); x != nil && len(x.Roles) > 0 {
			servers, numbers = servers+1, numbers+1
		}
		if x := in.StackResourceOf(r.Name); x != nil {
			s, n := inMembers(x.Members, below(path))
			servers, numbers = servers+s, numbers+n
		}
	}
	return servers, numbers
}

// yaqlItems is the limit of items in Heat's yaql (heat/common/config.py, limit_iterators).
const yaqlItems = 200

func (s *stack) tooMany(at source.Place, what string) {
	s.diags.Error(source.OverLimit, at, fmt.Sprintf("%s; Heat's yaql takes %d (limit_iterators)", what, yaqlItems), "give the parameters that decide it with -P or -e, or lower the bounds of the groups")
}

// outputOf returns the name of the output with the terms of a path.
func outputOf(path []string) string {
	if len(path) == 0 {
		return outputServers
	}
	return outputServers + "_" + contract.Digest(strings.Join(path, "/"))[:8]
}

// countOutputs returns the outputs of this template for others' sums.
func (s *stack) countOutputs() *value.Dict {
	out := value.NewDict()
	needs := s.counter.needs[s.template]
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		out.Set(name, dict("value", lists.Map(s.counter.terms(s.template, needs[name]), term.written)))
	}
	return out
}

// count returns how many signals a wait condition waits for. If there may be none, the handle
// has one from the start, since a condition cannot wait for zero signals.
func (s *stack) count(in *program.Stack, path []string, name string, number int) (count tree, signalled bool) {
	if !s.counter.varies(in, path) {
		return int64(number), false
	}
	if _, most := inStack(in, path); most > yaqlItems {
		s.tooMany(s.program.Template.Place(s.program.Template.Root), fmt.Sprintf("how many servers signal to %q would be a sum of up to %d numbers", in.Called(), most))
	}
	sure, open := int64(0), []term{}
	for _, x := range s.counter.terms(s.template, path) {
		if x.heats == nil && x.condition == nil {
			sure += x.number
		} else {
			open = append(open, x)
		}
	}
	if signalled = sure == 0; signalled {
		sure = 1
	}
	if len(open) == 0 { // of a scaling group of known size
		return sure, signalled
	}
	if x := open[0]; len(open) == 1 && x.condition != nil {
		x.number, x.otherwise = x.number+sure, x.otherwise+sure
		return x.written(), signalled
	}
	return s.sum(name, lists.Map(open, term.written), sure), signalled
}

// sum returns a number that Heat computes.
func (s *stack) sum(name string, open []value.Value, sure int64) tree {
	if s.computes() {
		return dict("yaql", dict("expression", fmt.Sprintf("$.data.servers.flatten().select(int(coalesce($, %d))).sum(%d)", hot.CountDefault, sure), "data", dict("servers", open)))
	}
	s.out.Files[SumFile] = []byte(sumTemplate)
	properties := dict("terms", dict("servers", append(open, sure)))
	s.nestsDeeper(1)
	return attribute(s.generate(name, resource(s.beside(SumFile), properties)), "sum")
}
