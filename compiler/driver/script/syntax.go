package script

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// SyntaxError returns the syntax error of a script with a shell's first line, and its offset;
// "" if there is none, and for scripts in other languages and very large ones.
func SyntaxError(text string) (message string, at uint32) {
	if !strings.HasPrefix(text, "#!") || len(text) > largest {
		return "", 0
	}
	for i, dialect := range dialectsOf(text) {
		_, err := parseText(text, dialect)
		var beyond *beyondError
		if err == nil || errors.As(err, &beyond) {
			return "", 0
		}
		if m, place := saying(err); i == 0 {
			message, at = m, place
		}
	}
	return message, at
}

// saying returns the parser's message and its offset.
func saying(err error) (message string, at uint32) {
	var wrong syntax.ParseError
	var other syntax.LangError
	switch {
	case errors.As(err, &wrong):
		return wrong.Text, uint32(wrong.Pos.Offset())
	case errors.As(err, &other):
		other.Filename = ""
		return strings.TrimPrefix(other.Error(), other.Pos.String()+": "), uint32(other.Pos.Offset())
	}
	return err.Error(), 0
}
