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

// Diagnostic is the one type for everything that is found wrong, anywhere: what
// and where, why, and what to do. Finding never prints; see Print.
type Diagnostic struct {
	Code     Code
	Severity Severity
	At       Place
	Message  string
	Notes    []Note
	Hint     string
	Fix      *Fix // nil if there is none
}

// Note is a further place that explains a diagnostic.
type Note struct {
	At      Place
	Message string
}

// Error makes a diagnostic an error, in one line.
func (d *Diagnostic) Error() string {
	var b strings.Builder
	if d.At.Known() {
		b.WriteString(d.At.String() + ": ")
	}
	b.WriteString(d.Severity.String() + "[" + string(d.Code) + "]: " + d.Message)
	return b.String()
}

// Note adds a further place.
func (d *Diagnostic) Note(at Place, message string) *Diagnostic {
	d.Notes = append(d.Notes, Note{at, message})
	return d
}

// Fail makes an error without a place: of a command, a file, a connection.
func Fail(code Code, message, hint string) *Diagnostic {
	return &Diagnostic{Code: code, Message: message, Hint: hint}
}

// Bare is an error about a file without its path, which the message says anyway.
func Bare(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err
	}
	return err
}

// Counted is a number of things, for people.
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// With adds notes that have no place.
func (d *Diagnostic) With(notes ...string) *Diagnostic {
	for _, text := range notes {
		d.Notes = append(d.Notes, Note{Message: text})
	}
	return d
}

// WithHint is an error with another hint, if it is a diagnostic.
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

// Diagnostics collects what is found.
type Diagnostics struct{ list []*Diagnostic }

// Add collects one.
func (l *Diagnostics) Add(d *Diagnostic) { l.list = append(l.list, d) }

// Error collects an error; notes can be added to what it returns.
func (l *Diagnostics) Error(code Code, at Place, message, hint string) *Diagnostic {
	d := &Diagnostic{Code: code, At: at, Message: message, Hint: hint}
	l.Add(d)
	return d
}

// AddAt collects a diagnostic that came as an error: at a place, if it has none of its own or
// that is better known. It says whether it was one.
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

// Warning collects a warning.
func (l *Diagnostics) Warning(code Code, at Place, message, hint string) *Diagnostic {
	d := &Diagnostic{Code: code, Severity: Warning, At: at, Message: message, Hint: hint}
	l.Add(d)
	return d
}

// Failed says whether there is an error among them.
func (l *Diagnostics) Failed() bool {
	return slices.ContainsFunc(l.list, func(d *Diagnostic) bool { return d.Severity == Error })
}

// FailedAt says whether there is an error at a place.
func (l *Diagnostics) FailedAt(at Place) bool {
	return slices.ContainsFunc(l.list, func(d *Diagnostic) bool { return d.Severity == Error && d.At == at })
}

// All are the diagnostics by file, place, severity and code; repeats are left out.
func (l *Diagnostics) All() []*Diagnostic {
	out := append([]*Diagnostic(nil), l.list...)
	sort.SliceStable(out, func(i, j int) bool { return less(out[i], out[j]) })
	kept := out[:0]
	said := map[string]bool{}
	for _, d := range out {
		if key := d.Essence(); !said[key] {
			said[key] = true
			kept = append(kept, d)
		}
	}
	return kept
}

// stackPath is what a path of a server begins with, and a member's number.
var stackPath = regexp.MustCompile(`([^\s/"'` + "`" + `(),]+/)+(\d+\b)?`)

// Essence is a diagnostic in one line, without the paths of the stacks it was found in:
// what is wrong with a template is said once for all its uses, and once for all members of
// a group.
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
