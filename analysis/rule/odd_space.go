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

var oddSpace = Rule{Code: source.OddSpace, Category: Reading, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findOddSpaces}

// oddSpaces look like spaces, or are invisible, but are letters to YAML and to a shell.
var oddSpaces = map[rune]string{'\u00a0': "a non-breaking space", '\u2007': "a figure space", '\u202f': "a narrow non-breaking space", '\u3000': "an ideographic space",
	'\u200b': "a zero-width space", '\u200c': "a zero-width joiner", '\u200d': "a zero-width joiner", '\u2060': "a zero-width joiner", '\ufeff': "a byte order mark"}

// forHumans are entries that only humans read.
var forHumans = []string{"description", "label", "Description"}

// findOddSpaces finds odd spaces in keys, and in strings that machines read: the first in
// each.
func findOddSpaces(l *Checker) {
	text := l.Template.File.Text
	if !slices.ContainsFunc([]string{"\u00a0", "\u2007", "\u202f", "\u3000", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"}, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
		return
	}
	l.oddSpacesIn(l.Template.Root)
}

func (l *Checker) oddSpacesIn(n *yaml.Node) {
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
		if _, isText := e.Value.Text(); !isText || !slices.Contains(forHumans, e.Name) {
			l.oddSpacesIn(e.Value)
		}
	}
}

// oddSpace reports the first one in a part of the text.
func (l *Checker) oddSpace(span source.Span, what string) {
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
	d := l.Report(at, fmt.Sprintf("%s (U+%04X)%s: to Heat and to a shell it is an ordinary letter", oddSpaces[r], r, what), "replace it by a space, or remove it")
	if r == '\u00a0' {
		d.Fix = &source.Fix{Does: "replace it by a space", Unsafe: true, Edits: []source.Edit{{Span: at, New: " "}}}
	}
}
