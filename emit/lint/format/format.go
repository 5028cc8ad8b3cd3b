// Package format writes the findings of `hotc lint`: one file per format, and a line in All. In
// every format, text from templates is only data.
package format

import (
	"bufio"
	"io"
	"iter"
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

// Format is an output format of a report.
type Format struct {
	Name string
	// For is its intended reader.
	For   string
	write func(w io.Writer, r *lint.Report, ink terminal.Ink) error
}

// All are the formats, the default first.
var All = []Format{
	{"text", "for people, with the line of the template and what to do (the default)", text},
	{"line", "a line for each: FILE:LINE:COLUMN: SEVERITY: TEXT [CODE]", lines},
	{"json", "for programs; --json is short for it", asJSON},
	{"sarif", "SARIF 2.1.0, which code hosts and editors show beside the text", asSARIF},
	{"github", "GitHub's workflow commands, which show findings beside a change", github},
	{"gitlab", "GitLab's code quality report", gitlab},
	{"junit", "JUnit's XML: a test a finding, and one for each file without any", junit},
	{"checkstyle", "Checkstyle's XML, which many tools read", checkstyle},
}

func Names() []string {
	return lists.Map(All, func(f Format) string { return f.Name })
}

func Known(name string) bool { return slices.Contains(Names(), name) }

// Write writes a report in a known format; ink colours output for people.
func Write(w io.Writer, name string, r *lint.Report, ink terminal.Ink) error {
	out := bufio.NewWriter(w)
	i := slices.Index(Names(), name)
	if err := All[i].write(out, r, ink); err != nil {
		return err
	}
	return out.Flush()
}

// Region is a finding's place: lines and columns from 1, in characters, with an exclusive end.
// It is empty if there is no place.
type Region struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
}

func regionOf(at source.Place) Region {
	at = at.InFile()
	if at.File == nil {
		return Region{}
	}
	r := Region{File: at.File.Name}
	r.Line, r.Column = at.File.Position(at.Span.Start)
	r.EndLine, r.EndColumn = at.File.Position(max(at.Span.Start, at.Span.End))
	return r
}

// filesOf numbers the files of a report and of its findings, and calls add with each name.
func filesOf(r *lint.Report, findings iter.Seq[lint.Finding], add func(name string)) map[string]int {
	index := map[string]int{}
	see := func(name string) {
		if _, is := index[name]; !is {
			index[name] = len(index)
			add(terminal.Visible(name))
		}
	}
	for _, name := range r.Files {
		see(name)
	}
	for f := range findings {
		see(f.File)
	}
	return index
}
