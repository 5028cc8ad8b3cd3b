package source

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Severity is how bad a diagnostic is.
type Severity uint8

// The severities. An error stops the compiler before it writes anything.
const (
	Error Severity = iota
	Warning
	Info
)

func (s Severity) String() string { return [...]string{"error", "warning", "info"}[s] }

// Diagnostic is the one type for all findings: what and where, why, and what to do.
// Finding never prints; see Print.
type Diagnostic struct {
	Code     Code
	Severity Severity
	At       Place
	Message  string
	Notes    []Note
	Hint     string
	Fix      *Fix // nil if there is none
	// Refused says that stock Heat certainly refuses the template for it. The compiler leaves that to the cloud's
	// Heat; for `hotc lint` it is an error.
	Refused bool
}

// Note is a further position or fact that explains a diagnostic.
type Note struct {
	At      Place
	Message string
}

// Error is the diagnostic as an error, on one line.
func (d *Diagnostic) Error() string {
	var b strings.Builder
	if d.At.Known() {
		b.WriteString(d.At.String() + ": ")
	}
	b.WriteString(d.Severity.String() + "[" + string(d.Code) + "]: " + d.Message)
	return b.String()
}

// Note adds a note.
func (d *Diagnostic) Note(at Place, message string) *Diagnostic {
	d.Notes = append(d.Notes, Note{at, message})
	return d
}

// Fail makes an error without a position: of a command, a file, a connection.
func Fail(code Code, message, hint string) *Diagnostic {
	return &Diagnostic{Code: code, Message: message, Hint: hint}
}

// Bare strips the path from a file's error, for messages that already have it.
func Bare(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err
	}
	return err
}

// Counted is a number with its noun, in the plural where needed.
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// With adds notes without positions.
func (d *Diagnostic) With(notes ...string) *Diagnostic {
	for _, text := range notes {
		d.Notes = append(d.Notes, Note{Message: text})
	}
	return d
}

// WithHint replaces the hint of an error that is a diagnostic.
func WithHint(err error, hint string) error {
	d, is := AsDiagnostic(err)
	if !is {
		return err
	}
	other := *d
	other.Hint = hint
	return &other
}

// AsDiagnostic finds the diagnostic in an error.
func AsDiagnostic(err error) (*Diagnostic, bool) {
	var d *Diagnostic
	return d, errors.As(err, &d)
}

// Diagnostics collects diagnostics.
type Diagnostics struct{ list []*Diagnostic }

// Add adds a diagnostic.
func (l *Diagnostics) Add(d *Diagnostic) { l.list = append(l.list, d) }

// Error adds an error and returns it, so that notes can be added.
func (l *Diagnostics) Error(code Code, at Place, message, hint string) *Diagnostic {
	d := &Diagnostic{Code: code, At: at, Message: message, Hint: hint}
	l.Add(d)
	return d
}

// AddAt adds an error that is a diagnostic, at a position if it has none, or if better is set.
// It reports whether it was one.
func (l *Diagnostics) AddAt(at Place, err error, better bool) bool {
	d, is := AsDiagnostic(err)
	if is {
		found := *d
		if better || !found.At.Known() {
			found.At = at
		}
		l.Add(&found)
	}
	return is
}

// Warning adds a warning and returns it.
func (l *Diagnostics) Warning(code Code, at Place, message, hint string) *Diagnostic {
	d := &Diagnostic{Code: code, Severity: Warning, At: at, Message: message, Hint: hint}
	l.Add(d)
	return d
}

// Failed reports whether there is an error.
func (l *Diagnostics) Failed() bool {
	return slices.ContainsFunc(l.list, func(d *Diagnostic) bool { return d.Severity == Error })
}

// FailedAt reports whether there is an error at a position.
func (l *Diagnostics) FailedAt(at Place) bool {
	return slices.ContainsFunc(l.list, func(d *Diagnostic) bool { return d.Severity == Error && d.At == at })
}

// All are the diagnostics sorted by file, position, severity and code, without repeats.
func (l *Diagnostics) All() []*Diagnostic {
	out := append([]*Diagnostic(nil), l.list...)
	sort.SliceStable(out, func(i, j int) bool { return less(out[i], out[j]) })
	kept := out[:0]
	seen := map[string]bool{}
	for _, d := range out {
		if key := d.Essence(); !seen[key] {
			seen[key] = true
			kept = append(kept, d)
		}
	}
	return kept
}

// stackPath matches the stacks in a server path, and a member's number.
var stackPath = regexp.MustCompile(`([^\s/"'` + "`" + `(),]+/)+(\d+\b)?`)

// Essence is a diagnostic on one line without stack paths: an error in a template is
// reported once for all its uses, and once for all members of a group.
func (d *Diagnostic) Essence() string {
	if !d.At.Known() {
		return d.Error()
	}
	message := d.Message
	if strings.Contains(message, "/") {
		message = stackPath.ReplaceAllString(message, "")
	}
	return d.At.String() + " " + string(d.Code) + " " + d.Severity.String() + " " + message
}

func less(a, b *Diagnostic) bool {
	if x, y := fileName(a.At.File), fileName(b.At.File); x != y {
		return x < y
	}
	if a.At.Span.Start != b.At.Span.Start {
		return a.At.Span.Start < b.At.Span.Start
	}
	if a.Severity != b.Severity {
		return a.Severity < b.Severity
	}
	return a.Code < b.Code
}

func fileName(f *File) string {
	if f == nil {
		return ""
	}
	return f.Name
}
