package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var missingProperty = Rule{Code: source.MissingProperty, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findMissingProperties}

// findMissingProperties skips properties that a misspelt name may have meant: that is
// reported already. A null, or a function that yields null, counts as present: Heat treats
// each differently.
func findMissingProperties(l *Checker) {
	l.membersWithoutType()
	for _, t := range l.Typed() {
		if !l.IsCall(t.Node) {
			continue
		}
		for p := range l.Parts(t) {
			has, may, is := p.fields()
			if !is {
				continue
			}
			for _, name := range may {
				below := p.property.Properties[name]
				_, there := has.Get(name)
				_, older := has.Get(below.Instead)
				if below.Required && !there && !older {
					l.ReportProperty(t.In, []string{t.key}, t.Node, fmt.Sprintf("%s needs the property %q", p.name(), name), p.known)
				}
			}
		}
	}
	for _, b := range l.Blocks() {
		var misspelt []string
		for _, e := range b.Node.All() {
			if b.Known[e.Name] == nil {
				misspelt = append(misspelt, hot.Nearest(e.Name, b.names()))
			}
		}
		var needed []string
		for name, p := range b.Known {
			if p.Required && b.Node.Entry(name) == nil && !slices.Contains(misspelt, name) && (p.Instead == "" || b.Node.Entry(p.Instead) == nil) {
				needed = append(needed, name)
			}
		}
		slices.Sort(needed)
		switch len(needed) {
		case 0:
		case 1:
			l.ReportProperty(b, needed, b.within(), fmt.Sprintf("%s needs the property %q", b.Of, needed[0]), Known{})
		default:
			l.ReportProperty(b, needed, b.within(), fmt.Sprintf("%s needs the properties %s", b.Of, strings.Join(needed, ", ")), Known{})
		}
	}
}

// membersWithoutType finds groups without a type for their members: in Heat's tables that
// is an ordinary map, or an item that may be null.
func (l *Checker) membersWithoutType() {
	for b := range l.BlocksOf("OS::Heat::AutoScalingGroup", "OS::Heat::ResourceGroup") {
		name := "resource"
		if b.Type.Name == "OS::Heat::ResourceGroup" {
			name = "resource_def"
		}
		n := b.Get(name)
		if n == nil || n.Kind != yaml.Map || l.IsCall(n) {
			continue
		}
		if e := n.Entry("type"); e == nil && name == "resource" || e != nil && e.Value.IsNull() {
			l.Report(n, fmt.Sprintf("%s of %s needs the property \"type\"", name, b.Of), "")
		}
	}
	for b := range l.BlocksOf("OS::Heat::ResourceChain") {
		for _, n := range b.Get("resources").List() {
			if n.IsNull() {
				l.Report(n, fmt.Sprintf("an item of resources of %s must be a type", b.Of), "")
			}
		}
	}
}
