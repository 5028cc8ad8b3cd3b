package format

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/emit/lint"
)

// gitlabIssue is an entry of a code quality report.
type gitlabIssue struct {
	Description string         `json:"description"`
	CheckName   string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string         `json:"path"`
	Lines map[string]int `json:"lines"`
}

// gitlab writes a code quality report. A fingerprint has no line numbers, so that a finding
// keeps it when text is added above.
func gitlab(w io.Writer, r *lint.Report, _ terminal.Ink) error {
	issues, times := []gitlabIssue{}, map[string]int{}
	for f := range r.Active() {
		path := filepath.ToSlash(f.File)
		what := fmt.Sprintf("%s\x00%s\x00%s", path, f.Code, f.Message)
		times[what]++
		issues = append(issues, gitlabIssue{
			Description: advice(f), CheckName: string(f.Code), Fingerprint: contract.Digest(fmt.Sprintf("%s\x00%d", what, times[what]))[:32],
			Severity: map[source.Severity]string{source.Error: "major", source.Warning: "minor", source.Info: "info"}[f.Severity],
			Location: gitlabLocation{path, map[string]int{"begin": max(1, regionOf(f.At).Line)}},
		})
	}
	return lint.WriteJSON(w, issues)
}
