package nesting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// MaxMembers is the key of a group's hotc block that says how many members with roles
// there are at most, where only Heat knows how many there are.
const MaxMembers = "max_members"

// bound is how many members a group may have whose size only Heat knows, 0 if nothing
// says so, which Unbounded notes: its hotc block does, or the constraints of the parameters that decide it.
func (l *loader) bound(n *program.StackResource, r *hot.Resource, size *yaml.Node) int {
	s := n.In
	block := program.BlockOf(r)
	if block != nil {
		if v := block.Value.Get(MaxMembers); v != nil {
			most, _ := v.Value.(int64)
			return int(max(0, min(most, 1<<30))) // what is wrong with it is said where blocks are checked
		}
	}
	if most, ok := l.most(s, s.Template.Expr(size), hot.CountDefault); ok {
		if most == 0 {
			l.diags.Error(source.BadArgument, s.Place(size), fmt.Sprintf("the group %q can have no members, by the constraints of what decides their number", r.Name), "")
		}
		return most
	}
	if block == nil { // else it is a block of something else, which is said there, too
		l.openSize(s, r, size)
	}
	n.Unbounded = true
	return 0
}

// most is the largest size that an expression can give a group, as far as its text
// tells; missing is what null is, and a branch that is not said.
func (l *loader) most(s *program.Stack, e *hot.Expr, missing int) (most int, ok bool) {
	folded, err := hot.Fold(e, s.Supplied.Peek)
	switch {
	case err != nil:
		return 0, false
	case folded.IsValue():
		return asSize(folded.Value, missing)
	case folded.Kind != hot.CallExpr:
		return 0, false
	}
	if choice, is := folded.If(); is {
		if choice.Else == nil {
			most = missing
		}
		for _, x := range choice.Branches() {
			n, known := l.most(s, x, missing)
			if !known {
				return 0, false
			}
			most = max(most, n)
		}
		return most, true
	}
	r := folded.Ref()
	if p := s.Template.Parameter(r.Name); r.Kind == hot.ToParameter && p != nil && len(r.Path) == 0 && !r.Computed {
		return l.mostOf(s, p, missing)
	}
	return 0, false
}

// mostOf is most for a parameter: its constraints say it, or those of what the stack
// around hands over.
func (l *loader) mostOf(s *program.Stack, p *hot.Parameter, missing int) (most int, ok bool) {
	for _, c := range p.Constraints {
		switch c.Kind {
		case "range":
			if n, known := asSize(c.Max, missing); c.Max != nil && known && (!ok || n < most) {
				most, ok = n, true
			}
		case "allowed_values":
			largest := 0
			for _, v := range c.Allowed {
				n, known := asSize(v, missing)
				if !known {
					return 0, false
				}
				largest = max(largest, n)
			}
			if !ok || largest < most {
				most, ok = largest, true
			}
		}
	}
	a := s.Arguments[p.Name]
	if ok || a == nil {
		return most, ok
	}
	if p.Default != nil { // which a property that is null leaves as it is
		if missing, ok = asSize(p.Default.Data(), missing); !ok {
			return 0, false
		}
	}
	return l.most(s.Around(), a, missing)
}

func asSize(v value.Value, missing int) (size int, ok bool) {
	size, err := hot.GroupSize(v, missing)
	return size, err == nil
}

// openSize says how to give a bound, or the number itself.
func (l *loader) openSize(s *program.Stack, r *hot.Resource, n *yaml.Node) {
	var open []string
	for _, p := range l.open(s, n) {
		if p.Pinnable() { // else a value that is given does not count
			open = append(open, p.Name)
		}
	}
	hint := fmt.Sprintf("say how many there are at most: `metadata: {hotc: {%s: N}}` of %q", MaxMembers, r.Name)
	if len(open) > 0 {
		itself := "-P " + strings.Join(open, "=N -P ") + "=N"
		if s.Path != "" {
			itself = fmt.Sprintf("as a property of %q that is known, or as one of the parameter_defaults of an environment", s.Path)
		}
		hint += fmt.Sprintf(", or `range: {max: N}` among the constraints of %s; or give the number itself when compiling: %s", strings.Join(open, ", "), itself)
	}
	l.diags.Error(source.NoBound, s.Place(n), fmt.Sprintf("the members of %q have roles, and nothing says how many of them Heat may make: the plan has a part for each", r.Name), hint)
}

// open are the parameters that leave a value to Heat, in the order of the text.
func (l *loader) open(s *program.Stack, n *yaml.Node) (open []*hot.Parameter) {
	e, err := s.Template.Fold(n, s.Supplied.Peek)
	if err != nil {
		return nil
	}
	e.Walk(func(x *hot.Expr) bool {
		if r := x.Ref(); r.Kind == hot.ToParameter {
			if p := s.Template.Parameter(r.Name); p != nil && !slices.Contains(open, p) {
				open = append(open, p)
			}
		}
		return true
	})
	return open
}
