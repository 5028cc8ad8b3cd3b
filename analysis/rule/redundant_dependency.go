package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var redundantDependency = Rule{Code: source.RedundantDependency, Category: Style, Severity: source.Info, Truth: TextShows, LintOnly: true, Template: findRedundantDependencies}

// findRedundantDependencies finds names in depends_on that the properties read already,
// whatever any condition says.
func findRedundantDependencies(l *Look) {
	for r := range l.Resources {
		if r.DependsOn == nil || r.Properties == nil {
			continue
		}
		reads := map[string]*yaml.Node{}
		l.certain(r.Properties.Value, reads)
		items := r.DependsOn.Value.Items
		if r.DependsOn.Value.Kind == yaml.Scalar {
			items = []*yaml.Node{r.DependsOn.Value}
		}
		for _, n := range items {
			if name, isText := n.Text(); isText && reads[name] != nil && l.Template.Resource(name) != nil && l.Template.Resource(name).Condition == nil {
				d := l.Found(n, fmt.Sprintf("%q reads %q already, and so waits for it", r.Name, name), "leave it out")
				l.Note(d, reads[name], "here")
				if len(items) == 1 {
					d.Fix = l.without(r.DependsOn)
				}
			}
		}
	}
}

// without is the fix that takes an entry of a block out, with its line; nil where something
// else stands in the line.
func (l *Look) without(e *yaml.Entry) *source.Fix {
	file := l.Template.File
	start, end := file.LineStart(e.Key.Span.Start), file.LineEnd(e.Value.Span.End)
	before, behind := file.Slice(source.Span{Start: start, End: e.Key.Span.Start}), file.Slice(source.Span{Start: e.Value.Span.End, End: end})
	if strings.TrimSpace(before) != "" || strings.TrimSpace(behind) != "" || e.Merged || e.Value.Target() != nil {
		return nil
	}
	return &source.Fix{Does: "leave it out", Edits: []source.Edit{{Span: source.Span{Start: start, End: end}}}}
}

// certain are the resources that an expression reads in any case: not in a branch of an if.
func (l *Look) certain(n *yaml.Node, reads map[string]*yaml.Node) {
	if l.IsCall(n) {
		switch r := l.Ref(n); {
		case r.Kind == hot.ToResource || r.Kind == hot.ToAttribute:
			reads[r.Name] = n
		case n.Entries[0].Name == "if" || n.Entries[0].Name == "Fn::If":
			return
		}
	}
	for _, x := range n.Items {
		l.certain(x, reads)
	}
	for _, e := range n.Entries {
		l.certain(e.Value, reads)
	}
}
