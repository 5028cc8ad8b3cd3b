// Package edit changes the text of a template: byte ranges are inserted, replaced or removed,
// the rest stays as the user wrote it. The edited text is parsed again and compared with the
// intended tree. Uses of aliases and merge keys that an edit would touch are written out first.
package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Editor collects edits of a template's text and, with each, the intended change to the tree, so
// that the result can be checked.
type Editor struct {
	writer
	inserts []source.Edit
	removes []source.Edit
	// replaced are the replacements of nodes; a prefix of them is sorted.
	replaced []source.Edit
	ordered  int
	changes  map[*yaml.Node]*change
	root     *yaml.Node
	usual    int   // length of the entries added last: servers are alike
	err      error // the first edit that cannot be applied
}

// change is the intended change to a node.
type change struct {
	whole   bool
	around  bool    // the new Tree wraps the node, which keeps its anchor
	inner   *change // then what was to become of the node itself
	value   Tree    // replaces the node, if whole
	removed map[string]bool
	added   *value.Dict
}

func New(t *hot.Template) *Editor {
	e := &Editor{writer: writer{file: t.File, nl: "\n", json: t.Root.Style == yaml.Flow}, changes: map[*yaml.Node]*change{}, root: t.Root}
	if i := bytes.IndexByte(t.File.Text[:min(len(t.File.Text), 4096)], '\n'); i > 0 && t.File.Text[i-1] == '\r' {
		e.nl = "\r\n"
	}
	e.moved, e.changed = e.inside, e.instead
	return e
}

// inside returns the replacements within a piece of text, relative to its start: the piece is
// written elsewhere together with them.
func (e *Editor) inside(span source.Span) []source.Edit {
	first, last := e.replacedIn(span)
	return lists.Map(e.replaced[first:last], func(x source.Edit) source.Edit {
		return source.Edit{Span: source.Span{Start: x.Span.Start - span.Start, End: x.Span.End - span.Start}, New: x.New}
	})
}

// replacedIn returns the range of replacements within a piece of text.
func (e *Editor) replacedIn(span source.Span) (first, last int) {
	byStart := func(a, b source.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) }
	if e.ordered < len(e.replaced) {
		slices.SortStableFunc(e.replaced, byStart)
		e.ordered = len(e.replaced)
	}
	first = sort.Search(len(e.replaced), func(i int) bool { return e.replaced[i].Span.Start >= span.Start })
	for last = first; last < len(e.replaced) && e.replaced[last].Span.End <= span.End; last++ {
	}
	return first, last
}

// instead returns what replaces a node.
func (e *Editor) instead(n *yaml.Node) (Tree, bool) {
	if c := e.changes[n]; c != nil && c.whole && !c.around {
		return c.value, true
	}
	return nil, false
}

func (e *Editor) change(n *yaml.Node) *change {
	c := e.changes[n]
	if c == nil {
		c = &change{added: value.NewDict()}
		e.changes[n] = c
	}
	return c
}

func (e *Editor) Fail(n source.Spanned, what string) {
	if e.err == nil {
		e.err = CannotEdit(e.file, n, what)
	}
}

func CannotEdit(file *source.File, n source.Spanned, what string) *source.Diagnostic {
	return &source.Diagnostic{Code: source.NotYet, At: source.Place{File: file, Span: n.Extent()}, Message: "hotc cannot edit this part of the template yet: " + what,
		Hint: "write it in the usual block or flow style, without aliases and merge keys"}
}

// Replace replaces a node by a tree.
func (e *Editor) Replace(n *yaml.Node, v Tree) {
	if n.Target() != nil {
		e.Fail(n, "it is an alias")
		return
	}
	c := e.change(n)
	c.whole, c.value = true, v
	text := e.Flow(v)
	if n.Span.Len() == 0 || e.underKey(n) {
		text = " " + text
	}
	e.replaced = append(e.replaced, source.Edit{Span: n.Span, New: text})
}

// underKey reports whether a node is a list directly under its key, at a column where only a
// list is allowed.
func (e *Editor) underKey(n *yaml.Node) bool {
	if n.Kind != yaml.List || n.Style != yaml.Block {
		return false
	}
	start := e.file.LineStart(n.Span.Start)
	if strings.TrimSpace(e.file.Slice(source.Span{Start: start, End: n.Span.Start})) != "" {
		return false
	}
	for start > 0 {
		start = e.file.LineStart(start - 1)
		line := strings.TrimRight(e.file.Slice(source.Span{Start: start, End: e.file.LineEnd(start)}), " \r\n")
		if text := strings.TrimLeft(line, " -?:"); text != "" && text[0] != '#' {
			return len(line)-len(text) == columnOf(e.file, yaml.Key{Span: n.Span})
		}
	}
	return false
}

