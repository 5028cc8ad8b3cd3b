package rule

import (
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

var shellAdvice = Rule{Code: source.ShellAdvice, Category: UserData, Severity: source.Warning, Truth: TextShows, LintOnly: true, Template: findShellAdvice}

// Advice is what a checker of shell scripts says of a part of one.
type Advice struct {
	From, To int // bytes
	Message  string
	// Hint says how to be rid of it.
	Hint string
	// Mild says that it is a matter of style.
	Mild bool
}

var shellScript = regexp.MustCompile(`^#![ \t]*/\S*/(env[ \t]+)?(ba|da|k)?sh\b`)

// findShellAdvice lets a checker look at scripts with a word in the place of each that Heat
// replaces. What it says of a line with such a word may be about the word: that is left out.
func findShellAdvice(l *Look) {
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
			d := l.FoundAt(t.at(a.From, a.To), a.Message, a.Hint)
			if a.Mild {
				d.Severity = source.Info
			}
		}
	}
}

// wholeLines are the lines in which a part of a text stands.
func wholeLines(text string, a Advice) string {
	from := strings.LastIndexByte(text[:a.From], '\n') + 1
	to := len(text)
	if end := strings.IndexByte(text[a.To:], '\n'); end >= 0 {
		to = a.To + end
	}
	return text[from:to]
}
