package source

import (
	"fmt"
	"io"
	"strings"

	"github.com/hotc-dev/hotc/compiler/terminal"
)

// Style is how diagnostics are printed.
type Style struct {
	Ink terminal.Ink
	// FixFlag is the flag that applies fixes; "" does not mention fixes.
	FixFlag string
}

// Print writes a diagnostic for humans: the line FILE:LINE:COL: error[CODE]: message,
// the source line with a caret, notes and the hint.
func Print(to io.Writer, d *Diagnostic, style Style) {
	w := &strings.Builder{}
	defer func() { _, _ = io.WriteString(to, terminal.Inert(w.String())) }()
	paint := style.Ink.Paint
	where := ""
	if d.At.Known() {
		where = paint(bold, d.At.String()+":") + " "
	}
	kind := map[Severity]string{Error: red, Warning: yellow, Info: blue}[d.Severity]
	fmt.Fprintf(w, "%s%s %s\n", where, paint(kind, d.Severity.String()+"["+string(d.Code)+"]:"), paint(bold, terminal.Visible(d.Message)))
	printLine(w, d.At, paint)
	for _, n := range d.Notes {
		at := ""
		if n.At.Known() {
			at = n.At.String() + ": "
		}
		fmt.Fprintf(w, "  %s %s%s\n", paint(blue, "note:"), at, terminal.Visible(n.Message))
		printLine(w, n.At, paint)
	}
	if d.Hint != "" {
		fmt.Fprintf(w, "  %s %s\n", paint(green, "hint:"), terminal.Visible(d.Hint))
	}
	if d.Fix != nil && style.FixFlag != "" {
		fmt.Fprintf(w, "  %s %s (%s)\n", paint(green, "fix:"), terminal.Visible(d.Fix.Does), style.FixFlag)
	}
}

// longestLine limits how many characters of a source line are shown.
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

// clean replaces control characters of a line one by one, so that the caret below stays
// in place.
func clean(line string) string {
	return strings.Map(func(r rune) rune {
		if terminal.Steers(r) {
			return '\uFFFD'
		}
		return r
	}, line)
}

const (
	bold   = "1"
	faint  = "2"
	red    = "1;31"
	green  = "32"
	yellow = "1;33"
	blue   = "1;34"
)
