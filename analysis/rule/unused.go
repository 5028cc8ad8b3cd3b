package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

var (
	unusedParameter = Rule{Code: source.UnusedParameter, Category: Style, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Whole: true, Template: findUnusedParameters}
	unusedCondition = Rule{Code: source.UnusedCondition, Category: Style, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Whole: true, Template: findUnusedConditions}
)

// findUnusedParameters skips nested templates: a parameter may be passed to several
// interchangeable ones.
func findUnusedParameters(l *Checker) {
	if l.nested() || len(l.Template.Resources) == 0 {
		return
	}
	used, all := l.referred(hot.ToParameter)
	for _, p := range l.Template.Parameters {
		if !used[p.Name] && !all {
			fix := l.unsafeRemove(p.Entry, l.Template.Keywords().Parameters)
			if fix != nil {
				fix.Parameters = []string{p.Name}
			}
			l.Report(p.Entry.Key, fmt.Sprintf("nothing reads the parameter %q", p.Name), "").Fix = fix
		}
	}
}

func findUnusedConditions(l *Checker) {
	conditions := l.Template.Root.Get(l.Template.Keywords().Conditions).All()
	if len(conditions) == 0 {
		return
	}
	words := map[string]bool{} // a condition is a plain string: any occurrence counts
	collectWords(l.Template.Root, words)
	for _, c := range conditions {
		if !words[c.Name] {
			l.Report(c.Key, fmt.Sprintf("nothing uses the condition %q", c.Name), "").Fix = l.unsafeRemove(&c, l.Template.Keywords().Conditions)
		}
	}
}
