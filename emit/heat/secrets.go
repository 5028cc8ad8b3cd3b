package heat

import (
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// secretParameters puts a placeholder where `hotc apply` gives the value: Heat needs
// none, and refuses a stack that is given one, which would then lie in its database.
func (s *stack) secretParameters() {
	if !s.isRoot() || s.template.Version.CFN() { // nobody reads one there
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
