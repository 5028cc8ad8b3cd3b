package yaml

import (
	"bytes"
	"regexp"
	"strings"
)

// Three things that Heat's YAML library accepts and ours does not: "\/" in a quoted
// scalar, as in JSON; a question mark in a plain scalar within brackets, as in URLs;
// and a line `%YAML 1.2`. A text that does not parse is parsed again with replacements
// of the same length, so that all offsets stay correct.

var (
	laterYAML = regexp.MustCompile(`\A(?:#[^\n]*\n|\s)*%YAML 1\.[02-9]\s`)
	innerMark = regexp.MustCompile(`[A-Za-z0-9_/.=&]\?`)
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
