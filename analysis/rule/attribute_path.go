package rule

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var attributePath = Rule{Code: source.AttributePath, Category: Resources, Severity: source.Warning, Truth: HeatsTables, LintOnly: true, Template: findAttributePaths}

// findAttributePaths finds paths into attributes that are texts or numbers: Heat gives null
// for a name in a text, and for a number the character at that place (heat/engine/
// attributes.py, select_from_attribute).
func findAttributePaths(l *Look) {
	l.attributes(func(r hot.Ref, n *yaml.Node, t *resourcetype.Type, kind resourcetype.Kind) {
		if len(r.Path) == 0 || slices.Contains([]resourcetype.Kind{resourcetype.Map, resourcetype.List, resourcetype.Any, ""}, kind) {
			return
		}
		gives, hint := "nothing, not even an error", ""
		if _, index := r.Path[0].(int64); index && kind == resourcetype.String {
			gives = "a single character"
		} else if kind == resourcetype.String {
			hint = "if the text is JSON, a nested template with a parameter of type json reads it"
		}
		l.Found(n, fmt.Sprintf("the attribute %q of %s is %s in %s: a path into it gives %s", r.Attribute, t.Name, kind, l.Types.Says(t), gives), hint)
	})
}

// attributes visits the reads of attributes of resources whose type is known; an alias once.
func (l *Look) attributes(visit func(r hot.Ref, n *yaml.Node, t *resourcetype.Type, kind resourcetype.Kind)) {
	seen := map[*yaml.Node]bool{}
	l.References(l.Template.Root, func(r hot.Ref, n *yaml.Node) {
		if t, kind := l.attribute(r); t != nil && !seen[n] {
			seen[n] = true
			visit(r, n, t, kind)
		}
	})
}

// attribute is the type of the resource whose attribute is read, and the type that its table
// gives the attribute, "" if none; nil if that is not known, or not the same in all uses.
func (l *Look) attribute(r hot.Ref) (t *resourcetype.Type, kind resourcetype.Kind) {
	resource := l.Template.Resource(r.Name)
	if r.Kind != hot.ToAttribute || r.Attribute == "" || resource == nil {
		return nil, ""
	}
	for _, s := range l.Uses {
		if s.Absent(r.Name) {
			continue
		}
		of := l.Types.Lookup(s.Type(resource))
		if of == nil || s.StackResourceOf(r.Name) != nil || t != nil && t != of {
			return nil, ""
		}
		t = of
	}
	if t != nil {
		kind = t.Attributes[r.Attribute]
	}
	return t, kind
}
