package yaml

import (
	"bytes"
	"regexp"
	"strings"
)

// Three things that Heat's YAML library accepts and ours does not: "\/" in a quoted
// scalar, as in JSON; a question mark in a plain scalar within brackets, as in URLs;
// and a line `%YAML 1.2`. And Heat's client strips white space from a template's beginning. A text
// that does not parse is parsed again with replacements of the same length, so that all offsets
// stay correct.

var (
	laterYAML = regexp.MustCompile(`\A(?:#[^\n]*\n|\s)*%YAML 1\.[02-9]\s`)
	innerMark = regexp.MustCompile(`[A-Za-z0-9_/.=&]\?`)
	// A question mark after white space begins a key, unless it goes on with a plain scalar within brackets.
	laterMark = regexp.MustCompile(`[\s,\[{][^\s,\[\]{}:?#!&*"'|>%@-](?:[^\s,\[\]{}]*[^\s,\[\]{}:])?\s+\?`)
	// Escapes that could produce one of the replacement characters.
	aTab     = regexp.MustCompile(`\\v|\\x0[bB]|\\u000[bB]|\\U0000000[bB]`)
	byNumber = regexp.MustCompile(`\\[xuU]`)
)

// repair describes the replacements.
type repair struct {
	slashes bool
	mark    byte // for the question mark; 0 if not replaced
}

// repaired is the text with replacements, nil if there is nothing to replace.
func repaired(text []byte, stripped bool) ([]byte, repair) {
	out, done := bytes.Clone(text), repair{}
	changed := false
	for i := len(out) - len(bytes.TrimLeft(out, " \t\r\n")) - 1; stripped && i >= 0 && out[i] != '\n'; i-- {
		out[i], changed = '\n', true
	}
	if at := laterYAML.FindIndex(out); at != nil {
		out[at[1]-2] = '1'
		changed = true
	}
	if bytes.Contains(out, []byte(`\/`)) && !aTab.Match(text) {
		done.slashes = true
		for i := 0; i+1 < len(out); i++ {
			if out[i] != '\\' {
				continue
			}
			if out[i+1] == '/' {
				out[i+1] = 'v'
			}
			i++
		}
	}
	marks := innerMark.FindAllIndex(out, -1)
	for _, at := range laterMark.FindAllIndex(out, -1) {
		if opened(out[:at[0]+1]) {
			marks = append(marks, at)
		}
	}
	if free := bytes.IndexFunc([]byte("^;=$~"), func(r rune) bool { return !bytes.ContainsRune(text, r) }); free >= 0 && len(marks) > 0 && !byNumber.Match(text) {
		done.mark = "^;=$~"[free]
		for _, at := range marks {
			out[at[1]-1] = done.mark
		}
	}
	if !changed && done == (repair{}) {
		return nil, done
	}
	return out, done
}

// opened reports whether a text ends within brackets, as far as one can tell without reading it.
func opened(text []byte) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return depth > 0
}

// undo restores the original scalar.
func (r repair) undo(value string, style Style) string {
	if r.mark != 0 {
		value = strings.ReplaceAll(value, string(r.mark), "?")
	}
	switch {
	case !r.slashes:
	case style == DoubleQuoted:
		value = strings.ReplaceAll(value, "\v", "/")
	default:
		value = strings.ReplaceAll(value, `\v`, `\/`)
	}
	return value
}
