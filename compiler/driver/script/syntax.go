package script

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// SyntaxError says why a script with a shell's first line is not what that shell takes, and
// where; "" if it is, and of a text in another language, or a very large one.
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

// saying is what the parser says, and where.
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
