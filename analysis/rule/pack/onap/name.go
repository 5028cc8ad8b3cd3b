package onap

import (
	"regexp"

	"github.com/hotc-dev/hotc/analysis/rule"
)

var (
	nameParameter  = regexp.MustCompile(`^[A-Za-z0-9_]+_name_\d+$`)
	namesParameter = regexp.MustCompile(`^[A-Za-z0-9_]+_names$`)
)

// findNames is R-54171 and, for lists, R-87817, with R-663631.
func findNames(l *rule.Checker) {
	for _, s := range servers(l) {
		p := l.Template.Parameter(parameter(l, s.Get("name")))
		if p != nil && p.Type == "comma_delimited_list" {
			s.isParameter(l, "name", namesParameter, "{vm-type}_names", "R-663631", "R-87817")
		} else {
			s.isParameter(l, "name", nameParameter, "{vm-type}_name_{index}", "R-663631", "R-54171")
		}
	}
}