// Wrap replaces an entry's value by a tree, which may contain the value itself as a verbatim.
func (e *Editor) Wrap(in *yaml.Node, entry *yaml.Entry, v Tree) {
	inner := e.changes[entry.Value]
	e.changes[entry.Value] = &change{whole: true, value: v, around: true, inner: inner, added: value.NewDict()}
	e.setValue(in, entry, v) // including replacements inside the value
	first, last := e.replacedIn(valueSpan(e.file, entry))
	e.replaced = slices.Delete(e.replaced, first, last)
	e.ordered = len(e.replaced)
}

// setValue writes a tree after an entry's colon, in the style of the map.
func (e *Editor) setValue(in *yaml.Node, entry *yaml.Entry, v Tree) {
	text := " " + e.Flow(v)
	if in.Style == yaml.Block {
		text = e.behind(entry, v)
	}
	e.inserts = append(e.inserts, source.Edit{Span: valueSpan(e.file, entry), New: text})
}

// Add appends new entries, if any, to a map.
func (e *Editor) Add(n *yaml.Node, entries *value.Dict) {
	if entries.Len() == 0 {
		return
	}
	if n.Target() != nil || n.Kind != yaml.Map {
		e.Fail(n, "it is an alias or not a map")
		return
	}
	c := e.change(n)
	c.added.SetAll(entries)
	if n.Style == yaml.Flow {
		e.addFlow(n, c.removed, entries)
		return
	}
	last := lastEntry(n, c.removed)
	if last == nil {
		e.Fail(n, "all of its keys are merged from elsewhere")
		return
	}
	column := columnOf(e.file, last.Key)
	var b strings.Builder
	b.Grow(e.usual)
	for k, v := range entries.All() {
		b.WriteString(e.nl)
		e.writeEntry(&b, k, v, column)
	}
	e.usual = b.Len()
	e.insert(lineContentEnd(e.file, endOf(last)), b.String())
}

func (e *Editor) insert(at uint32, text string) {
	e.inserts = append(e.inserts, source.Edit{Span: source.Span{Start: at, End: at}, New: text})
}

func (e *Editor) addFlow(n *yaml.Node, removed map[string]bool, entries *value.Dict) {
	parts := []string{}
	for k, v := range entries.All() {
		parts = append(parts, e.scalar(k)+": "+e.Flow(v))
	}
	text := strings.Join(parts, ", ")
	at := n.Span.Start + 1
	if last := lastEntry(n, removed); last != nil {
		at = endOf(last)
		text = ", " + text
		rest := e.file.Slice(source.Span{Start: at, End: n.Span.End - 1})
		if last.Value.Span.Len() == 0 && strings.ContainsAny(rest, "&!") && !strings.Contains(rest, ",") {
			at = n.Span.End - 1 // an anchor or tag without a value
		}
	}
	e.insert(at, text)
}

// lastEntry returns the last entry written in the map itself and not removed.
func lastEntry(n *yaml.Node, removed map[string]bool) *yaml.Entry {
	var last *yaml.Entry
	for i := range n.Entries {
		x := &n.Entries[i]
		if !x.Merged && !removed[x.Name] && (last == nil || x.Key.Span.Start > last.Key.Span.Start) {
			last = x
		}
	}
	return last
}

// lastIn returns the node that ends a node's text.
func lastIn(n *yaml.Node) *yaml.Node {
	for n.Target() == nil {
		entry := lastEntry(n, nil)
		switch {
		case len(n.Items) > 0:
			n = n.Items[len(n.Items)-1]
		case entry != nil:
			n = entry.Value
		default:
			return n
		}
	}
	return n
}

func endOf(x *yaml.Entry) uint32 { return max(x.Key.Span.End, x.Value.Span.End) }

// lineContentEnd returns where the line of an offset ends, before its line break.
func lineContentEnd(file *source.File, at uint32) uint32 {
	end := file.LineEnd(at)
	for end > at && (file.Text[end-1] == '\n' || file.Text[end-1] == '\r') {
		end--
	}
	return end
}

// Fill sets the content of an entry whose value is null or missing.
func (e *Editor) Fill(in *yaml.Node, entry *yaml.Entry, content *value.Dict) {
	n := entry.Value
	c := e.change(n)
	c.whole, c.value = true, Section{content}
	if e.json {
		e.inserts = append(e.inserts, source.Edit{Span: n.Span, New: e.Flow(content)})
		return
	}
	e.setValue(in, entry, Section{content})
}

// Remove removes an entry from a map.
func (e *Editor) Remove(n *yaml.Node, name string) {
	c := e.change(n)
	if c.removed == nil {
		c.removed = map[string]bool{}
	}
	c.removed[name] = true
	i := 0
	for n.Entries[i].Name != name {
		i++
	}
	x := &n.Entries[i]
	if n.Style == yaml.Flow {
		e.removes = append(e.removes, source.Edit{Span: e.flowEntry(n, i)})
		return
	}
	start := e.file.LineStart(x.Key.Span.Start)
	if strings.TrimLeft(string(e.file.Text[start:keyStart(e.file, x.Key)]), " ?") != "" {
		e.Fail(x.Key, "the key does not begin its line")
		return
	}
	e.removes = append(e.removes, source.Edit{Span: source.Span{Start: start, End: e.file.LineEnd(endOf(x))}})
}

