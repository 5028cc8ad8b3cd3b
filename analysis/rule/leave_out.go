package rule

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// without is the fix that takes an entry of a block out, with its line; nil where something
// else stands in the line.
func (l *Look) without(e *yaml.Entry) *source.Fix {
	file := l.Template.File
	start, end := file.LineStart(e.Key.Span.Start), file.LineEnd(e.Value.Span.End)
	before, behind := file.Slice(source.Span{Start: start, End: e.Key.Span.Start}), file.Slice(source.Span{Start: e.Value.Span.End, End: end})
	if strings.TrimSpace(before) != "" || strings.TrimSpace(behind) != "" || e.Merged || e.Value.Target() != nil {
		return nil
	}
	return &source.Fix{Does: "leave it out", Edits: []source.Edit{{Span: source.Span{Start: start, End: end}}}}
}

// withoutItem is the fix that takes an item out of a list in which others stay.
func (l *Look) withoutItem(list *yaml.Node, i int) *source.Fix {
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
	return &source.Fix{Does: "leave it out", Edits: []source.Edit{{Span: out}}}
}

// perhapsWithout is without for an entry of a section, where perhaps something else was to
// be mended. The last one goes with its section, which may not be empty.
func (l *Look) perhapsWithout(e *yaml.Entry, section string) *source.Fix {
	if around := l.Template.Root.Entry(section); around != nil && len(around.Value.Entries) == 1 {
		e = around
	}
	fix := l.without(e)
	if fix != nil {
		fix.Unsafe = true
		fix.Edits[0].Span = l.withComments(fix.Edits[0].Span)
	}
	return fix
}

// withComments is the lines of an entry with the comments above it, if these are its own: not
// where the next entry follows at once and has none, which they may be about as well.
func (l *Look) withComments(lines source.Span) source.Span {
	file := l.Template.File
	line := func(from uint32) string { return file.Slice(source.Span{Start: from, End: file.LineEnd(from)}) }
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	own, next := indent(line(lines.Start)), line(lines.End)
	if word := strings.TrimSpace(next); word != "" && !strings.HasPrefix(word, "#") && indent(next) >= own {
		return lines
	}
	for lines.Start > 0 {
		above := file.LineStart(lines.Start - 1)
		if indent(line(above)) != own || !strings.HasPrefix(strings.TrimSpace(line(above)), "#") {
			break
		}
		lines.Start = above
	}
	return lines
}
