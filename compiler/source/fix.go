package source

import (
	"fmt"
	"regexp"
)

// Fix is a change of the text that resolves a diagnostic.
type Fix struct {
	// Does is what it does, in the imperative: `remove "a"`.
	Does string
	// Unsafe says that it is a guess, which may change the meaning.
	Unsafe bool
	// Parameters are those that it removes or reads otherwise: it is wrong where another file sets one.
	Parameters []string
	// Edits are of the diagnostic's file.
	Edits []Edit
}

// word matches the names in a text.
var word = regexp.MustCompile(`[^\s"'{}\[\],:#&*!|>]+(:+[^\s"'{}\[\],:#&*!|>]+)*`)

// Meant adds the hint that name probably misspells near, and the fix if name occurs exactly
// once at the diagnostic's position.
func (d *Diagnostic) Meant(name, near string) {
	if near == "" {
		return
	}
	d.Hint = fmt.Sprintf("did you mean %q?", near)
	if d.At.File == nil || d.At.Span.End > uint32(len(d.At.File.Text)) {
		return
	}
	if word.FindString(near) != near || word.FindString(name) != name {
		return // it would have to be quoted
	}
	var edits []Edit
	for _, at := range word.FindAllStringIndex(d.At.File.Slice(d.At.Span), -1) {
		span := Span{d.At.Span.Start + uint32(at[0]), d.At.Span.Start + uint32(at[1])}
		if d.At.File.Slice(span) == name {
			edits = append(edits, Edit{span, near})
		}
	}
	if len(edits) == 1 {
		d.Fix = &Fix{Does: fmt.Sprintf("write %q", near), Unsafe: true, Edits: edits}
	}
}
