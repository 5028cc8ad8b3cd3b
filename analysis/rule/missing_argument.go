package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
)

var missingArgument = Rule{Code: source.MissingArgument, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findMissingArguments}

// findMissingArguments finds parameters of nested templates with neither a default nor a
// value.
func findMissingArguments(l *Checker) {
	for _, s := range l.Uses {
		if s.StackResource == nil {
			continue
		}
		d := s.StackResource.Definition()
		if d.Properties != nil && s.StackResource.In.Template.IsCall(d.Properties.Value) {
			continue // a function yields them all
		}
		for _, p := range l.Template.Parameters {
			if _, given := s.Supplied.Parameters[p.Name]; given || p.Default != nil || s.Arguments[p.Name] != nil {
				continue
			}
			at := d.Entry.Key
			if d.Properties != nil {
				at = d.Properties.Key
			}
			l.diags.Add(&source.Diagnostic{Code: l.rule.Code, Severity: l.rule.Severity, At: s.StackResource.In.Template.Place(at),
				Message: fmt.Sprintf("%s needs the parameter %q, which has no default", l.Template.File.Name, p.Name),
				Notes:   []source.Note{{At: l.Template.Place(p.Entry.Key), Message: "the parameter"}},
				Hint:    "set it among the properties, or in parameter_defaults of an environment"})
		}
	}
}
