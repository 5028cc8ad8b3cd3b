package edit

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// A Tree is content to write: a hot.Value in which a verbatim represents a piece of the user's
// own text, and a Section a map with one line per key.
type Tree = value.Value

// verbatim is a node of the user's text that moves as it is.
type verbatim struct {
	entry *yaml.Entry // the entry whose value it is
	bare  bool        // without the comments and anchor before the value
}

// Section is a map that is written in block style where the surrounding text is.
type Section struct{ *value.Dict }

// Verbatim is an entry's value as the user wrote it.
func Verbatim(e *yaml.Entry) Tree { return verbatim{entry: e} }

// Plain returns a tree that fits on one line, where a piece of the user's text may not.
func (w *writer) Plain(v Tree) Tree {
	if x, is := v.(verbatim); is {
		return w.Content(nil, x.entry.Value, false)
	}
	return v
}

// Text writes an entry of a text that hotc generates.
func Text(key string, v Tree) string { return (&writer{nl: "\n"}).entry(key, v, 0) }

// Dict creates a map from names and values.
func Dict(pairs ...any) *value.Dict {
	keys, values := make([]string, len(pairs)/2), make([]value.Value, len(pairs)/2)
	for i := range keys {
		keys[i], values[i] = pairs[2*i].(string), pairs[2*i+1]
	}
	return value.DictOf(keys, values)
}

// writer writes trees in the style of the surrounding text.
type writer struct {
	file *source.File
	json bool
	nl   string
	// moved returns the edits of a piece of text that is written elsewhere, changed a node's
	// replacement; nil where nothing is edited.
	moved   func(source.Span) []source.Edit
	changed func(*yaml.Node) (Tree, bool)
}

// slice returns a piece of the user's text with its edits applied.
func (w *writer) slice(span source.Span) string {
	if w.moved == nil {
		return w.file.Slice(span)
	}
	edits := w.moved(span)
	if len(edits) == 0 {
		return w.file.Slice(span)
	}
	text, err := source.Apply([]byte(w.file.Slice(span)), edits)
	if err != nil {
		return w.file.Slice(span) // verification reports the mismatch
	}
	return string(text)
}

// entry writes KEY: VALUE for a block map whose keys start at a column.
func (w *writer) entry(key string, v Tree, column int) string {
	var b strings.Builder
	w.writeEntry(&b, key, v, column)
	return b.String()
}

// behind returns what follows an entry's colon once its value is replaced.
func (w *writer) behind(entry *yaml.Entry, v Tree) string {
	column := columnOf(w.file, entry.Key)
	return w.entry(entry.Name, v, column)[column+len(yaml.FlowString(entry.Name))+1:]
}

// columnOf returns the column of a block map's keys, one of which this is.
func columnOf(f *source.File, key yaml.Key) int {
	start := keyStart(f, key)
	return int(start - lineBegin(f, start))
}

// lineBegin returns where the text of a line begins: on the first line, after a byte order mark.
func lineBegin(f *source.File, at uint32) uint32 {
	begin := f.LineStart(at)
	if begin == 0 && bytes.HasPrefix(f.Text, []byte("\ufeff")) {
		return min(at, uint32(len("\ufeff")))
	}
	return begin
}

// keyStart returns where an entry begins: with an anchor, a tag, or the `?` of `? key`.
func keyStart(f *source.File, key yaml.Key) uint32 {
	start := f.LineStart(key.Span.Start)
	before := f.Slice(source.Span{Start: start, End: key.Span.Start})
	if marks := keyMarks.FindStringSubmatchIndex(before); marks != nil {
		return start + uint32(marks[2])
	}
	return key.Span.Start
}

// keyMarks are what may precede a key on its line.
var keyMarks = regexp.MustCompile(`(?:^|[ {,-])((?:\? *)?(?:[&!][^ ,\[\]{}]* +)*)$`)

func (w *writer) writeEntry(b *strings.Builder, key string, v Tree, column int) {
	for range column {
		b.WriteByte(' ')
	}
	b.WriteString(yaml.FlowString(key))
	b.WriteByte(':')
	switch v := v.(type) {
	case Section:
		for k, x := range v.All() {
			b.WriteString(w.nl)
			w.writeEntry(b, k, x, column+2)
		}
		return
	case verbatim:
		b.WriteString(w.shifted(v, column))
		return
	}
	b.WriteByte(' ')
	if name, ok := v.(string); ok && !w.json && typeName.MatchString(name) {
		b.WriteString(name)
		return
	}
	w.writeFlow(b, v)
}

// typeName is the name of a resource type, which is always written plain.
var typeName = regexp.MustCompile(`^[A-Za-z]+(::[A-Za-z]+)+$`)

// Flow writes a tree on one line.
func (w *writer) Flow(v Tree) string {
	var b strings.Builder
	w.writeFlow(&b, v)
	return b.String()
}

