package heat

import (
	"github.com/hotc-dev/hotc/compiler/hot"
)

// constraintKeys are the keys of a declaration that constrain the value.
var constraintKeys = []string{"constraints", "AllowedPattern", "AllowedValues", "ConstraintDescription", "MaxLength", "MinLength", "MaxValue", "MinValue"}

// secretParameters puts a placeholder where `hotc apply` gives the value: Heat needs
// none, and refuses a stack that is given one, which would then lie in its database.
func (s *stack) secretParameters() {
	if !s.isRoot() {
		return
	}
	for _, p := range s.analysis.Secrets {
		n := s.text.Parameter(p.Name).Entry.Value
		nothing := placeholder(&hot.Parameter{Type: p.Type})
		added := hot.NewDict()
		s.put(n, added, s.words().Default, nothing)
		because := "hotc apply --secret-param " + p.Name + " gives it to roles; Heat needs no value"
		pin := dict("constraints", []hot.Value{dict("allowed_values", []hot.Value{nothing}, "description", because)})
		if s.version.CFN() {
			pin = dict("AllowedValues", []hot.Value{nothing}, "ConstraintDescription", because)
		}
		for _, key := range constraintKeys {
			value, pins := pin.Get(key)
			switch there := n.Entry(key) != nil; {
			case pins && p.Pinnable() && there:
				s.editor.wrap(n, n.Entry(key), value)
			case pins && p.Pinnable():
				added.Set(key, value)
			case there:
				s.editor.remove(n, key)
			}
		}
		if added.Len() > 0 {
			s.editor.add(n, added)
		}
	}
}
