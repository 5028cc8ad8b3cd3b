package onap

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/rule"
)

// findDefaults is R-90526.
func findDefaults(l *rule.Checker) {
	for _, e := range l.Template.Root.Get("parameters").All() {
		if d := e.Value.Entry("default"); d != nil {
			l.Report(d.Key, fmt.Sprintf("ONAP forbids a default of the parameter %q (R-90526)", e.Name), "set its value in an environment file")
		}
	}
}
