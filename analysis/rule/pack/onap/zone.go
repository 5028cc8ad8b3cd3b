package onap

import (
	"regexp"
	"slices"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/program"
)

var zoneParameter = regexp.MustCompile(`^availability_zone_\d+$`)

// findZones is R-98450, for base and incremental modules; nested templates are exempt.
func findZones(l *rule.Checker) {
	if slices.ContainsFunc(l.Uses, func(s *program.Stack) bool { return s.StackResource != nil }) {
		return
	}
	for _, s := range servers(l) {
		s.isParameter(l, "availability_zone", zoneParameter, "availability_zone_{index}", "R-98450", "R-98450")
	}
}
