package format

import (
	"encoding/xml"
	"io"

	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

type (
	checkstyleReport struct {
		XMLName xml.Name         `xml:"checkstyle"`
		Version string           `xml:"version,attr"`
		Files   []checkstyleFile `xml:"file"`
	}
	checkstyleFile struct {
		Name   string            `xml:"name,attr"`
		Errors []checkstyleError `xml:"error"`
	}
	checkstyleError struct {
		Line     int    `xml:"line,attr"`
		Column   int    `xml:"column,attr,omitempty"`
		Severity string `xml:"severity,attr"`
		Message  string `xml:"message,attr"`
		Source   string `xml:"source,attr"`
	}
)

// checkstyle writes the report of the program of this name, whose severities are hotc's.
func checkstyle(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	out, index := checkstyleReport{Version: "4.3"}, map[string]int{}
	file := func(name string) *checkstyleFile {
		i, is := index[name]
		if !is {
			i, index[name] = len(out.Files), len(out.Files)
			out.Files = append(out.Files, checkstyleFile{Name: name})
		}
		return &out.Files[i]
	}
	for _, name := range r.Files {
		file(terminal.Visible(name))
	}
	for f := range r.Active() {
		at, in := regionOf(f.At), file(terminal.Visible(f.File))
		in.Errors = append(in.Errors, checkstyleError{at.Line, at.Column, f.Severity.String(), advice(f), "hotc." + string(f.Code)})
	}
	return printXML(w, out)
}
