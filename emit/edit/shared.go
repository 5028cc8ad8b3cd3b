package edit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// An alias or a merge key is one text with several uses. An edit for only one of them needs that
// use written out; and if the edited text is the anchored one itself, or is removed with the
// anchor in it, the first of the other uses becomes the anchor. The result is compared with the
// user's text, which must mean the same; the edits are then applied to it.

// Sharing finds the uses of a template's anchors, and which of them an edit touches.
type Sharing struct {
	writer
	uses    []*use        // in text order
	lost    []*yaml.Node  // maps with lost entries
	keys    []*yaml.Entry // those whose keys are aliases
	byAlias map[*yaml.Node]*use
	byMap   map[*yaml.Node][]*use // the merge keys of a map
	// changed are the spans edited for this place only, removed those that are removed.
	changed, removed []source.Span
	gone             []source.Span // lost entries, which are not written again
	replaced         []source.Span // replaced for all uses
	edits            []source.Edit
}

// use is an alias as a value or list item, or a merge key.
type use struct {
	alias *yaml.Node
	entry *yaml.Entry // whose value it is; nil in a list
	in    *yaml.Node  // the map or list around it
	merge bool
	write bool // it has to be written out
}

func newSharing(t *hot.Template) *Sharing {
	e := New(t)
	s := &Sharing{writer: e.writer, byAlias: map[*yaml.Node]*use{}, byMap: map[*yaml.Node][]*use{}}
	s.collect(t.Root)
	slices.SortStableFunc(s.uses, func(a, b *use) int { return cmp.Compare(a.span().Start, b.span().Start) })
	return s
}

func (u *use) span() source.Span {
	if u.merge {
		return source.Span{Start: u.entry.Key.Span.Start, End: endOf(u.entry)}
	}
	return u.alias.Span
}

// collect walks the text: neither into aliases nor into merged maps.
func (s *Sharing) collect(n *yaml.Node) {
	for _, x := range n.Items {
		s.value(x, nil, n)
	}
	for i := range n.Entries {
		if e := &n.Entries[i]; !e.Merged {
			s.value(e.Value, e, n)
			if s.file.Text[e.Key.Span.Start] == '*' {
				s.keys = append(s.keys, e)
			}
		}
	}
	if lost := n.Lost(); len(lost) > 0 {
		s.lost = append(s.lost, n)
		for i := range lost {
			s.value(lost[i].Value, &lost[i], n)
		}
	}
	for i := range n.Merges() {
		e := &n.Merges()[i]
		u := &use{alias: e.Value, entry: e, in: n, merge: true}
		s.uses = append(s.uses, u)
		s.byMap[n] = append(s.byMap[n], u)
	}
}

func (s *Sharing) value(n *yaml.Node, e *yaml.Entry, in *yaml.Node) {
	if n.Target() == nil {
		s.collect(n)
		return
	}
	u := &use{alias: n, entry: e, in: in}
	s.uses = append(s.uses, u)
	s.byAlias[n] = u
}

// own makes an entry of a map editable in this place alone. It returns false if the edits are
// within something that is written out anyway.
func (s *Sharing) own(in *yaml.Node, e *yaml.Entry) bool {
	if e.Merged {
		s.writeMerges(in)
		return false
	}
	if u := s.byAlias[e.Value]; u != nil {
		u.write = true
		return false
	}
	return true
}

// Moved records renamed files. Elsewhere such a text may mean something different, and stays.
func (s *Sharing) Moved(names map[*yaml.Node]string) {
	anchors := map[*yaml.Node]bool{}
	for n := range names {
		anchors[anchoredNode(n)] = true
	}
	for _, u := range s.uses {
		u.write = u.write || anchors[u.alias.Target()]
	}
}

func (s *Sharing) writeMerges(in *yaml.Node) {
	for _, u := range s.byMap[in] {
		u.write = true
	}
}

// Server records the edits of a server with roles or facts.
func (s *Sharing) Server(resources *yaml.Node, r *hot.Resource) {
	if !s.own(resources, r.Entry) {
		return
	}
	n := r.Entry.Value
	switch p := r.Properties; {
	case p == nil:
		s.changed = append(s.changed, n.Span)
		s.addable(n)
	case s.own(n, p):
		s.changed = append(s.changed, p.Value.Span)
		s.properties(p.Value)
	}
}

// Resource records the removal of a resource.
func (s *Sharing) Resource(resources *yaml.Node, r *hot.Resource) {
	if r.Entry.Merged {
		s.writeMerges(resources)
	} else {
		s.remove(resources, r.Entry)
	}
}

// Blocks records the removal of entries of a resource's metadata.
func (s *Sharing) Blocks(resources *yaml.Node, r *hot.Resource, blocks []*yaml.Entry) {
	n, m := r.Entry.Value, r.Metadata
	if !s.own(resources, r.Entry) {
		return
	}
	if len(m.Value.Entries) == len(blocks) {
		if m.Merged {
			s.writeMerges(n)
			return
		}
		s.remove(n, m)
		return
	}
	if s.own(n, m) {
		s.changed = append(s.changed, m.Value.Span)
		for _, block := range blocks {
			if block.Merged {
				s.writeMerges(m.Value)
			} else {
				s.remove(m.Value, block)
			}
		}
	}
}

