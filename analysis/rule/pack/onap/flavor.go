package onap

import (
	"regexp"

	"github.com/hotc-dev/hotc/analysis/rule"
)

var flavorParameter = regexp.MustCompile(`^[A-Za-z0-9_]+_flavor_name$`)

// findFlavors is R-45188, with R-481670.
func findFlavors(l *rule.Checker) {
	for _, s := range servers(l) {
		s.isParameter(l, "flavor", flavorParameter, "{vm-type}_flavor_name", "R-481670", "R-45188")
	}
}
