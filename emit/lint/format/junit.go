package format

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

// The parts of JUnit's XML that its readers agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Skipped *junitSkipped `xml:"skipped"`
		Failure *junitFailure `xml:"failure"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit writes one suite per file, in which each finding is a test: it fails, passes with a
// message if the finding is below --fail-on, or is skipped if suppressed.
func junit(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	var out []junitSuite
	index := filesOf(r, slices.Values(r.Findings), func(name string) { out = append(out, junitSuite{Name: name}) })
	for _, f := range r.Findings {
		at, s := regionOf(f.At), &out[index[f.File]]
		c := junitCase{Name: string(f.Code), Class: s.Name}
		text := advice(f)
		if at.Line > 0 {
			c.Name = fmt.Sprintf("%s at %d:%d", f.Code, at.Line, at.Column)
			text = fmt.Sprintf("%s:%d:%d: %s", s.Name, at.Line, at.Column, text)
		}
		switch {
		case f.Suppressed != nil:
			c.Skipped = &junitSkipped{terminal.Line(f.Suppressed.Reason)}
			s.Skipped++
		case r.FailOn.Fails(f.Severity):
			c.Failure = &junitFailure{terminal.Line(f.Message), f.Severity.String(), text}
			s.Failures++
		default:
			c.Out = f.Severity.String() + ": " + text
		}
		s.Cases = append(s.Cases, c)
	}
	all := junitSuites{Name: "hotc lint", Suites: out}
	for i := range out {
		s := &out[i]
		if len(s.Cases) == 0 {
			s.Cases = []junitCase{{Name: "nothing found", Class: s.Name}}
		}
		s.Tests = len(s.Cases)
		all.Tests += s.Tests
		all.Failures += s.Failures
	}
	return printXML(w, all)
}

func printXML(w io.Writer, v any) error {
	text, err := xml.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	return err
}
