package rule

import (
	"iter"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// removeEntry is the fix that removes an entry of a block, with its line; nil where the line
// contains something else.
func (l *Checker) removeEntry(e *yaml.Entry) *source.Fix {
	file := l.Template.File
	start, end := file.LineStart(e.Key.Span.Start), file.LineEnd(e.Value.Span.End)
	before, behind := file.Slice(source.Span{Start: start, End: e.Key.Span.Start}), file.Slice(source.Span{Start: e.Value.Span.End, End: end})
	if strings.TrimSpace(before) != "" || strings.TrimSpace(behind) != "" || e.Merged || e.Value.Target() != nil {
		return nil
	}
	return &source.Fix{Does: "remove it", Edits: []source.Edit{{Span: source.Span{Start: start, End: end}}}}
}

// removeItem is the fix that removes an item from a list in which others stay.
func (l *Checker) removeItem(list *yaml.Node, i int) *source.Fix {
	file, item := l.Template.File, list.Items[i]
	if item.Target() != nil || list.Target() != nil {
		return nil
	}
	out := source.Span{Start: item.Start, End: item.End}
	switch {
	case list.Style != yaml.Flow:
		out = source.Span{Start: file.LineStart(item.Start), End: file.LineEnd(item.End)}
		before, behind := file.Slice(source.Span{Start: out.Start, End: item.Start}), file.Slice(source.Span{Start: item.End, End: out.End})
		if strings.TrimSpace(before) != "-" || strings.TrimSpace(behind) != "" {
			return nil
		}
	case i > 0:
		out.Start = list.Items[i-1].End
	default:
		out.End = list.Items[1].Start
	}
	return &source.Fix{Does: "remove it", Edits: []source.Edit{{Span: out}}}
}

// unsafeRemove is an unsafe removeEntry for an entry of a section, where the mistake may be
// elsewhere. The last entry is removed with its section, which must not be empty. One with comments
// is left to its author: they may say why it is there.
func (l *Checker) unsafeRemove(e *yaml.Entry, section string) *source.Fix {
	if around := l.Template.Root.Entry(section); around != nil && len(around.Value.Entries) == 1 {
		e = around
	}
	fix := l.removeEntry(e)
	if fix == nil || l.hasComments(e, fix.Edits[0].Span) {
		return nil
	}
	fix.Unsafe = true
	return fix
}

// hasComments reports whether the lines of an entry contain a comment, or have their own above them:
// not if the next entry follows at once without comments, as they may describe that as well.
func (l *Checker) hasComments(e *yaml.Entry, lines source.Span) bool {
	file := l.Template.File
	line := func(from uint32) string { return file.Slice(source.Span{Start: from, End: file.LineEnd(from)}) }
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	at := lines.Start
	for text := range scalars(e) { // a comment is between these
		if at < text.Start && strings.Contains(file.Slice(source.Span{Start: at, End: text.Start}), "#") {
			return true
		}
		at = max(at, text.End)
	}
	if at < lines.End && strings.Contains(file.Slice(source.Span{Start: at, End: lines.End}), "#") {
		return true
	}
	own, next := indent(line(lines.Start)), line(lines.End)
	if word := strings.TrimSpace(next); word != "" && !strings.HasPrefix(word, "#") && indent(next) >= own {
		return false
	}
	above := ""
	if lines.Start > 0 {
		above = line(file.LineStart(lines.Start - 1))
	}
	return indent(above) == own && strings.HasPrefix(strings.TrimSpace(above), "#")
}

// scalars are the spans of an entry's scalars, in their order.
func scalars(e *yaml.Entry) iter.Seq[source.Span] {
	return func(yield func(source.Span) bool) {
		var walk func(n *yaml.Node) bool
		walk = func(n *yaml.Node) bool {
			if n.Kind == yaml.Scalar {
				return yield(n.Span)
			}
			for i := range n.Entries {
				if !yield(n.Entries[i].Key.Span) || !walk(n.Entries[i].Value) {
					return false
				}
			}
			return !slices.ContainsFunc(n.Items, func(x *yaml.Node) bool { return !walk(x) })
		}
		_ = yield(e.Key.Span) && walk(e.Value)
	}
}