// flowEntry returns the span of a flow map's entry with one adjacent comma.
func (e *Editor) flowEntry(n *yaml.Node, i int) source.Span {
	switch {
	case len(n.Entries) == 1:
		return source.Span{Start: n.Span.Start + 1, End: n.Span.End - 1}
	case i+1 < len(n.Entries):
		return source.Span{Start: keyStart(e.file, n.Entries[i].Key), End: keyStart(e.file, n.Entries[i+1].Key)}
	}
	return source.Span{Start: endOf(&n.Entries[i-1]), End: endOf(&n.Entries[i])}
}

// Apply applies the edits and compares the result with what was intended. Insertions inside a
// removed piece move in front of it.
func (e *Editor) Apply() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
	}
	removes := slices.Clone(e.removes)
	slices.SortFunc(removes, func(a, b source.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	edits := make([]source.Edit, 0, len(removes)+len(e.inserts)+len(e.replaced))
	for _, in := range append(slices.Clip(e.replaced), e.inserts...) {
		i := sort.Search(len(removes), func(i int) bool { return removes[i].Span.End >= in.Span.Start })
		if in.Span.Len() == 0 && i < len(removes) && removes[i].Span.Start < in.Span.Start {
			at := e.before(removes[i].Span.Start)
			in.Span = source.Span{Start: at, End: at}
		}
		edits = append(edits, in)
	}
	edits = append(edits, e.ended(append(edits, removes...))...)
	text, err := source.Apply(e.file.Text, outermost(append(edits, removes...)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.file.Name, err)
	}
	return text, e.verify(text)
}

// outermost drops the edits inside a removed range: what is kept of that range is written
// elsewhere.
func outermost(edits []source.Edit) []source.Edit {
	slices.SortStableFunc(edits, func(a, b source.Edit) int {
		if a.Span.Len() == 0 || b.Span.Len() == 0 { // an insertion comes before what starts there
			return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(min(1, a.Span.Len()), min(1, b.Span.Len())))
		}
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(b.Span.End, a.Span.End))
	})
	out, end := edits[:0], uint32(0)
	for _, x := range edits {
		if last := len(out) - 1; x.Span.Len() > 0 && last >= 0 && out[last].Span == x.Span {
			out[last] = x // the last replacement of a node wins
			continue
		}
		if x.Span.Len() == 0 && x.Span.Start < end || x.Span.Len() > 0 && x.Span.End <= end {
			continue
		}
		out, end = append(out, x), max(end, x.Span.End)
	}
	return out
}

// ended prepares the end of the text for additions: a block scalar that ends there without a
// line break would otherwise gain one.
func (e *Editor) ended(edits []source.Edit) []source.Edit {
	header, is := unended(e.file, lastIn(e.root))
	if !is {
		return nil
	}
	follows := false
	for _, x := range edits {
		if x.Span.Len() > 0 && x.Span.Contains(header.Span) {
			return nil // it is removed, or written elsewhere
		}
		follows = follows || x.Span.Len() == 0 && int(x.Span.Start) == len(e.file.Text)
	}
	if !follows {
		return nil
	}
	return []source.Edit{header}
}

// before returns the end of the line above a removed one.
func (e *Editor) before(lineStart uint32) uint32 {
	if lineStart == 0 || e.file.Text[lineStart-1] != '\n' {
		return lineStart
	}
	at := lineStart - 1
	if at > 0 && e.file.Text[at-1] == '\r' {
		at--
	}
	return at
}

// Prepend inserts items at the start of a list.
func (e *Editor) Prepend(c *yaml.Node, items []value.Value, pin *value.Dict) {
	if c.Target() != nil || c.Kind != yaml.List || len(c.Items) == 0 {
		e.Fail(c, "it is not a list written here")
		return
	}
	change := e.change(c)
	change.whole, change.value = true, items
	first := c.Items[0].Span.Start
	text := e.Flow(pin) + ", "
	if c.Style == yaml.Block {
		line := string(e.file.Text[e.file.LineStart(c.Span.Start):c.Span.Start])
		if strings.TrimSpace(line) != "" {
			e.Fail(c, "it does not begin its line")
			return
		}
		text = "- " + e.Flow(pin) + e.nl + line
		first = c.Span.Start
	}
	e.insert(first, text)
}

// AddTo adds entries to a section, creating it if missing, before another section.
func (e *Editor) AddTo(name, before string, added *value.Dict) {
	root := e.root
	entry := root.Entry(name)
	switch {
	case entry != nil && !entry.Value.IsNull():
		e.Add(entry.Value, added)
	case entry != nil:
		e.Fill(root, entry, added)
	case root.Style == yaml.Flow, root.Entry(before) == nil: // at the end in that case
		e.Add(root, Dict(name, Section{added}))
	default:
		e.change(root).added.Set(name, Section{added})
		key := root.Entry(before).Key
		e.insert(lineBegin(e.file, key.Span.Start), e.entry(name, Section{added}, columnOf(e.file, key))+e.nl)
	}
}
