package yaml

import (
	"bytes"
	"regexp"

	"github.com/hotc-dev/hotc/compiler/source"
)

// anchorMark finds what may be an anchor, to which aliases elsewhere lead.
var anchorMark = regexp.MustCompile(`(^|[\s\[{,])&[^\s]`)

// without is the fix that removes an entry which another one of its name, further down,
// takes the place of; nil where its text cannot go by itself.
func (p *parser) without(e *Entry) *source.Fix {
	text := p.file.Text
	start, end := e.Key.Span.Start, max(e.Key.Span.End, e.Value.Span.End)
	if e.Value.Target() != nil || anchorMark.Match(text[start:end]) {
		return nil
	}
	line := p.file.LineStart(start)
	switch rest := bytes.TrimLeft(text[end:], " \t"); {
	case bytes.HasPrefix(rest, []byte(",")): // in braces
		end = uint32(len(text) - len(bytes.TrimLeft(rest[1:], " ")))
	case len(bytes.TrimLeft(text[line:start], " ")) == 0: // it begins its line
		start, end = line, p.file.LineEnd(end)
	default:
		return nil
	}
	return &source.Fix{Does: "remove the one that is lost", Edits: []source.Edit{{Span: source.Span{Start: start, End: end}}}}
}
