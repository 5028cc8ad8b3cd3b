package heat

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// pins makes Heat refuse another value of a parameter that was folded into the plan.
func (s *stack) pins() {
	for _, p := range s.template.Parameters {
		values := s.pinned(p)
		if len(values) == 0 {
			continue
		}
		n := s.text.Parameter(p.Name).Entry.Value
		added := value.NewDict()
		s.put(n, added, s.template.Keywords().Default, values[0])
		if s.template.Version.CFN() {
			s.put(n, added, "AllowedValues", values)
			s.put(n, added, "ConstraintDescription", pinnedBecause)
		} else {
			s.pin(n, added, values)
		}
		s.editor.Add(n, added)
	}
}

// pinnedBecause is Heat's message for another value.
const pinnedBecause = "hotc compiled the plan with this value"

// put sets or adds an entry of a map.
func (s *stack) put(n *yaml.Node, added *value.Dict, name string, value tree) {
	if e := n.Entry(name); e != nil {
		s.editor.Replace(e.Value, value)
		return
	}
	added.Set(name, value)
}

// pin adds the constraint that allows only some values.
func (s *stack) pin(n *yaml.Node, added *value.Dict, values []value.Value) {
	pin := dict("allowed_values", values, "description", pinnedBecause)
	c := n.Get("constraints")
	if c.IsNull() || c.Kind == yaml.List && len(c.Items) == 0 && c.Target() == nil {
		s.put(n, added, "constraints", []value.Value{pin})
		return
	}
	items := []value.Value{pin}
	for _, x := range c.Items {
		items = append(items, x)
	}
	s.editor.Prepend(c, items, pin)
}

// pinned returns the allowed values of a parameter: for the root, the one that the plan was
// built with; for a nested template, those of all uses, if they come from parameter_defaults.
// Nil if it is not pinned.
func (s *stack) pinned(p *hot.Parameter) []value.Value {
	if s.isRoot() {
		given := s.program.Supplied
		if !given.Used(p.Name) || given.Unpinned {
			return nil
		}
		return []value.Value{given.Parameters[p.Name]}
	}
	used := false
	for _, use := range s.stacks {
		used = used || use.Supplied.Used(p.Name) && use.Supplied.Arguments[p.Name] == nil
	}
	if !used {
		return nil
	}
	var values []value.Value
	for _, use := range s.stacks {
		v, known := use.Supplied.Parameters[p.Name]
		switch {
		case !known && use.Arguments[p.Name] != nil:
			s.diags.Error(source.PinImpossible, use.Arguments[p.Name].At, fmt.Sprintf("the parameter %q is open here, but another use of the template was compiled with its value from parameter_defaults", p.Name),
				"hand it over in every use")
			return nil
		case known && !slices.ContainsFunc(values, func(x value.Value) bool { return value.Equal(x, v) }):
			values = append(values, v)
		}
	}
	return values
}

// secretParameters puts a placeholder for values supplied by `hotc apply`: Heat needs none, and
// refuses a supplied one, which would be stored in its database.
func (s *stack) secretParameters() {
	if !s.isRoot() || s.template.Version.CFN() { // nothing would read one
		return
	}
	for _, p := range s.analysis.Secrets {
		n := s.text.Parameter(p.Name).Entry.Value
		nothing := placeholder(&hot.Parameter{Type: p.Type})
		added := value.NewDict()
		s.put(n, added, "default", nothing)
		because := "hotc apply --secret-param " + p.Name + " gives it to roles; Heat needs no value"
		pin := []value.Value{dict("allowed_values", []value.Value{nothing}, "description", because)}
		switch e := n.Entry("constraints"); {
		case p.Pinnable() && e != nil:
			s.editor.Wrap(n, e, pin)
		case p.Pinnable():
			added.Set("constraints", pin)
		case e != nil:
			s.editor.Remove(n, "constraints")
		}
		s.editor.Add(n, added)
	}
}
