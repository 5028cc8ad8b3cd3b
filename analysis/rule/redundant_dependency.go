package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var redundantDependency = Rule{Code: source.RedundantDependency, Category: Style, Severity: source.Info, Evidence: TextShows, LintOnly: true, Template: findRedundantDependencies}

// findRedundantDependencies finds names in depends_on that the properties read already,
// under all conditions.
func findRedundantDependencies(l *Checker) {
	for r := range l.Resources {
		if r.DependsOn == nil || r.Properties == nil {
			continue
		}
		reads := map[string]*yaml.Node{}
		l.certain(r.Properties.Value, reads)
		items := r.DependsOn.Value.OneOrMore()
		var redundant []int
		for i, n := range items {
			if name, isText := n.Text(); isText && reads[name] != nil && l.Template.Resource(name) != nil && l.Template.Resource(name).Condition == nil {
				redundant = append(redundant, i)
			}
		}
		for _, i := range redundant {
			name, _ := items[i].Text()
			d := l.Report(items[i], fmt.Sprintf("%q already reads %q, and so waits for it", r.Name, name), "remove it")
			l.Note(d, reads[name], "it is read here")
			switch {
			case len(redundant) < len(items):
				d.Fix = l.removeItem(r.DependsOn.Value, i)
			case i == redundant[0]:
				d.Fix = l.removeEntry(r.DependsOn)
			}
		}
	}
}

// certain collects the resources that an expression always reads: not in a branch of an if.
func (l *Checker) certain(n *yaml.Node, reads map[string]*yaml.Node) {
	if l.IsCall(n) {
		if r := l.Ref(n); r.Kind == hot.ToResource || r.Kind == hot.ToAttribute {
			reads[r.Name] = n
		} else if _, is := l.call(n).expr.If(); is {
			return
		}
	}
	for x := range n.Below() {
		l.certain(x, reads)
	}
}
