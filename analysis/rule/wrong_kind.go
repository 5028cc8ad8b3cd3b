package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

var wrongKind = Rule{Code: source.WrongKind, Category: Resources, Severity: source.Warning, Evidence: CreationFails, Template: findWrongKinds}

// constraintOf maps resource types to the names in Heat's constraints.
var constraintOf = map[string]string{
	"OS::Cinder::Volume":         "cinder.volume",
	"OS::Glance::Image":          "glance.image",
	"OS::Glance::WebImage":       "glance.image",
	"OS::Neutron::Net":           "neutron.network",
	"OS::Neutron::Port":          "neutron.port",
	"OS::Neutron::ProviderNet":   "neutron.network",
	"OS::Neutron::QoSPolicy":     "neutron.qos_policy",
	"OS::Neutron::Router":        "neutron.router",
	"OS::Neutron::SecurityGroup": "neutron.security_group",
	"OS::Neutron::Subnet":        "neutron.subnet",
	"OS::Neutron::SubnetPool":    "neutron.subnetpool",
	"OS::Nova::Flavor":           "nova.flavor",
	"OS::Nova::KeyPair":          "nova.keypair",
	"OS::Nova::Server":           "nova.server",
	"OS::Heat::RandomString":     "heat.text",
	"OS::Heat::SoftwareConfig":   "heat.config",
	"OS::Neutron::FloatingIP":    "neutron.floatingip",
}

// findWrongKinds finds get_resource of a resource that cannot satisfy the property's
// constraint. Heat checks that only when it creates the resource.
func findWrongKinds(l *Checker) {
	kinds := map[string]bool{}
	for _, kind := range constraintOf {
		kinds[kind] = true
	}
	for b := range l.BlocksOf("AWS::IAM::User") {
		l.usersPolicies(b)
	}
	for _, t := range l.Typed() {
		want := t.Property.Custom
		if !kinds[want] {
			continue
		}
		r := l.Ref(t.Node)
		if r.Kind != hot.ToResource || r.Name == "" {
			continue
		}
		target, kind := l.present(r.Name)
		is := constraintOf[kind]
		if is == "" || is == want || l.Use(r.Name).StackResourceOf(r.Name) != nil || target.Entry.Value.Get("external_id") != nil {
			continue
		}
		d := l.Report(t.Node, fmt.Sprintf("%s must be a %s, but %q is an %s", t.Name(), constraintNoun(want), r.Name, kind), "")
		var fit []string
		for x := range l.Resources {
			if constraintOf[l.Use(x.Name).Type(x)] == want {
				fit = append(fit, x.Name)
			}
		}
		if len(fit) > 0 && len(fit) < maxNames {
			slices.Sort(fit)
			d.Hint = fmt.Sprintf("a %s would be %s", constraintNoun(want), strings.Join(fit, ", "))
		}
		l.Note(d, target.Entry.Key, "the resource")
	}
}

// usersPolicies finds names among a user's policies that are not policies of the stack
// (heat/engine/resources/aws/iam/user.py, _validate_policies).
func (l *Checker) usersPolicies(b *Block) {
	for _, n := range b.Get("Policies").List() {
		if r, kind := l.named(n); l.Types.Lookup(kind) != nil && kind != "OS::Heat::AccessPolicy" {
			l.Report(n, fmt.Sprintf("a policy of %s must be an OS::Heat::AccessPolicy, but %q is an %s", b.Of, r.Name, kind), "")
		}
	}
}

// constraintNoun describes what a constraint requires in messages.
func constraintNoun(custom string) string {
	_, name, _ := strings.Cut(custom, ".")
	return strings.ReplaceAll(name, "_", " ")
}
