package onap

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/rule"
)

// findServerNames is R-29751.
func findServerNames(l *rule.Checker) {
	for _, s := range servers(l) {
		if s.kind == "" {
			l.Report(s.Resource.Entry.Key, fmt.Sprintf("ONAP requires a server to be named {vm-type}_server_{index}, not %q (R-29751)", s.Resource.Name), "such as "+s.Resource.Name+"_server_0")
		}
	}
}
