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

// checkstyle writes the report format of Checkstyle, whose severities match hotc's.
func checkstyle(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	out := checkstyleReport{Version: "4.3"}
	index := filesOf(r, r.Active(), func(name string) { out.Files = append(out.Files, checkstyleFile{Name: name}) })
	for f := range r.Active() {
		at, in := regionOf(f.At), &out.Files[index[f.File]]
		in.Errors = append(in.Errors, checkstyleError{at.Line, at.Column, f.Severity.String(), advice(f), "hotc." + string(f.Code)})
	}
	return printXML(w, out)
}
