package heat

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
)

// outputs removes those that need a role's output, and adds those that roles in other stacks
// need.
func (s *stack) outputs() {
	if s.isRoot() {
		return
	}
	added := s.countOutputs()
	s.waitOutput(added)
	for _, use := range s.stacks {
		exports := s.analysis.Exports[use]
		for _, name := range slices.Sorted(maps.Keys(exports)) {
			added.Set(name, dict("value", binding.Written(exports[name])))
		}
	}
	removed := lists.Map(lists.Only(s.template.Outputs, func(o *hot.Output) bool { return s.analysis.Removed[o] }), func(o *hot.Output) string { return o.Name })
	outputs := s.template.Keywords().Outputs
	section := s.text.Root.Entry(outputs)
	switch {
	case len(removed) == 0 || len(removed) < len(section.Value.Entries):
		for _, name := range removed {
			s.editor.Remove(section.Value, name)
		}
		if added.Len() > 0 {
			s.editor.AddTo("outputs", "resources", added)
		}
	case added.Len() == 0:
		s.editor.Remove(s.text.Root, outputs)
	default:
		s.editor.Fill(s.text.Root, section, added)
	}
}
