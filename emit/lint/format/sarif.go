package format

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/docs/rules"
	"github.com/hotc-dev/hotc/emit/lint"
)

// The parts of SARIF 2.1.0 that hotc lint writes (the OASIS standard "Static Analysis
// Results Interchange Format", sections 3.13 to 3.49).
type (
	sarif struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Help  sarifText `json:"help"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
		// Suppressions are set if it is suppressed.
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Fixes        []sarifFix         `json:"fixes,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted *sarifText  `json:"insertedContent,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
)

// asSARIF writes a log of one run. Its rules are the violated ones, each with its page.
func asSARIF(w io.Writer, report *lint.Report, _ terminal.Ink) error {
	found := report.Findings
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "hotc", Version: report.Version, Rules: []sarifRule{}}}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	codes := lists.Map(found, func(f lint.Finding) string { return string(f.Code) })
	slices.Sort(codes)
	codes = slices.Compact(codes)
	for _, code := range codes {
		page, _ := rules.Page(code)
		title, _, _ := strings.Cut(page, "\n")
		_, title, _ = strings.Cut(title, ": ")
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: code, Short: sarifText{Text: title}, Help: sarifText{Text: page, Markdown: page}})
	}
	for _, d := range found {
		message := d.Message
		if d.Hint != "" {
			message += ". Hint: " + d.Hint
		}
		index, _ := slices.BinarySearch(codes, string(d.Code))
		r := sarifResult{Rule: string(d.Code), RuleIndex: index, Level: sarifLevel(d.Severity), Message: sarifText{Text: message}}
		if d.At.File != nil {
			r.Locations = []sarifLocation{{Physical: newSARIFPhysical(d.At)}}
		}
		for _, n := range d.Notes {
			if n.At.File != nil {
				r.Related = append(r.Related, sarifLocation{Physical: newSARIFPhysical(n.At), Message: &sarifText{Text: n.Message}})
			}
		}
		if fix := fixOf(d); fix != nil {
			change := sarifChange{Artifact: newSARIFPhysical(d.At).Artifact}
			for _, e := range fix.Edits {
				replacement := sarifReplacement{Deleted: sarifRegion{e.Line, e.Column, e.EndLine, e.EndColumn}}
				if e.Text != "" {
					replacement.Inserted = &sarifText{Text: e.Text}
				}
				change.Replacements = append(change.Replacements, replacement)
			}
			r.Fixes = []sarifFix{{sarifText{Text: fix.Does}, []sarifChange{change}}}
		}
		if d.Suppressed != nil {
			kind := map[lint.By]string{lint.Comment: "inSource", lint.Baseline: "external"}[d.Suppressed.By]
			r.Suppressions = []sarifSuppression{{kind, d.Suppressed.Reason}}
		}
		run.Results = append(run.Results, r)
	}
	return lint.WriteJSON(w, sarif{Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifLevel(s source.Severity) string {
	switch s {
	case source.Error:
		return "error"
	case source.Warning:
		return "warning"
	case source.Info:
	}
	return "note"
}

func newSARIFPhysical(at source.Place) sarifPhysical {
	r := regionOf(at)
	uri := url.URL{Path: filepath.ToSlash(r.File)}
	if filepath.IsAbs(r.File) {
		uri.Scheme = "file"
	}
	return sarifPhysical{Artifact: sarifArtifact{URI: uri.String()}, Region: sarifRegion{r.Line, r.Column, r.EndLine, r.EndColumn}}
}
