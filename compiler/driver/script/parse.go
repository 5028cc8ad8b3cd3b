package script

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is analysed. The parser, and all that walks its tree, are recursive, and a
// stack overflow is fatal.
const (
	largest    = 1 << 20 // bytes of a script
	deepest    = 1_000   // nesting of its tree
	neverDeep  = 2_000   // bytes of a script that cannot fill the stack
	mostFrames = 10_000  // recursion of the parser
	mostWalked = 100_000 // visits of statements, including those through function calls
)

// beyondError reports a script that exceeds a bound.
type beyondError struct{ what string }

func (e *beyondError) Error() string { return e.what }

var (
	errTooLarge = &beyondError{fmt.Sprintf("it is larger than %d KiB", largest>>10)}
	errTooDeep  = &beyondError{"commands, words or brackets are nested too deeply"}
)

// parseText parses a script in a shell's dialect.
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

// watched feeds a parser in small pieces, as long as its recursion is not too deep.
type watched struct{ text io.Reader }

func (w *watched) Read(p []byte) (int, error) {
	var frame [1]uintptr
	if runtime.Callers(mostFrames, frame[:]) > 0 {
		return 0, errTooDeep
	}
	return w.text.Read(p)
}