func (w *writer) writeFlow(b *strings.Builder, v Tree) {
	switch v := v.(type) {
	case Section:
		w.writeFlow(b, v.Dict)
	case verbatim:
		b.WriteString(strings.TrimSpace(w.slice(valueSpan(w.file, v.entry))))
	case *value.Dict:
		b.WriteByte('{')
		for i, k := range v.Keys() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(w.scalar(k))
			b.WriteString(": ")
			x, _ := v.Get(k)
			w.writeFlow(b, x)
		}
		b.WriteByte('}')
	case []value.Value:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			w.writeFlow(b, x)
		}
		b.WriteByte(']')
	case *yaml.Node:
		b.Write(w.file.Text[v.Span.Start:v.Span.End])
	default:
		b.WriteString(w.scalar(v))
	}
}

func (w *writer) scalar(v value.Value) string {
	text, isText := v.(string)
	switch {
	case w.json:
		return string(value.EncodeJSON(v))
	case isText:
		return yaml.FlowString(text)
	}
	return yaml.FlowText(v)
}

// shifted returns the text of a value, from after its colon, re-indented for a key at another
// column.
func (w *writer) shifted(v verbatim, column int) string {
	text := ""
	if v.bare {
		text = " " + w.slice(v.entry.Value.Span)
	} else {
		text = w.slice(valueSpan(w.file, v.entry))
	}
	last := lastIn(v.entry.Value)
	if header, is := unended(w.file, last); is {
		if before, is := strings.CutSuffix(text, w.file.Slice(last.Span)); is {
			text = before + header.New + text[len(before)+header.Span.Len():]
		}
	}
	old := columnOf(w.file, v.entry.Key)
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		if i == 0 || strings.Trim(lines[i], "\r\n") == "" {
			continue
		}
		if column >= old {
			lines[i] = strings.Repeat(" ", column-old) + lines[i]
		} else {
			white := len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
			lines[i] = lines[i][min(old-column, white):]
		}
	}
	return strings.Join(lines, "")
}

// unended reports whether a block scalar ends the file without a line break: if something
// follows, its header has to say so.
func unended(f *source.File, n *yaml.Node) (header source.Edit, is bool) {
	value, _ := n.Value.(string)
	if n.Style != yaml.Literal && n.Style != yaml.Folded || int(n.Span.End) != len(f.Text) || strings.HasSuffix(value, "\n") {
		return source.Edit{}, false
	}
	old := blockHeader.FindString(f.Slice(n.Span))
	if old == "" || strings.Contains(old, "-") || value == "" && !strings.Contains(old, "+") {
		return source.Edit{}, false
	}
	return source.Edit{Span: source.Span{Start: n.Span.Start, End: n.Span.Start + uint32(len(old))}, New: strings.ReplaceAll(old, "+", "") + "-"}, true
}

// blockHeader is the header of a block scalar.
var blockHeader = regexp.MustCompile(`^[|>][0-9+-]*`)

// Content is a node's content, to be written elsewhere: without anchors and aliases, with
// scalars as written where possible.
func (w *writer) Content(e *yaml.Entry, n *yaml.Node, block bool) Tree {
	if w.changed != nil {
		if v, is := w.changed(anchoredNode(n)); is {
			return v
		}
	}
	switch n.Kind {
	case yaml.List:
		list := make([]value.Value, len(n.Items))
		for i, x := range n.Items {
			list[i] = w.Content(nil, x, false)
		}
		return list
	case yaml.Map:
		block = block && n.Style == yaml.Block && len(n.Entries) > 0
		d := value.NewDict()
		for i := range n.Entries {
			x := &n.Entries[i]
			d.Set(x.Name, w.Content(x, x.Value, block))
		}
		if block {
			return Section{d}
		}
		return d
	}
	return w.scalarContent(e, n, block)
}

func (w *writer) scalarContent(e *yaml.Entry, n *yaml.Node, block bool) Tree {
	n = anchoredNode(n)
	text := w.file.Slice(n.Span)
	switch n.Style {
	case yaml.Literal, yaml.Folded:
		if block && e != nil && e.Value == n {
			return verbatim{entry: e, bare: true}
		}
	case yaml.SingleQuoted, yaml.DoubleQuoted:
		if !strings.Contains(text, "\n") {
			return n
		}
	default:
		if block && text != "" && !strings.Contains(text, "\n") {
			return n
		}
	}
	return n.Value
}

// valueSpan covers an entry's value and what precedes it after the colon: white space, an
// anchor, a tag, comments.
func valueSpan(f *source.File, e *yaml.Entry) source.Span {
	return source.Span{Start: behindColon(f, e), End: max(e.Value.Span.End, behindColon(f, e))}
}

func behindColon(f *source.File, e *yaml.Entry) uint32 {
	at := e.Key.Span.End
	for int(at) < len(f.Text) && f.Text[at] != ':' {
		at++
	}
	return min(at+1, uint32(len(f.Text)))
}
