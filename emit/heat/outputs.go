package heat

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
)

// outputs takes those away that need a role's output, and adds those that roles in
// other stacks need.
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
	var removed []string
	for _, o := range s.template.Outputs {
		if s.analysis.Removed[o] {
			removed = append(removed, o.Name)
		}
	}
	outputs := s.template.Words().Outputs
	section := s.text.Root.Entry(outputs)
	switch {
	case len(removed) > 0 && len(removed) == len(section.Value.Entries) && added.Len() == 0:
		s.editor.Remove(s.text.Root, outputs)
		return
	case len(removed) > 0 && len(removed) == len(section.Value.Entries):
		s.editor.Fill(s.text.Root, section, added)
		return
	}
	for _, name := range removed {
		s.editor.Remove(section.Value, name)
	}
	if added.Len() > 0 {
		s.editor.AddTo("outputs", "resources", added)
	}
}
