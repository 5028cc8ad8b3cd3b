package lint

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
)

type Report struct {
	// Version is hotc's version.
	Version string
	// Files are the linted files.
	Files    []string
	Findings []Finding
	FailOn   Level
	// Gone is how many findings of the baseline no longer occur.
	Gone int
}

// Finding is a problem that the linter reports.
type Finding struct {
	*source.Diagnostic
	// File is where it is; if it has no place, the linted file.
	File string
	// Suppressed is why it is suppressed; nil if it is not.
	Suppressed *Suppression
}

// Suppression is the reason for suppressing a finding.
type Suppression struct {
	By     By
	Reason string
}

// By is what suppresses a finding.
type By string

// A comment next to the finding, or a baseline that contains it.
const (
	Comment  By = "comment"
	Baseline By = "baseline"
)

// Active returns the findings that are not suppressed.
func (r *Report) Active() iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		for _, f := range r.Findings {
			if f.Suppressed == nil && !yield(f) {
				return
			}
		}
	}
}

func (r *Report) Count() (errors, warnings int) {
	for d := range r.Active() {
		switch d.Severity {
		case source.Error:
			errors++
		case source.Warning:
			warnings++
		case source.Info:
		}
	}
	return errors, warnings
}

// The flags that fix a finding.
const (
	SafeFix   = "--fix"
	UnsafeFix = "--fix=unsafe"
)

// MendedBy returns the flag that fixes a finding; "" if none does.
func (f Finding) MendedBy() string {
	switch {
	case f.Fix == nil || f.At.File.Within.Known():
		return ""
	case f.Fix.Unsafe:
		return UnsafeFix
	}
	return SafeFix
}

// Fixable returns how many findings have a fix.
func (r *Report) Fixable() (safe, unsafe int) {
	for f := range r.Active() {
		switch f.MendedBy() {
		case SafeFix:
			safe++
		case UnsafeFix:
			unsafe++
		}
	}
	return safe, unsafe
}

// before returns the index at which to insert a finding among those of its file.
func (r *Report) before(x Finding) int {
	place := len(r.Findings)
	for i, f := range r.Findings {
		if f.File != x.File {
			continue
		}
		if f.At.Span.Start > x.At.Span.Start {
			return i
		}
		place = i + 1
	}
	return place
}

func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Suppressed == nil && r.FailOn.Fails(f.Severity) })
}

// Level is the lowest severity that fails.
type Level int8

// The levels, from one that no severity reaches to one that all do.
const (
	Never Level = iota - 1
	Errors
	Warnings
	Infos
)

// Levels are their names, by level, from Never on.
var Levels = []string{"never", "error", "warning", "info"}

func ParseLevel(name string) (Level, error) {
	i := slices.Index(Levels, name)
	if i < 0 {
		return 0, fmt.Errorf("%q is not a severity", name)
	}
	return Never + Level(i), nil
}

// Fails reports whether a severity fails.
func (l Level) Fails(s source.Severity) bool { return int(s) <= int(l) }

func fileOf(d *source.Diagnostic, looked Target) string {
	if at := d.At.InFile(); at.Known() {
		return at.File.Name
	}
	return looked.Path
}
