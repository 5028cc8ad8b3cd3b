package edit

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Editable is the template that is edited: the user's own, or an equivalent one in which uses of
// aliases and merge keys are written out.
type Editable struct {
	*hot.Template
	// now maps the user's nodes to their counterparts; nil if they are the same.
	now map[*yaml.Node][]*yaml.Node
	// uses distinguishes the uses of an anchor.
	uses map[*yaml.Node][]*yaml.Node
}

// Unshare writes out what the edits touch, as recorded by mark. If anything is edited, duplicate
// keys are removed, and keys that are aliases are written out.
func Unshare(t *hot.Template, edits bool, mark func(*Sharing)) (Editable, error) {
	sh := newSharing(t)
	if edits {
		sh.dropLost()
		sh.writeKeys()
	}
	if len(sh.uses) == 0 && len(sh.gone) == 0 && len(sh.edits) == 0 {
		return Editable{Template: t}, nil
	}
	mark(sh)
	text, err := sh.text()
	if err != nil || text == nil {
		return Editable{Template: t}, err
	}
	var diags source.Diagnostics
	again := hot.ParseTemplate(source.NewFile(t.File.Name, text), &diags)
	if again == nil {
		return Editable{}, Internal("writing out aliases: " + diags.All()[0].Error())
	}
	if where, is := New(t).differs(t.Root, again.Root); is && len(sh.gone) > 0 {
		return Editable{}, CannotEdit(t.File, sh.lost[0], "a key stands twice in it")
	} else if is {
		return Editable{}, Internal("writing out aliases changed " + where)
	}
	out := Editable{Template: again, now: map[*yaml.Node][]*yaml.Node{}, uses: map[*yaml.Node][]*yaml.Node{}}
	out.pair(t.Root, again.Root)
	return out, nil
}

// Replaced records that a node gets another value.
func (s *Sharing) Replaced(n *yaml.Node) { s.replaced = append(s.replaced, anchoredNode(n).Span) }

// pair records which node of the new tree corresponds to a node of the old one. A node with
// several uses has several counterparts.
func (e *Editable) pair(old, now *yaml.Node) {
	e.uses[old] = append(e.uses[old], anchoredNode(now))
	old, now = anchoredNode(old), anchoredNode(now)
	if slices.Contains(e.now[old], now) {
		return
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

// Nodes returns the counterparts of a node of the user's template, in text order. An alias
// counts as its anchor: an edit there applies to every use.
func (e *Editable) Nodes(n *yaml.Node) []*yaml.Node {
	if e.now == nil {
		return []*yaml.Node{anchoredNode(n)}
	}
	return e.now[anchoredNode(n)]
}

// Use returns the counterparts of this use alone of a node of the user's template, where all
// uses are written out.
func (e *Editable) Use(n *yaml.Node) []*yaml.Node {
	if e.now == nil {
		return e.Nodes(n)
	}
	return e.uses[n]
}

func anchoredNode(n *yaml.Node) *yaml.Node {
	if n.Target() != nil {
		return n.Target()
	}
	return n
}
