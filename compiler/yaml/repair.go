package yaml

import (
	"bytes"
	"regexp"
	"strings"
)

// Three things that Heat's YAML library takes and ours does not: "\/" in a quoted
// text, as JSON has it; a question mark in a plain text between brackets, as URLs
// have it; and a line `%YAML 1.2`. Where the text does not parse it is parsed once
// more with something of the same length in their place, so that every offset
// stays right.

var (
	laterYAML = regexp.MustCompile(`\A(?:#[^\n]*\n|\s)*%YAML 1\.[02-9]\s`)
	innerMark = regexp.MustCompile(`[A-Za-z0-9_/.=&]\?`)
	// Escapes that could make a character which stands for another one.
	aTab     = regexp.MustCompile(`\\v|\\x0[bB]|\\u000[bB]|\\U0000000[bB]`)
	byNumber = regexp.MustCompile(`\\[xuU]`)
)

// repair is what was put in the place of something else.
type repair struct {
	slashes bool
	mark    byte // for the question mark; 0 if it was left alone
}

// repaired is the text with replacements, nil if there is nothing to replace.
func repaired(text []byte) ([]byte, repair) {
	out, done := bytes.Clone(text), repair{}
	changed := false
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
	if free := bytes.IndexFunc([]byte("^;=$~"), func(r rune) bool { return !bytes.ContainsRune(text, r) }); free >= 0 && innerMark.Match(out) && !byNumber.Match(text) {
		done.mark = "^;=$~"[free]
		for _, at := range innerMark.FindAllIndex(out, -1) {
			out[at[1]-1] = done.mark
		}
	}
	if !changed && done == (repair{}) {
		return nil, done
	}
	return out, done
}

// undo gives the scalar that stands in the original text.
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
