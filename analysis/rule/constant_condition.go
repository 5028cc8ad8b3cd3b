package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

var constantCondition = Rule{Code: source.ConstantCondition, Category: Style, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findConstantConditions}

// findConstantConditions finds conditions that no parameter can change. A literal true or
// false is obvious, and a switch.
func findConstantConditions(l *Checker) {
	for _, c := range l.Template.Conditions {
		if c.Expr.IsValue() {
			continue
		}
		folded, err := hot.Fold(c.Expr, func(call *hot.Expr) (*hot.Expr, error) { return call, nil })
		if err == nil && folded.IsValue() {
			l.Report(c.Entry.Key, fmt.Sprintf("the condition %q is always %v", c.Name, folded.Value), "compare a parameter, or remove the condition")
		}
	}
}
