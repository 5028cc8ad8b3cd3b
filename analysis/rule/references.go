package rule

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// References visits all references in a part of the template, evaluated or not.
func (l *Checker) References(n *yaml.Node, visit func(r hot.Ref, n *yaml.Node)) {
	for _, c := range l.callsIn(n) {
		if c.ref.Kind != hot.NoRef {
			visit(c.ref, c.at)
		}
	}
}

// referred are the names in references of some kinds; all says that some are computed.
func (l *Checker) referred(kinds ...hot.RefKind) (names map[string]bool, all bool) {
	names = map[string]bool{}
	l.References(l.Template.Root, func(r hot.Ref, _ *yaml.Node) {
		if slices.Contains(kinds, r.Kind) {
			names[r.Name] = true
		}
	})
	return names, names[""]
}

// placed is a function call with its place and reference.
type placed struct {
	at  *yaml.Node
	ref hot.Ref
}

// callsIn are the function calls in a part of the template, in order. Those in the whole
// template are collected once for all rules.
func (l *Checker) callsIn(n *yaml.Node) []placed {
	if n != l.Template.Root {
		return l.appendCalls(nil, n)
	}
	if l.wholeOf != l.Template { // a copy of the Look has another template
		usual := 4 * len(l.Template.Resources)
		l.whole, l.wholeOf = l.appendCalls(make([]placed, 0, usual), n), l.Template
	}
	return l.whole
}

func (l *Checker) appendCalls(out []placed, n *yaml.Node) []placed {
	for call := range l.Template.Calls(n) {
		out = append(out, placed{call, l.Ref(call)})
	}
	return out
}
