package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var replacedServer = Rule{Code: source.ReplacedServer, Category: Resources, Severity: source.Warning, Evidence: HeatsTables, LintOnly: true, Template: findReplacedServers}

// findReplacedServers finds servers whose user_data depends on a group's members: Heat
// replaces the server, with an empty disk, at the first update after the group has grown.
func findReplacedServers(l *Checker) {
	for b := range l.BlocksOf("OS::Nova::Server") {
		data := b.Get("user_data")
		if data == nil {
			continue
		}
		if policy := b.Get("user_data_update_policy"); policy != nil && !l.isText(policy, "REPLACE") {
			continue
		}
		told := false
		l.References(data, func(r hot.Ref, n *yaml.Node) {
			if told || r.Kind != hot.ToAttribute || r.Name == "" {
				return
			}
			group, kind := l.present(r.Name)
			if told = nesting.IsGroup(kind); !told {
				return
			}
			l.Note(l.Report(n, fmt.Sprintf("the user_data of %q depends on the members of %q: when their number changes, the next update replaces this server", b.Resource.Name, r.Name),
				"`user_data_update_policy: IGNORE` keeps the server; a software deployment informs it of changes"), group.Entry.Key, "the group")
		})
	}
}

// isText says whether a property certainly has a string value, which is also its default.
func (l *Checker) isText(n *yaml.Node, text string) bool {
	if n == nil {
		return true
	}
	v, known := l.Value(n)
	return known && v.Value == text
}
