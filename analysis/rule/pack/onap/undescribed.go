package onap

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/rule"
)

// findUndescribed is R-44001.
func findUndescribed(l *rule.Checker) {
	for _, e := range l.Template.Root.Get("parameters").All() {
		if e.Value.Get("description").IsNull() {
			l.Report(e.Key, fmt.Sprintf("ONAP requires a description of the parameter %q (R-44001)", e.Name), "description: what it is for")
		}
	}
}
