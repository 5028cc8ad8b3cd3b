package rule

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var oddSpace = Rule{Code: source.OddSpace, Category: Reading, Severity: source.Warning, Truth: TextShows, LintOnly: true, Template: findOddSpaces}

// oddSpaces look like spaces, or like nothing, and are neither to YAML nor to a shell.
var oddSpaces = map[rune]string{'\u00a0': "a non-breaking space", '\u2007': "a figure space", '\u202f': "a narrow non-breaking space", '\u3000': "an ideographic space",
	'\u200b': "a space of no width", '\u200c': "a joiner of no width", '\u200d': "a joiner of no width", '\u2060': "a joiner of no width", '\ufeff': "a byte order mark"}

// forPeople are entries that only people read.
var forPeople = []string{"description", "label", "Description"}

// findOddSpaces finds characters that nobody can see in keys, and in texts that machines
// read: the first of each.
func findOddSpaces(l *Look) {
	text := l.Template.File.Text
	if !slices.ContainsFunc([]string{"\u00a0", "\u2007", "\u202f", "\u3000", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"}, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
		return
	}
	l.oddSpacesIn(l.Template.Root)
}

func (l *Look) oddSpacesIn(n *yaml.Node) {
	if n.Target() != nil {
		return
	}
	if _, isText := n.Value.(string); isText && n.Kind == yaml.Scalar {
		l.oddSpace(n.Span, "")
	}
	for _, x := range n.Items {
		l.oddSpacesIn(x)
	}
	for _, e := range n.Entries {
		if e.Merged {
			continue
		}
		l.oddSpace(e.Key.Span, "the key ")
		if _, isText := e.Value.Text(); !isText || !slices.Contains(forPeople, e.Name) {
			l.oddSpacesIn(e.Value)
		}
	}
}

// oddSpace tells of the first one in a part of the text.
func (l *Look) oddSpace(span source.Span, what string) {
	part := l.Template.File.Slice(span)
	i := strings.IndexFunc(part, func(r rune) bool { return oddSpaces[r] != "" })
	if i < 0 {
		return
	}
	r, size := utf8.DecodeRuneInString(part[i:])
	at := source.Span{Start: span.Start + uint32(i), End: span.Start + uint32(i+size)}
	if what != "" {
		what = fmt.Sprintf(" in %s%q", what, part)
	}
	d := l.Found(at, fmt.Sprintf("here is %s (U+%04X)%s: to Heat, and to a shell, it is a letter like any other", oddSpaces[r], r, what), "write a space, or nothing")
	if r == '\u00a0' {
		d.Fix = &source.Fix{Does: "write a space", Unsafe: true, Edits: []source.Edit{{Span: at, New: " "}}}
	}
}
