package onap

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// metadata are the keys of a server's metadata that ONAP fills, with their requirements: of
// the key, and of the parameter's name.
var metadata = []struct{ key, wanted, called string }{
	{"vnf_id", "R-37437", "R-07507"},
	{"vf_module_id", "R-71493", "R-82134"},
	{"vnf_name", "R-72483", "R-62428"},
}

// findMetadata is R-37437, R-71493 and R-72483.
func findMetadata(l *rule.Checker) {
	for _, s := range servers(l) {
		n := s.Get("metadata")
		if n != nil && (n.Kind != yaml.Map || l.IsCall(n)) {
			continue // its contents are computed
		}
		for _, m := range metadata {
			value := n.Get(m.key)
			switch name := parameter(l, value); {
			case value == nil && n == nil:
				l.Report(s.Resource.Entry.Key, fmt.Sprintf("ONAP requires a server's metadata to contain %s (%s)", m.key, m.wanted), fmt.Sprintf("metadata: {%s: {get_param: %s}, …}", m.key, m.key))
			case value == nil:
				l.Report(s.Node.Entry("metadata").Key, fmt.Sprintf("ONAP requires a server's metadata to contain %s (%s)", m.key, m.wanted), fmt.Sprintf("%s: {get_param: %s}", m.key, m.key))
			case name != m.key:
				l.Report(value, fmt.Sprintf("ONAP requires %s in a server's metadata to come from the parameter %s (%s, %s)", m.key, m.key, m.wanted, m.called), "")
			}
		}
	}
}
