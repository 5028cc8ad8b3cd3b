package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var usedTwice = Rule{Code: source.UsedTwice, Category: Resources, Severity: source.Warning, Truth: CreationFails, Template: findUsedTwice}

// findUsedTwice finds ports that two servers have: Nova refuses the second. Servers that
// have a condition may exclude each other.
func findUsedTwice(l *Look) {
	first := map[string]*yaml.Node{}
	for b := range l.BlocksOf("OS::Nova::Server") {
		networks := b.Get("networks")
		if networks == nil || networks.Kind != yaml.List || b.Resource.Condition != nil {
			continue
		}
		for _, n := range networks.Items {
			port := n.Get("port")
			r := l.Ref(port)
			if r.Kind != hot.ToResource || r.Name == "" {
				continue
			}
			if other := first[r.Name]; other != nil && other != port {
				l.Note(l.Found(port, fmt.Sprintf("another server has the port %q already", r.Name), "give each server a port of its own"), other, "the other one")
				continue
			}
			first[r.Name] = port
		}
	}
}
