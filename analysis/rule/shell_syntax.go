package rule

import (
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/source"
)

var shellSyntax = Rule{Code: source.ShellSyntax, Category: UserData, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findShellSyntax}

// findShellSyntax parses scripts as their shell does, as written and with placeholders for
// the words that Heat replaces: only an error in both, at the same place, is certain.
func findShellSyntax(l *Checker) {
	taken := map[string]bool{} // many servers have the same script
	for _, t := range l.BootTexts() {
		if taken[t.text] {
			continue
		}
		message, at := script.SyntaxError(t.text)
		if message == "" {
			taken[t.text] = true
			continue
		}
		if t.replaced != t.text {
			if _, other := script.SyntaxError(t.replaced); other != at {
				continue
			}
		}
		l.ReportAt(t.at(int(at), min(int(at)+1, len(t.text))), "this script is not valid for its shell: "+message, "")
	}
}
