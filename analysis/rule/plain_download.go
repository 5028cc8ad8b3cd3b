package rule

import (
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

var plainDownload = Rule{Code: source.PlainDownload, Category: Security, Severity: source.Warning, Truth: TextShows, LintOnly: true, Template: findPlainDownloads}

// plainRuns are commands by which what came over http is run, or installed without a look at
// who made it. Addresses of the machine itself, and of the metadata service, are none.
var plainRuns = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^[^#\n]*\b(?:curl|wget)\b[^\n|;&]*\b(http://[^\s"'|;&)]+)[^\n|;&]*\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:/bin/|/usr/bin/)?(?:ba|da|k|z)?sh\b`),
	regexp.MustCompile(`(?m)^[^#\n]*\b(?:ba)?sh\s+(?:-c\s+"?\$|<)\(\s*(?:curl|wget)\b[^\n)]*\b(http://[^\s"'|;&)]+)`),
	regexp.MustCompile(`(?m)^[^#\n]*\brpm\s+(?:-\S+\s+)+(http://[^\s"'|;&)]+)`),
	regexp.MustCompile(`(?m)^[^#\n]*\b(?:yum|dnf)\s+(?:-\S+\s+)*(?:local)?install\s+(?:-\S+\s+)*(http://[^\s"'|;&)]+)`),
}

// ownAddress is an address that nobody between can answer for.
var ownAddress = regexp.MustCompile(`^http://(?:localhost|127\.|169\.254\.169\.254|\[::1\])`)

func findPlainDownloads(l *Look) {
	for _, t := range l.BootTexts() {
		if !strings.Contains(t.text, "http://") {
			continue // as nearly always
		}
		for _, run := range plainRuns {
			for _, m := range run.FindAllStringSubmatchIndex(t.text, -1) {
				if url := t.text[m[2]:m[3]]; !ownAddress.MatchString(url) {
					l.FoundAt(t.at(m[2], m[3]), "what comes from "+url+" is run by root, and whoever is on the way there can put something else in its place", "take https, or compare a checksum before it is run")
				}
			}
		}
	}
}
