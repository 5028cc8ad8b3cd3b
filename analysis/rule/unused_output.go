package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var unusedOutput = Rule{Code: source.UnusedOutput, Category: Style, Severity: source.Info, Evidence: TextShows, LintOnly: true, Whole: true, Everywhere: true, Template: findUnusedOutputs}

// findUnusedOutputs finds outputs of nested templates that no enclosing stack reads. It skips
// templates that an environment maps a type to: they are interchangeable.
func findUnusedOutputs(l *Checker) {
	used, all := map[string]bool{"OS::stack_id": true}, false // which get_resource gives
	for _, s := range l.Uses {
		if s.StackResource == nil || !environment.IsTemplate(s.StackResource.Definition().Type) {
			return
		}
		n := s.StackResource
		around := Checker{Program: l.Program, Template: n.In.Template}
		around.References(n.In.Template.Root, func(r hot.Ref, _ *yaml.Node) {
			if r.Kind != hot.ToAttribute || r.Name != "" && r.Name != n.Resource.Name {
				return
			}
			sel := n.Select(r.Attribute, r.Path, r.Computed)
			if used[sel.Attribute] = true; sel.Attribute == "" && (sel.Gives != program.HeatsOwn || r.Attribute == "show" || r.Attribute == "") || r.Name == "" {
				all = true
			}
		})
	}
	for _, o := range l.Template.Outputs {
		if !used[o.Name] && !all {
			l.Report(o.Entry.Key, fmt.Sprintf("no template that nests this one reads the output %q", o.Name), "")
		}
	}
}
