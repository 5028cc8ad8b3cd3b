package rule

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var serverNetwork = Rule{Code: source.ServerNetwork, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findServerNetworks}

// findServerNetworks checks the networks of servers (heat/engine/resources/openstack/
// nova/server_network_mixin.py, _validate_network).
func findServerNetworks(l *Checker) {
	for b := range l.BlocksOf("OS::Nova::Server") {
		networks := b.Get("networks").List()
		for _, n := range networks {
			if n.Kind != yaml.Map || l.IsCall(n) {
				continue
			}
			if has := func(name string) bool { return !n.Get(name).IsNull() }; !slices.ContainsFunc([]string{"network", "uuid", "port", "subnet", "allocate_network"}, has) {
				l.Report(n, "a server's network needs one of network, port, subnet, allocate_network", "").Refused = l.always(b.Resource) && !hasNull(n)
			}
		}
		hasPort := slices.ContainsFunc(networks, func(n *yaml.Node) bool { return !n.Get("port").IsNull() && !l.mayBeNull(n.Get("port")) })
		if hasPort && len(b.Get("security_groups").List()) > 0 {
			l.Report(b.Node.Entry("security_groups").Key, "a server does not accept security_groups together with a port, which has its own", "set the groups on the port")
		}
	}
}
