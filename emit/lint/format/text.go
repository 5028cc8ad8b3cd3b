package format

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

func text(w io.Writer, r *lint.Report, ink terminal.Ink) error {
	suppressed, also := len(r.Findings), repeats(r)
	for f := range r.Active() {
		suppressed--
		lines, first := also[f.Diagnostic]
		if !first {
			continue
		}
		shown := *f.Diagnostic
		if len(lines) > 0 {
			shown.Notes = append(slices.Clip(shown.Notes), source.Note{Message: "the same in line " + strings.Join(lines, ", ")})
		}
		source.Print(w, &shown, source.Style{Ink: ink, FixFlag: f.MendedBy()})
	}
	errors, warnings := r.Count()
	sum := fmt.Sprintf("%s: %s, %s", source.Counted(len(r.Files), "file"), source.Counted(errors, "error"), source.Counted(warnings, "warning"))
	safe, unsafe := r.Fixable()
	switch {
	case safe > 0 && unsafe > 0:
		sum += fmt.Sprintf("; %s fixes %d, %s %d more", lint.SafeFix, safe, lint.UnsafeFix, unsafe)
	case safe > 0:
		sum += fmt.Sprintf("; %s fixes %d", lint.SafeFix, safe)
	case unsafe > 0:
		sum += fmt.Sprintf("; %s fixes %d", lint.UnsafeFix, unsafe)
	}
	if suppressed > 0 {
		sum += fmt.Sprintf(", %d suppressed", suppressed)
	}
	if r.Gone > 0 {
		sum += fmt.Sprintf("; %s of the baseline no longer found", source.Counted(r.Gone, "finding"))
	}
	_, err := fmt.Fprintln(w, sum)
	return err
}

// repeats are the findings to print, and the lines of later ones in the same file that say the same.
func repeats(r *lint.Report) map[*source.Diagnostic][]string {
	type saying struct {
		file, message, hint, fix string
		code                     source.Code
		severity                 source.Severity
	}
	first, also := map[saying]*source.Diagnostic{}, map[*source.Diagnostic][]string{}
	for f := range r.Active() {
		says := saying{f.File, f.Message, f.Hint, f.MendedBy(), f.Code, f.Severity}
		before := first[says]
		if before == nil || len(f.Notes) > 0 || !f.At.Known() {
			first[says], also[f.Diagnostic] = f.Diagnostic, nil
			continue
		}
		line, _ := f.At.File.Position(f.At.Span.Start)
		also[before] = append(also[before], strconv.Itoa(line))
	}
	return also
}

// lines writes diagnostics in the form of compilers, which editors and pipelines read.
func lines(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	for d := range r.Active() {
		where := ""
		if at := d.At.InFile(); at.Known() {
			where = at.String() + ": "
		}
		if _, err := fmt.Fprintln(w, terminal.Inert(terminal.Line(fmt.Sprintf("%s%s: %s [%s]", where, d.Severity, d.Message, d.Code)))); err != nil {
			return err
		}
	}
	return nil
}
