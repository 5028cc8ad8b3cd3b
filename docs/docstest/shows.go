package docstest

import (
	"regexp"
	"slices"
	"strings"
)

var seconds = regexp.MustCompile(` *[0-9]+(\.[0-9])?s\b`)

// Shows says whether the lines that a page shows are those that were printed. A line "…"
// stands for any lines, a "…" within a line for any text. Times differ. Roles of different
// servers take turns as they like, so the order is free.
func Shows(want, out string) bool {
	printed, shown := lines(out), lines(want)
	open := slices.Contains(shown, "…")
	for _, line := range shown {
		if line == "…" {
			continue
		}
		i := slices.Index(printed, line)
		if i < 0 && strings.Contains(line, "…") {
			pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "$")
			i = slices.IndexFunc(printed, pattern.MatchString)
		}
		if i < 0 {
			return false
		}
		printed = slices.Delete(printed, i, i+1)
	}
	return open || len(printed) == 0
}

func lines(text string) (all []string) {
	for line := range strings.Lines(seconds.ReplaceAllString(text, " 0s")) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
