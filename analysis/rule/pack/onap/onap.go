// Package onap is the pack of ONAP's rules: its VNF requirements for Heat templates
// (onap/vnfrqts-requirements), one per file, as far as a single template can violate them.
// A rule's code is the number of the requirement: ONAP-29751 is R-29751.
//
// The requirements refer to a VM's type, an index and a network's role. Here the type is
// the part of a server's name before _server_INDEX.
package onap

import (
	"fmt"
	"regexp"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Pack is the pack.
var Pack = rule.Pack{Name: "onap", About: "ONAP's VNF requirements", Rules: []*rule.Rule{
	newRule("ONAP-29751", findServerNames),
	newRule("ONAP-11690", findIndexes),
	newRule("ONAP-20453", findPortNames),
	newRule("ONAP-58670", findImages),
	newRule("ONAP-45188", findFlavors),
	newRule("ONAP-54171", findNames),
	newRule("ONAP-98450", findZones),
	newRule("ONAP-37437", findMetadata),
	newRule("ONAP-304011", findMixedTypes),
	newRule("ONAP-44001", findUndescribed),
	newRule("ONAP-90526", findDefaults),
}}

func newRule(code source.Code, look func(*rule.Checker)) *rule.Rule {
	return &rule.Rule{Code: code, Category: "onap", Severity: source.Warning, Evidence: rule.TextShows, LintOnly: true, Template: look}
}

var serverName = regexp.MustCompile(`^([A-Za-z0-9_]+)_server_(\d+)$`)

// server is one of a template's servers.
type server struct {
	*rule.Block
	kind, index string // from its name; "" if that has none
}

// servers are those of a template that are resources of its own.
func servers(l *rule.Checker) (out []server) {
	for b := range l.BlocksOf("OS::Nova::Server") {
		if l.Template.Resource(b.Resource.Name) != b.Resource {
			continue // the member of a group, which has no name of its own
		}
		s := server{Block: b}
		if m := serverName.FindStringSubmatch(b.Resource.Name); m != nil {
			s.kind, s.index = m[1], m[2]
		}
		out = append(out, s)
	}
	return out
}

// ports are the ports of the template that a server is attached to.
func (s server) ports(l *rule.Checker) (out []*hot.Resource) {
	for _, item := range s.Get("networks").List() {
		if r := l.Ref(item.Get("port")); r.Kind == hot.ToResource {
			if port := l.Template.Resource(r.Name); port != nil && port.Type == "OS::Neutron::Port" {
				out = append(out, port)
			}
		}
	}
	return out
}

// parameter is the name of the parameter that a value is; "" if it is something else.
func parameter(l *rule.Checker, n *yaml.Node) string {
	if r := l.Ref(n); r.Kind == hot.ToParameter {
		return r.Name
	}
	return ""
}

// isParameter checks that a property is a parameter, as the requirement isOne demands, with
// a name of a form, as named demands.
func (s server) isParameter(l *rule.Checker, property string, form *regexp.Regexp, shown, isOne, named string) {
	n := s.Get(property)
	if n == nil {
		return
	}
	switch name := parameter(l, n); {
	case name == "":
		l.Report(n, fmt.Sprintf("ONAP requires a server's %s to be a parameter (%s)", property, isOne), "{get_param: "+shown+"}")
	case !form.MatchString(name):
		l.Report(n, fmt.Sprintf("ONAP requires the parameter of a server's %s to be named %s, not %q (%s)", property, shown, name, named), "")
	}
}
