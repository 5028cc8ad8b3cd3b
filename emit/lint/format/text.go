package format

import (
	"fmt"
	"io"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

func text(w io.Writer, r *lint.Report, ink terminal.Ink) error {
	suppressed := len(r.Findings)
	for f := range r.Active() {
		suppressed--
		source.Print(w, f.Diagnostic, source.Style{Ink: ink, FixFlag: f.MendedBy()})
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
