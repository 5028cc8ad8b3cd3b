package yaml

import (
	"bytes"
	"regexp"

	"github.com/hotc-dev/hotc/compiler/source"
)

// anchorMark matches a possible anchor, which aliases elsewhere may use.
var anchorMark = regexp.MustCompile(`(^|[\s\[{,])&[^\s]`)

// without is the fix that removes an entry overridden by a later duplicate; nil if its text
// cannot be removed separately.
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
	case len(bytes.TrimLeft(text[line:start], " ")) == 0: // at the start of its line
		start, end = line, p.file.LineEnd(end)
	default:
		return nil
	}
	return &source.Fix{Does: "remove the ignored one", Edits: []source.Edit{{Span: source.Span{Start: start, End: end}}}}
}
