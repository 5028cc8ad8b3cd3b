package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var replacedServer = Rule{Code: source.ReplacedServer, Category: Resources, Severity: source.Warning, Truth: HeatsTables, LintOnly: true, Template: findReplacedServers}

// findReplacedServers finds servers whose user_data tells of a group's members: Heat makes
// the server anew, with an empty disk, at the first update after the group has grown.
func findReplacedServers(l *Look) {
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
			group, kind := l.there(r.Name)
			if told = nesting.IsGroup(kind); !told {
				return
			}
			l.Note(l.Found(n, fmt.Sprintf("the user_data of %q tells of the members of %q: when their number changes, the next update makes this server anew", b.Resource.Name, r.Name),
				"`user_data_update_policy: IGNORE` keeps the server; a software deployment tells it of changes"), group.Entry.Key, "the group")
		})
	}
}

// isText says whether a property surely has a text, which it has, too, if it is not there.
func (l *Look) isText(n *yaml.Node, text string) bool {
	if n == nil {
		return true
	}
	v, known := l.Value(n)
	return known && v.Value == text
}
