package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

var absentKey = Rule{Code: source.AbsentKey, Category: Style, Severity: source.Warning, Truth: TextShows, LintOnly: true, Template: findAbsentKeys}

// findAbsentKeys finds params of str_replace that its text does not have.
func findAbsentKeys(l *Look) {
	for _, c := range l.callsIn(l.Template.Root) {
		template, params := l.Template.TextAt(c.at)
		text, isText := template.Text()
		if !isText || params == nil || firstName(c.at) != "str_replace" || l.IsCall(params) {
			continue // the stricter ones say so themselves
		}
		for _, e := range params.Entries {
			if e.Name != "" && !strings.Contains(text, e.Name) {
				l.Found(e.Key, fmt.Sprintf("%q is not in the text of str_replace: nothing is replaced by it", e.Name), hot.Meant(e.Name, strings.Fields(text), ""))
			}
		}
	}
}
