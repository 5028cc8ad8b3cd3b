package rule

import (
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

var plainDownload = Rule{Code: source.PlainDownload, Category: Security, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findPlainDownloads}

// plainRuns are commands that run what was downloaded over http, or install it without
// verifying its origin.
var plainRuns = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^[^#\n]*\b(?:curl|wget)\b[^\n|;&]*\b(http://[^\s"'|;&)]+)[^\n|;&]*\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:/bin/|/usr/bin/)?(?:ba|da|k|z)?sh\b`),
	regexp.MustCompile(`(?m)^[^#\n]*\b(?:ba)?sh\s+(?:-c\s+"?\$|<)\(\s*(?:curl|wget)\b[^\n)]*\b(http://[^\s"'|;&)]+)`),
	regexp.MustCompile(`(?m)^[^#\n]*\brpm\s+(?:-\S+\s+)+(http://[^\s"'|;&)]+)`),
	regexp.MustCompile(`(?m)^[^#\n]*\b(?:yum|dnf)\s+(?:-\S+\s+)*(?:local)?install\s+(?:-\S+\s+)*(http://[^\s"'|;&)]+)`),
}

// ownAddress is the machine itself, or its metadata service: no one can intercept that.
var ownAddress = regexp.MustCompile(`^http://(?:localhost|127\.|169\.254\.169\.254|\[::1\])`)

func findPlainDownloads(l *Checker) {
	for _, t := range l.BootTexts() {
		if !strings.Contains(t.text, "http://") {
			continue // the common case
		}
		for _, run := range plainRuns {
			for _, m := range run.FindAllStringSubmatchIndex(t.text, -1) {
				if url := t.text[m[2]:m[3]]; !ownAddress.MatchString(url) {
					l.ReportAt(t.at(m[2], m[3]), "root runs what is downloaded from "+url+", and anyone on the network path can replace it", "use https, or verify a checksum before running it")
				}
			}
		}
	}
}
