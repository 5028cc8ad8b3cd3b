package format

import (
	"io"

	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

// JSON is what hotc lint prints with --json (docs/json.md).
type JSON struct {
	Files    int       `json:"files"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
}

// Finding is one of them.
type Finding struct {
	Region
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Notes    []Note `json:"notes"`
}

// Note is a further place.
type Note struct {
	Region
	Message string `json:"message"`
}

func asJSON(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	out := JSON{Files: r.Files, Findings: []Finding{}}
	out.Errors, out.Warnings = r.Count()
	for _, d := range r.Findings {
		f := Finding{Region: regionOf(d.At), Severity: d.Severity.String(), Code: string(d.Code), Message: d.Message, Hint: d.Hint, Notes: []Note{}}
		for _, n := range d.Notes {
			f.Notes = append(f.Notes, Note{regionOf(n.At), n.Message})
		}
		out.Findings = append(out.Findings, f)
	}
	return printJSON(w, out)
}