// StackResource records the edits of a resource that represents stacks or servers.
func (s *Sharing) StackResource(resources *yaml.Node, x *program.StackResource) {
	r := x.Resource
	if !s.own(resources, r.Entry) {
		return
	}
	n, p := r.Entry.Value, r.Properties
	if x.Group() {
		d := x.Definition()
		if !s.own(n, p) || !s.own(p.Value, d.Entry) {
			return
		}
		n, p = d.Entry.Value, d.Properties
		if m := d.Metadata; x.Inline() && m != nil {
			if m.Merged {
				s.writeMerges(n)
			} else {
				s.remove(n, m)
			}
		}
	}
	switch {
	case p == nil:
		s.changed = append(s.changed, n.Span)
		s.addable(n)
	case !s.own(n, p):
	default:
		s.changed = append(s.changed, p.Value.Span)
		s.addable(p.Value)
	}
}

func (s *Sharing) properties(n *yaml.Node) {
	for _, name := range []string{"user_data", "user_data_format"} {
		if e := n.Entry(name); e != nil && e.Merged {
			s.writeMerges(n)
		}
	}
	if e := n.Entry("user_data"); e != nil && !e.Merged && e.Value.Kind != yaml.Scalar {
		s.removed = append(s.removed, e.Value.Span) // it may be written again
	}
	s.addable(n)
}

// addable makes a map accept new entries.
func (s *Sharing) addable(n *yaml.Node) {
	if !slices.ContainsFunc(n.Entries, func(e yaml.Entry) bool { return !e.Merged }) {
		s.writeMerges(n)
	}
}

func (s *Sharing) remove(in *yaml.Node, e *yaml.Entry) {
	if in.Style == yaml.Flow {
		s.writeMerges(in)
	}
	s.removed = append(s.removed, source.Span{Start: e.Key.Span.Start, End: endOf(e)})
}

// Parameter records the edit of a pinned parameter.
func (s *Sharing) Parameter(parameters *yaml.Node, p *hot.Parameter) {
	if !s.own(parameters, p.Entry) {
		return
	}
	s.changed = append(s.changed, p.Entry.Value.Span)
	s.addable(p.Entry.Value)
	for _, name := range []string{"default", "Default", "constraints", "AllowedValues", "ConstraintDescription"} {
		if e := p.Entry.Value.Entry(name); e != nil {
			if s.own(p.Entry.Value, e) {
				s.changed = append(s.changed, e.Value.Span)
			}
		}
	}
}

// within reports whether a span is inside one of a list.
func within(span source.Span, list []source.Span) bool {
	return slices.ContainsFunc(list, func(x source.Span) bool { return x.Contains(span) })
}

// goes reports whether a node is removed, or nested in a replaced one.
func (s *Sharing) goes(n *yaml.Node) bool {
	return within(n.Span, s.removed) || slices.ContainsFunc(s.replaced, func(x source.Span) bool { return x != n.Span && x.Contains(n.Span) })
}

// spoiled reports whether an edit changes an anchored text that other uses still need.
func (s *Sharing) spoiled(n *yaml.Node) bool {
	return s.goes(n) || slices.ContainsFunc(s.changed, n.Span.Contains)
}

// text returns the template with uses written out; nil if there are none.
func (s *Sharing) text() ([]byte, error) {
	anchored := map[*yaml.Node]bool{} // spoiled anchors that have a new place
	done := map[*yaml.Node]bool{}     // maps whose merge keys are written out
	for _, u := range s.uses {
		if within(u.span(), s.gone) {
			continue
		}
		u.write = u.write || u.merge && u.alias.Target() == u.in && s.spoiled(u.in) // a map that merges itself
		if u.merge && u.write {
			if !done[u.in] {
				done[u.in] = true
				s.writeMerged(u.in)
			}
			continue
		}
		for _, a := range u.aliases() {
			switch {
			case u.write:
				s.writeValue(u, a, "")
			case !s.spoiled(a.Target()):
			case s.goes(a):
				s.writeValue(u, a, "")
			case !anchored[a.Target()]:
				anchored[a.Target()] = true
				name := strings.TrimPrefix(s.file.Slice(a.Span), "*")
				s.dropAnchor(a.Target(), name)
				s.writeValue(u, a, "&"+name)
			}
		}
	}
	s.edits = slices.DeleteFunc(s.edits, func(e source.Edit) bool { return within(e.Span, s.gone) })
	for _, x := range s.gone {
		s.edit(x, "")
	}
	if len(s.edits) == 0 {
		return nil, nil
	}
	return source.Apply(s.file.Text, s.edits)
}

// aliases returns the aliases of a use: a merge key may have several, or none.
func (u *use) aliases() []*yaml.Node {
	switch {
	case u.alias.Target() != nil:
		return []*yaml.Node{u.alias}
	case !u.merge:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(u.alias.Items), func(x *yaml.Node) bool { return x.Target() == nil })
}

func (s *Sharing) edit(span source.Span, text string) {
	s.edits = append(s.edits, source.Edit{Span: span, New: text})
}
