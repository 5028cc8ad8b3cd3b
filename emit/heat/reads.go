package heat

import (
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/edit"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// removeOwn removes what is a front-end's own.
func (s *stack) removeOwn() {
	for _, r := range s.text.Resources {
		if s.stacks[0].Owned(r.Name) != nil {
			s.editor.Remove(s.text.Root.Get(s.text.Keywords().Resources), r.Name)
			continue
		}
		switch blocks := s.stacks[0].Blocks(r); len(blocks) {
		case 0:
		case len(r.Metadata.Value.Entries):
			s.editor.Remove(r.Entry.Value, "metadata")
		default:
			for _, b := range blocks {
				s.editor.Remove(r.Metadata.Value, b.Name)
			}
		}
	}
}

// rewriteReads rewrites the uses of roles' outputs that Heat evaluates.
func (s *stack) rewriteReads() {
	done := map[*yaml.Node]bool{}
	replace := func(n *yaml.Node, v tree) {
		for _, now := range s.text.Nodes(n) {
			if !done[now] {
				done[now] = true
				s.editor.Replace(now, v)
			}
		}
	}
	s.switchedOff(func(n *yaml.Node) { replace(n, nil) })
	for _, r := range s.reads {
		switch {
		case r.Expr != nil:
			replace(r.Call, s.fromValues(r.Expr))
		case r.Output.Value != nil:
			replace(r.Call, emitplan.HOT(r.Output.Value))
		default:
			replace(r.Arg, append(s.inStack(r.Output), lists.Map(r.Path, func(n *yaml.Node) value.Value { return s.editor.Content(nil, s.text.Nodes(n)[0], false) })...))
		}
	}
}

// switchedOff visits what the stack's outputs read of servers that the given parameters switch off.
func (s *stack) switchedOff(visit func(*yaml.Node)) {
	var below func(n *yaml.Node)
	below = func(n *yaml.Node) {
		if s.analysis.SwitchedOff[s.template.Place(n)] {
			visit(n)
			return
		}
		for x := range n.Below() {
			below(x)
		}
	}
	for _, o := range s.template.Outputs {
		below(o.Value)
	}
}

// moves renames files that cannot stay in place.
func (s *stack) moves() {
	names := map[*yaml.Node]string{}
	for n, name := range s.files.Moved {
		for _, now := range s.text.Use(n) {
			names[now] = name
		}
	}
	for _, n := range edit.InTextOrder(names) {
		s.editor.Replace(n, names[n])
	}
}
