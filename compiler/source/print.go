package source

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Style says how diagnostics are printed.
type Style struct{ Color bool }

// Print writes a diagnostic for people: the line FILE:LINE:COL: error[CODE]:
// message, the source line with a caret, notes and the hint.
func Print(w io.Writer, d *Diagnostic, style Style) {
	paint := painter(style.Color)
	where := ""
	if d.At.Known() {
		where = paint(bold, d.At.String()+":") + " "
	}
	kind := map[Severity]string{Error: red, Warning: yellow, Info: blue}[d.Severity]
	fmt.Fprintf(w, "%s%s %s\n", where, paint(kind, d.Severity.String()+"["+string(d.Code)+"]:"), paint(bold, clean(d.Message)))
	printLine(w, d.At, paint)
	for _, n := range d.Notes {
		at := ""
		if n.At.Known() {
			at = n.At.String() + ": "
		}
		fmt.Fprintf(w, "  %s %s%s\n", paint(blue, "note:"), at, clean(n.Message))
		printLine(w, n.At, paint)
	}
	if d.Hint != "" {
		fmt.Fprintf(w, "  %s %s\n", paint(green, "hint:"), clean(d.Hint))
	}
}

// longestLine is how much of a source line is shown, in characters.
const longestLine = 160

func printLine(w io.Writer, at Place, paint func(color, text string) string) {
	if at.File == nil || len(at.File.Text) == 0 {
		return
	}
	line, column := at.File.Position(at.Span.Start)
	text := []rune(strings.ReplaceAll(at.File.Line(line), "\t", " "))
	from := max(0, column-1-longestLine/2)
	if from > len(text) {
		return
	}
	shown := text[from:min(len(text), from+longestLine)]
	if strings.TrimSpace(string(shown)) == "" {
		return
	}
	length := 1
	if endLine, endColumn := at.File.Position(at.Span.End); endLine == line {
		length = max(1, endColumn-column)
	} else if at.Span.End > at.Span.Start {
		length = max(1, len(text)-column+1)
	}
	length = max(1, min(length, len(shown)-(column-1-from)))
	number := fmt.Sprintf("%5d | ", line)
	fmt.Fprintf(w, "%s%s\n", paint(faint, number), clean(string(shown)))
	fmt.Fprintf(w, "%s%s%s\n", paint(faint, "      | "), strings.Repeat(" ", column-1-from), paint(red, "^"+strings.Repeat("~", length-1)))
}

// clean takes control characters out of a text, so that a hostile template
// cannot steer the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

const (
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[1;31m"
	green  = "\x1b[32m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[1;34m"
	reset  = "\x1b[0m"
)

func painter(color bool) func(color, text string) string {
	return func(code, text string) string {
		if !color {
			return text
		}
		return code + text + reset
	}
}
