package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var absentKey = Rule{Code: source.AbsentKey, Category: Style, Severity: source.Warning, Truth: TextShows, LintOnly: true, Template: findAbsentKeys}

// findAbsentKeys finds params of str_replace that its text does not have.
func findAbsentKeys(l *Look) {
	l.Calls(l.Template.Root, "str_replace", func(_, arg *yaml.Node) {
		text, isText := arg.Get("template").Text()
		params := arg.Get("params")
		if !isText || params == nil || params.Kind != yaml.Map || l.IsCall(params) {
			return
		}
		for _, e := range params.Entries {
			if e.Name != "" && !strings.Contains(text, e.Name) {
				l.Found(e.Key, fmt.Sprintf("%q is not in the text of str_replace: nothing is replaced by it", e.Name), hot.Meant(e.Name, strings.Fields(text), ""))
			}
		}
	})
}
