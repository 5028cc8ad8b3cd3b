package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

var absentKey = Rule{Code: source.AbsentKey, Category: Style, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findAbsentKeys}

// findAbsentKeys finds params of str_replace that do not occur in its template.
func findAbsentKeys(l *Checker) {
	for _, c := range l.callsIn(l.Template.Root) {
		template, params := l.Template.TextAt(c.at)
		text, isText := template.Text()
		if !isText || params == nil || firstName(c.at) != "str_replace" || l.IsCall(params) {
			continue // the strict variants are checked by Heat
		}
		for _, e := range params.Entries {
			if e.Name != "" && !strings.Contains(text, e.Name) {
				l.Report(e.Key, fmt.Sprintf("%q does not occur in the template of str_replace: it replaces nothing", e.Name), hot.DidYouMean(e.Name, strings.Fields(text), ""))
			}
		}
	}
}
