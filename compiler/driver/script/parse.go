package script

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of what is looked into. The parser, and all that goes over its tree, call
// themselves for what stands within something else, and nothing survives a stack that is
// full.
const (
	largest    = 1 << 20 // bytes of a script
	deepest    = 1_000   // nodes of its tree within each other
	neverDeep  = 2_000   // bytes of a script that cannot fill the stack
	mostFrames = 10_000  // calls of the parser's within each other
	mostWalked = 100_000 // statements, each as often as it is come to by way of functions
)

// beyondError says that a script is over a bound.
type beyondError struct{ what string }

func (e *beyondError) Error() string { return e.what }

var (
	errTooLarge = &beyondError{fmt.Sprintf("it has more than %d KiB", largest>>10)}
	errTooDeep  = &beyondError{"commands, words or brackets stand too deep within each other"}
)

// parseText reads a text as a shell's language.
func parseText(text string, dialect syntax.LangVariant) (*syntax.File, error) {
	var from io.Reader = strings.NewReader(text)
	if len(text) > neverDeep {
		from = &watched{from}
	}
	tree, err := syntax.NewParser(syntax.Variant(dialect)).Parse(from, "")
	if err != nil {
		return nil, err
	}
	depth, deep := 0, false
	syntax.Walk(tree, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth == deepest {
			deep = true
			return false
		}
		depth++
		return true
	})
	if deep {
		return nil, errTooDeep
	}
	return tree, nil
}

// watched gives a parser its text, a little at a time, as long as it is not too deep in it.
type watched struct{ text io.Reader }

func (w *watched) Read(p []byte) (int, error) {
	var frame [1]uintptr
	if runtime.Callers(mostFrames, frame[:]) > 0 {
		return 0, errTooDeep
	}
	return w.text.Read(p)
}
