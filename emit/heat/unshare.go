package heat

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// editable is the template that the edits are made in: the user's own, or one with
// the same meaning in which uses of aliases and merge keys are written out.
type editable struct {
	*hot.Template
	// now are the nodes that stand for the user's; nil if they are the same.
	now map[*hot.Node][]*hot.Node
}

// unshare writes out what the edits touch.
func (s *stack) unshare() (editable, error) {
	t := s.template
	sh := newSharing(t)
	if len(s.program.Servers) > 0 {
		sh.dropLost()
	}
	if len(s.program.Servers)+len(s.files.Moved) > 0 {
		sh.writeKeys()
	}
	if len(sh.uses) == 0 && len(sh.gone) == 0 && len(sh.edits) == 0 {
		return editable{Template: t}, nil
	}
	for _, p := range s.sites {
		if r := t.Resource(p.resource); r != nil {
			sh.server(t.Root.Get(s.template.Words().Resources), r)
		}
	}
	for _, n := range s.carrying() {
		sh.nest(t.Root.Get(s.template.Words().Resources), n)
	}
	for _, p := range t.Parameters {
		if len(s.pinned(p)) > 0 || slices.Contains(s.analysis.Secrets, p) {
			sh.parameter(t.Root.Get(s.template.Words().Parameters), p)
		}
	}
	for n := range s.files.Moved {
		sh.moved(n)
	}
	s.replacements(func(n *hot.Node) { sh.replaced = append(sh.replaced, anchoredNode(n).Span) })
	text, err := sh.text()
	if err != nil || text == nil {
		return editable{Template: t}, err
	}
	var diags source.Diagnostics
	again := hot.ParseTemplate(source.NewFile(t.File.Name, text), &diags)
	if again == nil {
		return editable{}, internal("writing out aliases: " + diags.All()[0].Error())
	}
	if where, is := newEditor(t).differs(t.Root, again.Root); is && len(sh.gone) > 0 {
		return editable{}, cannotEdit(t.File, sh.lost[0], "a key stands twice in it")
	} else if is {
		return editable{}, internal("writing out aliases changed " + where)
	}
	out := editable{Template: again, now: map[*hot.Node][]*hot.Node{}}
	out.pair(t.Root, again.Root)
	return out, nil
}

// replacements are the nodes of the template that get another value.
func (s *stack) replacements(found func(*hot.Node)) {
	for _, r := range s.analysis.Reads {
		if r.Template == s.template {
			found(r.Call)
		}
	}
	for _, r := range s.analysis.PropertyReads {
		if r.Template == s.template {
			found(r.Call)
		}
	}
	for _, d := range s.analysis.Dependencies {
		if d.In.Template == s.template {
			found(d.Item)
		}
	}
	s.withPlaceholders(func(n *hot.Node, _ *hot.Parameter) { found(n) })
	for _, o := range s.template.Outputs {
		if s.analysis.Removed[o] && !s.isRoot() {
			found(o.Entry.Value)
		}
	}
}

// pair notes which node of the new tree says what one of the old tree said. A
// node with several uses has several.
func (e *editable) pair(old, now *hot.Node) {
	old, now = anchoredNode(old), anchoredNode(now)
	for _, n := range e.now[old] {
		if n == now {
			return
		}
	}
	e.now[old] = append(e.now[old], now)
	for i := range old.Items {
		e.pair(old.Items[i], now.Items[i])
	}
	entry := inOrder(now)
	for i := range old.Entries {
		e.pair(old.Entries[i].Value, entry(old.Entries[i].Name).Value)
	}
}

// nodes are those that stand for a node of the user's template, in the order of
// the text. An alias is where its anchor is: what is edited there holds for every
// use.
func (e *editable) nodes(n *hot.Node) []*hot.Node {
	if e.now == nil {
		return []*hot.Node{anchoredNode(n)}
	}
	return e.now[anchoredNode(n)]
}

func anchoredNode(n *hot.Node) *hot.Node {
	if n.Target() != nil {
		return n.Target()
	}
	return n
}
