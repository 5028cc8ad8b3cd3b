package format

import (
	"fmt"
	"io"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

// Escapes for a workflow command's text and its properties.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// github writes a workflow command for each finding.
func github(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	for f := range r.Active() {
		kind := map[source.Severity]string{source.Error: "error", source.Warning: "warning", source.Info: "notice"}[f.Severity]
		at, place := regionOf(f.At), ""
		if at.Line > 0 {
			place = fmt.Sprintf(",line=%d,endLine=%d", at.Line, at.EndLine)
			if at.Line == at.EndLine { // a runner accepts no columns with several lines
				place += fmt.Sprintf(",col=%d,endColumn=%d", at.Column, at.EndColumn)
			}
		}
		if _, err := fmt.Fprintf(w, "::%s file=%s%s,title=%s::%s\n", kind, githubProperty.Replace(terminal.Visible(f.File)), place, f.Code, githubText.Replace(advice(f))); err != nil {
			return err
		}
	}
	return nil
}

// advice is a finding's message with its hint, for readers with a single text field.
func advice(f lint.Finding) string {
	text := terminal.Line(f.Message)
	if f.Hint != "" {
		text += ". Hint: " + terminal.Line(f.Hint)
	}
	return text
}
