package main

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
)

// lintReport is what hotc lint found.
type lintReport struct {
	files int
	found []*source.Diagnostic
}

func (r *lintReport) count() (errors, warnings int) {
	for _, d := range r.found {
		switch d.Severity {
		case source.Error:
			errors++
		case source.Warning:
			warnings++
		case source.Info:
		}
	}
	return errors, warnings
}

func (r *lintReport) write(s streams, format string) error {
	switch format {
	case "json":
		return printJSON(s.out, r.json())
	case "sarif":
		return printJSON(s.out, newSARIF(r.found))
	case "line":
		for _, d := range r.found {
			if _, err := fmt.Fprintln(s.out, oneLine(d)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, d := range r.found {
		source.Print(s.out, d, source.Style{Ink: s.outInk()})
	}
	errors, warnings := r.count()
	_, err := fmt.Fprintf(s.out, "%s: %s, %s\n", counted(r.files, "file"), counted(errors, "error"), counted(warnings, "warning"))
	return err
}

// oneLine is a diagnostic as compilers write it, which editors and pipelines read.
func oneLine(d *source.Diagnostic) string {
	where := ""
	if at := inFile(d.At); at.Known() {
		where = at.String() + ": "
	}
	return terminal.Line(fmt.Sprintf("%s%s: %s [%s]", where, d.Severity, d.Message, d.Code))
}

// lintJSON is what hotc lint prints with --json (docs/json.md).
type lintJSON struct {
	Files    int           `json:"files"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Findings []lintFinding `json:"findings"`
}

type lintFinding struct {
	lintRegion
	Severity string     `json:"severity"`
	Code     string     `json:"code"`
	Message  string     `json:"message"`
	Hint     string     `json:"hint,omitempty"`
	Notes    []lintNote `json:"notes"`
}

type lintNote struct {
	lintRegion
	Message string `json:"message"`
}

// lintRegion is where something stands: lines and columns from 1, in characters, the
// end not included. It is empty where there is no place.
type lintRegion struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
}

// inFile is a place in a file that an editor can open: of a text within another, the
// other's.
func inFile(at source.Place) source.Place {
	for at.File != nil && at.File.Within.Known() {
		at = at.File.Within
	}
	return at
}

func newLintRegion(at source.Place) lintRegion {
	at = inFile(at)
	if at.File == nil {
		return lintRegion{}
	}
	r := lintRegion{File: at.File.Name}
	r.Line, r.Column = at.File.Position(at.Span.Start)
	r.EndLine, r.EndColumn = at.File.Position(max(at.Span.Start, at.Span.End))
	return r
}

func (r *lintReport) json() lintJSON {
	out := lintJSON{Files: r.files, Findings: []lintFinding{}}
	out.Errors, out.Warnings = r.count()
	for _, d := range r.found {
		f := lintFinding{lintRegion: newLintRegion(d.At), Severity: d.Severity.String(), Code: string(d.Code), Message: d.Message, Hint: d.Hint, Notes: []lintNote{}}
		for _, n := range d.Notes {
			f.Notes = append(f.Notes, lintNote{newLintRegion(n.At), n.Message})
		}
		out.Findings = append(out.Findings, f)
	}
	return out
}
