package rule

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// References visits all references in a part of the template, whether Heat follows them or
// not.
func (l *Look) References(n *yaml.Node, visit func(r hot.Ref, n *yaml.Node)) {
	for _, c := range l.callsIn(n) {
		if c.ref.Kind != hot.NoRef {
			visit(c.ref, c.at)
		}
	}
}

// referred are the names that references of some kinds have; all says that some are computed.
func (l *Look) referred(kinds ...hot.RefKind) (names map[string]bool, all bool) {
	names = map[string]bool{}
	l.References(l.Template.Root, func(r hot.Ref, _ *yaml.Node) {
		if slices.Contains(kinds, r.Kind) {
			names[r.Name] = true
		}
	})
	return names, names[""]
}

// placed is a call of a function where it stands, and what it refers to.
type placed struct {
	at  *yaml.Node
	ref hot.Ref
}

// callsIn are the calls of functions in a part of the template, in the order of the text. In
// the whole of it they are looked for once for all rules.
func (l *Look) callsIn(n *yaml.Node) []placed {
	if n != l.Template.Root {
		return l.appendCalls(nil, n)
	}
	if l.wholeOf != l.Template { // of a copy of the Look, it is another one
		usual := 4 * len(l.Template.Resources)
		l.whole, l.wholeOf = l.appendCalls(make([]placed, 0, usual), n), l.Template
	}
	return l.whole
}

func (l *Look) appendCalls(out []placed, n *yaml.Node) []placed {
	if n == nil {
		return out
	}
	if l.IsCall(n) {
		out = append(out, placed{n, l.Ref(n)})
	}
	for _, x := range n.Items {
		out = l.appendCalls(out, x)
	}
	for i := range n.Entries {
		out = l.appendCalls(out, n.Entries[i].Value)
	}
	return out
}
