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

// Block is the key of the entry in a group's metadata with hotc's settings of the group, and
// MaxMembers that of the one which limits its members with roles, where only Heat knows their number.
const (
	Block      = "hotc"
	MaxMembers = "max_members"
)

// bound is the maximal size of a group whose size only Heat knows, from its hotc block or the
// constraints of the parameters that decide it. Without either it is 0, and the group Unbounded.
func (l *loader) bound(n *program.StackResource, r *hot.Resource, size *yaml.Node) int {
	s := n.In
	block := r.MetadataEntry(Block)
	if block != nil {
		if v := block.Value.Get(MaxMembers); v != nil {
			most, _ := v.Value.(int64)
			return int(max(0, min(most, 1<<30))) // the block's check reports errors
		}
	}
	if most, ok := l.most(s, s.Template.Expr(size), hot.CountDefault); ok {
		if most == 0 {
			l.diags.Error(source.BadArgument, s.Place(size), fmt.Sprintf("the group %q can never have members: the constraints of its size allow only 0", r.Name), "")
		}
		return most
	}
	if block == nil { // otherwise the block's check reports it
		l.reportUnbounded(s, r, size)
	}
	n.Unbounded = true
	return 0
}

// most is the maximal size that an expression can have, if that can be derived; missing is
// the size for null, and for a missing branch.
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

// mostOf is most for a parameter, by its constraints or those of its argument.
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
	if p.Default != nil { // used if the property is null
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

// reportUnbounded reports a group without a bound, with hints how to set one, or the size.
func (l *loader) reportUnbounded(s *program.Stack, r *hot.Resource, n *yaml.Node) {
	var open []string
	for _, p := range l.open(s, n) {
		if p.Pinnable() { // otherwise a supplied value is not used
			open = append(open, p.Name)
		}
	}
	hint := fmt.Sprintf("set a maximum: `metadata: {hotc: {%s: N}}` in %q", MaxMembers, r.Name)
	if len(open) > 0 {
		itself := "-P " + strings.Join(open, "=N -P ") + "=N"
		if s.Path != "" {
			itself = fmt.Sprintf("as a known property of %q, or in the parameter_defaults of an environment", s.Path)
		}
		hint += fmt.Sprintf(", or `range: {max: N}` in the constraints of %s; or set the number at compile time: %s", strings.Join(open, ", "), itself)
	}
	l.diags.Error(source.NoBound, s.Place(n), fmt.Sprintf("the members of %q have roles, but nothing limits how many Heat may create: the plan needs an entry for each", r.Name), hint)
}

// open are the parameters that leave a value to Heat, in source order.
func (l *loader) open(s *program.Stack, n *yaml.Node) (open []*hot.Parameter) {
	e, err := s.Template.Fold(n, s.Supplied.Peek)
	if err != nil {
		return nil
	}
	for x := range e.Calls() {
		if r := x.Ref(); r.Kind == hot.ToParameter {
			if p := s.Template.Parameter(r.Name); p != nil && !slices.Contains(open, p) {
				open = append(open, p)
			}
		}
	}
	return open
}
