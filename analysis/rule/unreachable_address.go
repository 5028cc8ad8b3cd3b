package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var unreachableAddress = Rule{Code: source.UnreachableAddress, Category: Resources, Severity: source.Warning, Evidence: CreationFails, LintOnly: true, Template: findUnreachableAddresses}

// findUnreachableAddresses finds floating IPs of servers that Heat may assign before
// a router reaches the server's network: Neutron refuses that, intermittently. Heat itself
// orders the assignment to a port (heat/engine/resources/openstack/neutron/
// floatingip.py, add_dependencies), but not to a server.
func findUnreachableAddresses(l *Checker) {
	var g *dependencies
	for b := range l.BlocksOf("OS::Nova::FloatingIPAssociation") {
		server := l.Ref(b.Get("server_id"))
		if server.Kind != hot.ToResource || l.Template.Resource(server.Name) == nil {
			continue
		}
		if g == nil {
			g = l.dependencies()
		}
		for i := range l.BlocksOf("OS::Neutron::RouterInterface") {
			subnet := l.Ref(i.Get("subnet"))
			if subnet.Kind == hot.NoRef {
				subnet = l.Ref(i.Get("subnet_id"))
			}
			if subnet.Kind != hot.ToResource || subnet.Name == "" || !g.reaches(server.Name, g.networkOf(subnet.Name)) || g.reaches(b.Resource.Name, i.Resource.Name) {
				continue
			}
			d := l.Report(b.Resource.Entry.Key, fmt.Sprintf("%q may assign %q its address before %q connects its network to the router: Neutron refuses that", b.Resource.Name, server.Name, i.Resource.Name),
				fmt.Sprintf("add `depends_on: %s`", i.Resource.Name))
			l.Note(d, i.Resource.Entry.Key, "the router's interface")
		}
	}
}

// dependencies are those between a template's resources, by their references alone.
type dependencies struct {
	look *Checker
	of   map[string]map[string]bool
}

func (l *Checker) dependencies() *dependencies {
	g := &dependencies{l, map[string]map[string]bool{}}
	for _, r := range l.Template.Resources {
		on := map[string]bool{}
		l.References(r.Entry.Value, func(ref hot.Ref, _ *yaml.Node) {
			if ref.Kind == hot.ToResource || ref.Kind == hot.ToAttribute {
				on[ref.Name] = true
			}
		})
		if r.DependsOn != nil {
			for _, n := range r.DependsOn.Value.OneOrMore() {
				if name, is := n.Text(); is {
					on[name] = true
				}
			}
		}
		g.of[r.Name] = on
	}
	return g
}

// reaches says whether a resource depends on another one, directly or not.
func (g *dependencies) reaches(from, to string) bool {
	seen := map[string]bool{}
	var visit func(name string) bool
	visit = func(name string) bool {
		if name == to {
			return true
		}
		if seen[name] {
			return false
		}
		seen[name] = true
		for on := range g.of[name] {
			if visit(on) {
				return true
			}
		}
		return false
	}
	return visit(from)
}

// networkOf is the network of a subnet, or the subnet itself if the network is unknown.
func (g *dependencies) networkOf(subnet string) string {
	if r := g.look.Template.Resource(subnet); r != nil && r.Properties != nil {
		for _, name := range []string{"network", "network_id"} {
			if ref := g.look.Ref(r.Property(name)); ref.Kind == hot.ToResource && ref.Name != "" {
				return ref.Name
			}
		}
	}
	return subnet
}
