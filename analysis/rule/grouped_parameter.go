package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var groupedParameter = Rule{Code: source.GroupedParameter, Category: Language, Severity: source.Error, Evidence: HeatRefuses, Template: findGroupedParameters}

// findGroupedParameters compares parameter_groups with the parameters (heat/engine/
// parameter_groups.py).
func findGroupedParameters(l *Checker) {
	groups := l.Template.Root.Get("parameter_groups")
	if groups.IsNull() || groups.Kind != yaml.List && falsy(groups) {
		return
	}
	if groups.Kind != yaml.List {
		l.Report(groups, "parameter_groups must be a list, not "+groups.Kind.String(), "")
		return
	}
	at := map[string]*yaml.Node{}
	known := l.Template.ParameterNames()
	for _, g := range groups.Items {
		names := g.Get("parameters")
		switch {
		case g.Kind != yaml.Map || names.IsNull():
			l.Report(g, "a parameter group needs a list of parameters", "")
			continue
		case names.Kind != yaml.List:
			l.Report(names, "the parameters of a group must be a list, not "+names.Kind.String(), "")
			continue
		}
		for _, n := range names.Items {
			name, isText := n.Text()
			switch first := at[name]; {
			case !isText || !l.declares(name):
				l.Report(n, fmt.Sprintf("there is no parameter %s to group", value.EncodeJSON(n.Data())), "").Meant(name, hot.Nearest(name, known))
			case first != nil:
				l.Note(l.Report(n, fmt.Sprintf("the parameter %q is in a group already", name), "keep it in one group"), first, "the first group")
			default:
				at[name] = n
			}
		}
	}
}

// declares says whether a parameter is declared, even if with mistakes.
func (l *Checker) declares(name string) bool {
	return l.Template.Parameter(name) != nil || l.Template.Root.Get(l.Template.Keywords().Parameters).Entry(name) != nil
}

// falsy says whether a node is falsy in Python.
func falsy(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.List:
		return len(n.Items) == 0
	case yaml.Map:
		return len(n.Entries) == 0
	}
	return n.Value == nil || n.Value == "" || n.Value == false || n.Value == int64(0)
}
