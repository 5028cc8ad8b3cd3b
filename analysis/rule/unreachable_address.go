package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var unreachableAddress = Rule{Code: source.UnreachableAddress, Category: Resources, Severity: source.Warning, Truth: CreationFails, LintOnly: true, Template: findUnreachableAddresses}

// findUnreachableAddresses finds floating IPs of servers that Heat may hand out before
// a router reaches the server's network: Neutron refuses that, now and then. Heat itself
// orders what gives a port its address (heat/engine/resources/openstack/neutron/
// floatingip.py, add_dependencies), and not what gives a server one.
func findUnreachableAddresses(l *Look) {
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
			d := l.Found(b.Resource.Entry.Key, fmt.Sprintf("%q may give %q its address before %q links its network to the router: Neutron refuses that", b.Resource.Name, server.Name, i.Resource.Name),
				fmt.Sprintf("`depends_on: %s`", i.Resource.Name))
			l.Note(d, i.Resource.Entry.Key, "the router's interface")
		}
	}
}

// dependencies are those between a template's resources, by their texts alone.
type dependencies struct {
	look *Look
	of   map[string]map[string]bool
}

func (l *Look) dependencies() *dependencies {
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

// reaches says whether a resource waits for another one, or for one that does.
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

// networkOf is the network of a subnet, or the subnet itself where that is not known.
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
