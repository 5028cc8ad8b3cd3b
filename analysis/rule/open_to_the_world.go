package rule

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var openToTheWorld = Rule{Code: source.OpenToTheWorld, Category: Security, Severity: source.Warning, Evidence: TextShows, LintOnly: true, Template: findOpenToTheWorld}

// findOpenToTheWorld finds security group rules that open ssh, remote desktops, or every
// port to all addresses.
func findOpenToTheWorld(l *Checker) {
	for n := range l.groupRules {
		l.groupRule(n)
	}
}

// groupRules visits the rules of security groups, inline and separate.
func (l *Checker) groupRules(yield func(*yaml.Node) bool) {
	for b := range l.BlocksOf("OS::Neutron::SecurityGroup", "OS::Neutron::SecurityGroupRule") {
		rules := []*yaml.Node{b.Node}
		if b.Type.Name == "OS::Neutron::SecurityGroup" {
			rules = b.Get("rules").OneOrMore()
		}
		for _, n := range rules {
			if n != nil && !yield(n) {
				return
			}
		}
	}
}

// sensitive are ports for logins.
var sensitive = []struct {
	port int64
	name string
}{{22, "ssh"}, {3389, "remote desktops"}}

func (l *Checker) groupRule(n *yaml.Node) {
	if n.Kind != yaml.Map || l.IsCall(n) {
		return
	}
	text := func(name, otherwise string) (string, bool) {
		x := n.Get(name)
		if x.IsNull() {
			return otherwise, true
		}
		v, known := l.Value(x)
		return value.ToString(v.Value), known && v.If == ""
	}
	direction, known1 := text("direction", "ingress")
	from, known2 := text("remote_ip_prefix", "0.0.0.0/0")
	protocol, known3 := text("protocol", "any")
	least, known4 := text("port_range_min", "")
	most, known5 := text("port_range_max", "")
	groups := []string{"remote_group", "remote_group_id", "remote_mode"}
	if slices.ContainsFunc(groups, func(name string) bool { return !n.Get(name).IsNull() }) || !(known1 && known2 && known3 && known4 && known5) ||
		direction != "ingress" || from != "0.0.0.0/0" && from != "::/0" || !slices.Contains([]string{"tcp", "6", "any", "0"}, protocol) {
		return
	}
	if least == "" && most == "" {
		if n.Get("remote_ip_prefix").IsNull() && n.Get("protocol").IsNull() {
			return // it restricts nothing explicitly
		}
		l.Report(n, "this opens every port to all addresses", "restrict the ports, or the sources: remote_ip_prefix, remote_group")
		return
	}
	first, _, isFirst := l.Number(n.Get("port_range_min"))
	last, _, isLast := l.Number(n.Get("port_range_max"))
	for _, s := range sensitive {
		if isFirst && isLast && first <= s.port && s.port <= last {
			l.Report(n, fmt.Sprintf("this opens %s (port %d) to all addresses", s.name, s.port), "restrict the sources: remote_ip_prefix, remote_group")
			return
		}
	}
}
