package format

import (
	"io"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

// JSON is what hotc lint prints with --json (docs/json.md, schema.json).
type JSON struct {
	Version  int       `json:"version"`
	Files    int       `json:"files"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []Finding `json:"findings"`
	// Suppressed are the suppressed findings.
	Suppressed []Finding `json:"suppressed"`
}

// jsonVersion is the version of the format. Keys are only added to it.
const jsonVersion = 1

type Finding struct {
	Region
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Notes    []Note `json:"notes"`
	Fix      *Fix   `json:"fix,omitempty"`
	// By and Reason belong to a suppressed finding.
	By     lint.By `json:"by,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

type Note struct {
	Region
	Message string `json:"message"`
}

// Fix is a change that removes the finding.
type Fix struct {
	Does   string `json:"does"`
	Unsafe bool   `json:"unsafe"`
	Edits  []Edit `json:"edits"`
}

type Edit struct {
	Region
	Text string `json:"text"`
}

func fixOf(f lint.Finding) *Fix {
	if f.MendedBy() == "" {
		return nil
	}
	return &Fix{f.Fix.Does, f.Fix.Unsafe, lists.Map(f.Fix.Edits, func(e source.Edit) Edit {
		return Edit{regionOf(source.Place{File: f.At.File, Span: e.Span}), e.New}
	})}
}

func asJSON(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	out := JSON{Version: jsonVersion, Files: len(r.Files), Findings: []Finding{}, Suppressed: []Finding{}}
	out.Errors, out.Warnings = r.Count()
	for _, d := range r.Findings {
		f := Finding{Region: regionOf(d.At), Severity: d.Severity.String(), Code: string(d.Code), Message: d.Message, Hint: d.Hint, Fix: fixOf(d),
			Notes: lists.Map(d.Notes, func(n source.Note) Note { return Note{regionOf(n.At), n.Message} })}
		if d.Suppressed == nil {
			out.Findings = append(out.Findings, f)
			continue
		}
		f.By, f.Reason = d.Suppressed.By, d.Suppressed.Reason
		out.Suppressed = append(out.Suppressed, f)
	}
	return lint.WriteJSON(w, out)
}
