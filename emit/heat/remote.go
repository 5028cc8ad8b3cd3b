package heat

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// remote gives a stack that is a resource what its servers need, among its parameters.
func (s *stack) remote(n *program.Nest) {
	for _, x := range s.program.Servers {
		if strings.HasPrefix(x.Path, n.In.PathOf(n.Resource.Name)+"/") && hasDeleteHook(x) {
			s.diags.Error(source.NotYet, x.At(), fmt.Sprintf("roles of %q have a delete hook, and %q is a stack by itself, for whose resources the environment around can have no hooks", x.Path, n.Resource.Name),
				"nest the template as the type of a resource")
		}
	}
	properties := s.text.Resource(n.Resource.Name).Properties
	added := s.handing(n)
	switch parameters := properties.Value.Entry(nesting.RemoteParameters); {
	case parameters == nil:
		s.editor.add(properties.Value, dict(nesting.RemoteParameters, section{added}))
	case parameters.Value.IsNull():
		s.editor.fill(parameters, added)
	default:
		s.editor.add(parameters.Value, added)
	}
}
