package rule

import (
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// References visits all references in a part of the template, whether Heat follows them or
// not.
func (l *Look) References(n *yaml.Node, visit func(r hot.Ref, n *yaml.Node)) {
	if n == nil {
		return
	}
	if r := l.Ref(n); r.Kind != hot.NoRef {
		visit(r, n)
	}
	for _, x := range n.Items {
		l.References(x, visit)
	}
	for _, e := range n.Entries {
		l.References(e.Value, visit)
	}
}

// Calls visits all calls of a function in a part of the template.
func (l *Look) Calls(n *yaml.Node, function string, visit func(call, argument *yaml.Node)) {
	if n == nil {
		return
	}
	if l.IsCall(n) && n.Entries[0].Name == function {
		visit(n, n.Entries[0].Value)
	}
	for _, x := range n.Items {
		l.Calls(x, function, visit)
	}
	for _, e := range n.Entries {
		l.Calls(e.Value, function, visit)
	}
}
