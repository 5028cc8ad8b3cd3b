package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
)

var unfitTemplate = Rule{Code: source.UnfitTemplate, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findUnfitTemplates}

// findUnfitTemplates finds templates that an environment maps a type of Heat's to, and that
// lack its properties or attributes
// (heat/engine/resources/template_resource.py, _validate_against_facade).
func findUnfitTemplates(l *Checker) {
	said := map[string]bool{}
	for _, s := range l.Uses {
		n := s.StackResource
		if n == nil || n.Definition().TypeNode == nil {
			continue
		}
		written, _ := n.Definition().TypeNode.Text() // Type may be an environment's replacement
		if t := l.Types.Lookup(written); t != nil && !said[t.Name] {
			said[t.Name] = true
			l.unfit(t, n)
		}
	}
}

func (l *Checker) unfit(t *resourcetype.Type, n *program.StackResource) {
	say := func(at source.Spanned, format string, args ...any) {
		d := l.ReportType(t, at, fmt.Sprintf(format, args...), Known{})
		d.Note(n.In.Template.Place(n.Definition().Entry.Key), fmt.Sprintf("the template replaces %s here", t.Name))
	}
	whole := l.Template.Root.Entries[0].Key
	var lacks []string
	for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
		p := t.Properties[name]
		if own := l.Template.Parameter(name); own == nil && p.Required {
			lacks = append(lacks, name)
		} else if want := p.Kind.Parameter(); own != nil && want != "" && want != own.Type {
			say(own.Entry.Key, "the parameter %q replaces a property of %s and must have the type %s, not %s", name, t.Name, want, own.Type)
		}
	}
	if len(lacks) > 0 {
		say(whole, "the template lacks parameters for properties that %s needs: %s", t.Name, strings.Join(lacks, ", "))
	}
	for _, p := range l.Template.Parameters {
		if _, given := l.environment.Defaults[p.Name]; p.Default == nil && t.Properties[p.Name] == nil && !given {
			say(p.Entry.Key, "the parameter %q has no default, and %s has no such property", p.Name, t.Name)
		}
	}
	outputs := lists.Map(l.Template.Outputs, func(o *hot.Output) string { return o.Name })
	missing := lists.Only(slices.Sorted(maps.Keys(t.Attributes)), func(name string) bool { return name != "show" && !slices.Contains(outputs, name) })
	if len(missing) > 0 {
		say(whole, "the template lacks outputs for attributes of %s: %s", t.Name, strings.Join(missing, ", "))
	}
}
