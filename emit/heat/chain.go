package heat

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A chain with roles in it becomes a nested template that has the chain's members
// (compiler/nesting/chain.go): what they get is no longer one level deeper, and what is
// read through the chain are outputs, named as Heat names those of a chain's stack.

// chain puts the template in a chain's place.
func (s *stack) chain(n *program.Nest) {
	r := s.text.Resource(n.Resource.Name)
	s.editor.replace(r.TypeNode, s.beside(s.targetOf(n.Members[0].Stack.Template)))
	added := s.handing(n)
	inner := r.Properties.Value.Entry(nesting.ChainProperties)
	if inner == nil || inner.Value.IsNull() {
		s.editor.wrap(r.Entry.Value, r.Properties, section{added})
		return
	}
	s.editor.unwrap(r.Properties, inner)
	s.editor.add(inner.Value, added)
}

// targetOf is where a template goes.
func (s *stack) targetOf(t *hot.Template) string {
	i := slices.IndexFunc(s.options.Templates, func(x Template) bool { return x.Template == t })
	return s.options.Templates[i].Target
}

// chainReads gives the names of the outputs to those who read through a chain by a path.
func (s *stack) chainReads() {
	chains := map[string]bool{}
	for _, n := range s.carrying() {
		chains[n.Resource.Name] = n.Chain
	}
	if len(chains) == 0 {
		return
	}
	gone := map[*hot.Node]bool{} // something else will stand there
	for old := range s.analysis.Placeholders {
		if s.owns(old) {
			for _, n := range s.text.nodes(old) {
				gone[n] = true
			}
		}
	}
	for n, c := range s.editor.changes {
		gone[n] = gone[n] || c.whole
	}
	s.chainReadsIn(s.text.Root, chains, gone)
}

func (s *stack) chainReadsIn(n *hot.Node, chains map[string]bool, gone map[*hot.Node]bool) {
	if gone[n] || n.Target() != nil {
		return
	}
	if meaning, arg := s.text.CallOf(n); meaning == "get_attr" && len(arg.Items) > 2 && !gone[arg] {
		if name, _ := arg.Items[0].Text(); chains[name] {
			s.chainRead(arg, name)
			return
		}
	}
	for _, x := range n.Items {
		s.chainReadsIn(x, chains, gone)
	}
	c := s.editor.changes[n]
	for _, e := range n.Entries {
		if !e.Merged && (c == nil || !c.removed[e.Name]) {
			s.chainReadsIn(e.Value, chains, gone)
		}
	}
}

func (s *stack) chainRead(arg *hot.Node, name string) {
	path := make([]hot.Value, len(arg.Items)-1)
	for i, x := range arg.Items[1:] {
		if x.Kind != hot.Scalar {
			s.diags.Error(source.NotYet, s.template.Place(x), "which part of the attributes of the chain's members this reads is left to Heat, which hotc does not compile yet", "write the path out")
			return
		}
		path[i] = x.Value
	}
	attribute, _ := path[0].(string)
	output, rest := program.ChainOutput(s.template.Version, attribute, path[1:])
	if output != attribute {
		s.editor.replace(arg, append([]hot.Value{name, output}, rest...))
	}
}
