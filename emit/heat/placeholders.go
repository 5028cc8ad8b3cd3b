package heat

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// withPlaceholders visits the template's properties for which Heat gets another value, each
// once.
func (s *stack) withPlaceholders(visit func(n *yaml.Node, p *hot.Parameter)) {
	done := map[*yaml.Node]bool{}
	for _, use := range s.stacks {
		for at := range use.Places {
			if p := s.analysis.Placeholders[at.Node]; p != nil && !done[at.Node] {
				done[at.Node] = true
				visit(at.Node, p)
			}
		}
	}
}

// placeholders removes roles' outputs from properties: Heat cannot know them.
func (s *stack) placeholders() {
	s.withPlaceholders(func(n *yaml.Node, p *hot.Parameter) {
		value := placeholder(p)
		if err := p.Check(value); err != nil {
			s.diags.Error(source.RunTimeInProperty, s.template.Place(n), fmt.Sprintf("this passes on what a role writes, which Heat does not know, and the parameter %q accepts no value in its place: %v", p.Name, err),
				"give the parameter a default")
			return
		}
		s.replace(n, value)
	})
}

// placeholder returns a value allowed for a parameter.
func placeholder(p *hot.Parameter) value.Value {
	if p.Default != nil {
		return p.Default.Data()
	}
	switch p.Type {
	case "number":
		return int64(0)
	case "boolean":
		return false
	case "comma_delimited_list":
		return []value.Value{}
	case "json":
		return value.NewDict()
	}
	return ""
}
