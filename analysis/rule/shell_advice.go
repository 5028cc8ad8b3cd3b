package rule

import (
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

var shellAdvice = Rule{Code: source.ShellAdvice, Category: UserData, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findShellAdvice}

// Advice is a finding of a shell script checker.
type Advice struct {
	From, To int // bytes
	Message  string
	// Hint says how to fix it.
	Hint string
	// Mild says that it is a matter of style.
	Mild bool
}

var shellScript = regexp.MustCompile(`^#![ \t]*/\S*/(env[ \t]+)?(ba|da|k)?sh\b`)

// findShellAdvice runs a checker on scripts with a placeholder for each word that Heat
// replaces. Advice on a line with a placeholder may be about the placeholder: it is dropped.
func findShellAdvice(l *Checker) {
	if l.shell == nil {
		return
	}
	for _, t := range l.BootTexts() {
		if !shellScript.MatchString(t.text) {
			continue
		}
		for _, a := range l.shell(t.replaced) {
			if a.From < 0 || a.To < a.From || a.To > len(t.text) || wholeLines(t.text, a) != wholeLines(t.replaced, a) {
				continue
			}
			d := l.ReportAt(t.at(a.From, a.To), a.Message, a.Hint)
			if a.Mild {
				d.Severity = source.Info
			}
		}
	}
}

// wholeLines are the lines that contain a part of a text.
func wholeLines(text string, a Advice) string {
	from := strings.LastIndexByte(text[:a.From], '\n') + 1
	to := len(text)
	if end := strings.IndexByte(text[a.To:], '\n'); end >= 0 {
		to = a.To + end
	}
	return text[from:to]
}
