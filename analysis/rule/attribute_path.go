package rule

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var attributePath = Rule{Code: source.AttributePath, Category: Resources, Severity: source.Warning, Evidence: HeatsTables, LintOnly: true, Template: findAttributePaths}

// findAttributePaths finds paths into attributes that are strings or numbers: Heat gives null
// for a name in a string, and for an index the character there (heat/engine/
// attributes.py, select_from_attribute).
func findAttributePaths(l *Checker) {
	l.attributes(func(r hot.Ref, n *yaml.Node, t *resourcetype.Type, kind resourcetype.Kind) {
		if len(r.Path) == 0 || slices.Contains([]resourcetype.Kind{resourcetype.Map, resourcetype.List, resourcetype.Any, ""}, kind) {
			return
		}
		gives, hint := "null, without an error", ""
		if _, index := r.Path[0].(int64); index && kind == resourcetype.String {
			gives = "a single character"
		} else if kind == resourcetype.String {
			hint = "if the string is JSON, a nested template with a parameter of type json parses it"
		}
		l.Report(n, fmt.Sprintf("the attribute %q of %s is %s in %s: a path into it yields %s", r.Attribute, t.Name, kind, l.Types.Says(t), gives), hint)
	})
}

// attributes visits reads of attributes of resources with a known type; an alias once.
func (l *Checker) attributes(visit func(r hot.Ref, n *yaml.Node, t *resourcetype.Type, kind resourcetype.Kind)) {
	seen := map[*yaml.Node]bool{}
	l.References(l.Template.Root, func(r hot.Ref, n *yaml.Node) {
		if t, kind := l.attribute(r); t != nil && !seen[n] {
			seen[n] = true
			visit(r, n, t, kind)
		}
	})
}

// attribute is the type of the resource whose attribute is read, and the attribute's type in
// its table, "" if none; nil if the type is unknown, or differs between uses.
func (l *Checker) attribute(r hot.Ref) (t *resourcetype.Type, kind resourcetype.Kind) {
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
