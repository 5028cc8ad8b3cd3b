package yaml

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Scalars of a YAML text: their style, extent and value.

func (p *parser) scalar(y *yaml.Node, n *Node, indent int, bare bool) {
	isKey := p.key
	p.key = false
	text := p.file.Text
	switch {
	case y.Style&yaml.DoubleQuotedStyle != 0:
		n.Style = DoubleQuoted
		n.Span.End = endOfDoubleQuoted(text, n.Span.Start)
		if escapesApostrophe(text[n.Span.Start:n.Span.End]) {
			p.fail(y, source.NotYAML, `\' is not a valid escape in YAML`, "remove the backslash: apostrophes need none in double quotes")
		}
	case y.Style&yaml.SingleQuotedStyle != 0:
		n.Style = SingleQuoted
		n.Span.End = endOfSingleQuoted(text, n.Span.Start)
	case y.Style&yaml.LiteralStyle != 0:
		n.Style = Literal
		n.Span.End = endOfBlockScalar(text, n.Span.Start, indent)
	case y.Style&yaml.FoldedStyle != 0:
		n.Style = Folded
		n.Span.End = endOfBlockScalar(text, n.Span.Start, indent)
	default:
		n.Span.End = endOfPlain(text, n.Span.Start, y.Value)
		if p.flow > 0 && strings.HasSuffix(y.Value, ":") && int(n.Span.End) < len(text) && strings.IndexByte(",?[]{}", text[n.Span.End]) >= 0 {
			p.fail(y, source.NotYAML, "a colon is not allowed directly before a bracket or comma", "add a space after the colon, or quote the string")
		}
	}
	if p.repair != (repair{}) {
		y.Value = p.repair.undo(y.Value, n.Style)
	}
	switch {
	case y.Style&yaml.TaggedStyle != 0:
		p.tagged(y, n)
	case bare && y.Value == "" && n.Style == Plain:
		n.Value = ""
	case n.Style == Plain || bare:
		p.plain(y, n, isKey)
	default:
		n.Value = y.Value
	}
}

// escapesApostrophe finds an escape that only our YAML library accepts.
func escapesApostrophe(quoted []byte) bool {
	if !bytes.Contains(quoted, []byte(`\'`)) {
		return false
	}
	for i := 0; i+1 < len(quoted); i++ {
		if quoted[i] == '\\' {
			if i++; quoted[i] == '\'' {
				return true
			}
		}
	}
	return false
}

// plain resolves a scalar without quotes or tag.
func (p *parser) plain(y *yaml.Node, n *Node, isKey bool) {
	v, ok := resolvePlain(y.Value)
	switch {
	case tooLong(v):
		p.fail(y, source.NotYAML, fmt.Sprintf("a number of more than %d digits", value.LongestNumber), "quote it")
	case !ok && y.Value == "=" && isKey:
	case !ok:
		p.fail(y, source.BadTag, "Heat refuses the plain scalar "+y.Value, "quote it")
	case y.Value == "<<" && !isKey:
		p.fail(y, source.BadTag, "<< is a merge key, not a value", "quote it")
	}
	n.Value = v
}

// hasBareTag reports whether there is the tag "!".
func hasBareTag(properties []byte) bool {
	return slices.ContainsFunc(bytes.Fields(properties), func(word []byte) bool { return string(word) == "!" })
}
