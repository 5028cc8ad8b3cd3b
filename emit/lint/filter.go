package lint

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/source"
)

// filter is the one place where findings are left out, get another severity, or are
// suppressed: by the configuration, by comments, by the baseline.
type filter struct {
	*Config
	comments map[string][]*ignore // of each text that was looked at, by fileKey
	failed   map[string]bool      // texts in which there may be more, but for errors
	files    []*source.File       // in order
	packs    []*rule.Rule         // of those that are on
}

// see notes a text that was looked at.
func (f *filter) see(file *source.File, failed bool) {
	key := fileKey(file)
	if _, seen := f.comments[key]; !seen {
		f.comments[key] = ignores(file)
		f.files = append(f.files, file)
	}
	f.failed[key] = f.failed[key] || failed
}

// fileKey tells texts apart: those that were read from a file, and those within others.
func fileKey(file *source.File) string {
	if file.Within.Known() {
		return fmt.Sprintf("%s\x00%s", file.Name, file.Within)
	}
	return absolute(file.Name)
}

// apply says what is left of a finding.
func (f *filter) apply(x Finding) (Finding, bool) {
	severity, looked := f.SeverityOf(x.File, x.Diagnostic)
	if !looked {
		return x, false
	}
	if severity != x.Severity {
		d := *x.Diagnostic
		d.Severity = severity
		x.Diagnostic = &d
	}
	for at := x.At; at.File != nil; at = at.File.Within {
		key := fileKey(at.File)
		comments, seen := f.comments[key]
		if !seen {
			comments = ignores(at.File)
			f.comments[key] = comments
		}
		for _, c := range comments {
			if c.suppresses(x.Diagnostic, at) {
				c.used = true
				if x.Suppressed == nil {
					x.Suppressed = &Suppression{By: Comment, Reason: c.reason}
				}
			}
		}
	}
	return x, true
}

// useless are findings about comments that suppress nothing. One about a rule that is not
// looked for here is left alone.
func (f *filter) useless() (out []Finding) {
	for _, file := range f.files {
		for _, c := range f.comments[fileKey(file)] {
			if slices.ContainsFunc(c.codes, func(code source.Code) bool {
				_, looked := f.SeverityOf(file.Name, &source.Diagnostic{Code: code})
				return !looked || rule.Of(code) == nil && !slices.ContainsFunc(f.packs, func(r *rule.Rule) bool { return r.Code == code })
			}) {
				continue
			}
			if d := c.useless(f.failed[fileKey(file)]); d != nil {
				if x, looked := f.apply(Finding{Diagnostic: d, File: file.Name}); looked {
					out = append(out, x)
				}
			}
		}
	}
	return out
}
