package lint

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/source"
)

// filter is the only place where findings are dropped, change their severity, or are suppressed:
// by the configuration, by comments, by the baseline.
type filter struct {
	*Config
	comments map[string][]*ignore // of each linted text, by fileKey
	failed   map[string]bool      // texts that may have more findings, hidden by errors
	files    []*source.File       // in order
	packs    []*rule.Rule         // the enabled ones
}

// see records a linted text.
func (f *filter) see(file *source.File, failed bool) {
	key := fileKey(file)
	if _, seen := f.comments[key]; !seen {
		f.comments[key] = ignores(file)
		f.files = append(f.files, file)
	}
	f.failed[key] = f.failed[key] || failed
}

// fileKey identifies texts: those read from a file, and those within others.
func fileKey(file *source.File) string {
	if file.Within.Known() {
		return fmt.Sprintf("%s\x00%s", file.Name, file.Within)
	}
	return absolute(file.Name)
}

// apply applies the configuration and comments to a finding; false if it is dropped.
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

// useless returns findings about comments that suppress nothing. Comments for a rule that is off
// here are left alone.
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
