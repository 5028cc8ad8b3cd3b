package rule

import (
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/source"
)

var shellSyntax = Rule{Code: source.ShellSyntax, Category: UserData, Severity: source.Warning, Truth: CreationFails, LintOnly: true, Template: findShellSyntax}

// findShellSyntax reads scripts as their shell does, as they are written and with a word for
// each that Heat replaces: only what is wrong both ways, at one place, is surely wrong.
func findShellSyntax(l *Look) {
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
		l.FoundAt(t.at(int(at), min(int(at)+1, len(t.text))), "this script is not what its shell takes: "+message, "")
	}
}
