package rule

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var (
	deprecatedType     = Rule{Code: source.DeprecatedType, Category: Resources, Severity: source.Warning, Evidence: HeatsTables, LintOnly: true, Template: findDeprecatedTypes}
	deprecatedProperty = Rule{Code: source.DeprecatedProperty, Category: Resources, Severity: source.Warning, Evidence: HeatsTables, LintOnly: true, Template: findDeprecatedProperties}
)

func findDeprecatedTypes(l *Checker) {
	for r := range l.Resources {
		if kind := l.Use(r.Name).Type(r); l.Types.DoesNothing(kind) && kind != "OS::Heat::None" && r.TypeNode != nil {
			l.Report(r.TypeNode, fmt.Sprintf("Heat %s ignores the type %s, which it keeps only for existing stacks", l.Types.Release(), kind), "")
		}
	}
	for _, b := range l.Blocks() {
		if t := b.Type; b.Path == "" && t.Deprecated != nil {
			at := source.Spanned(b.Resource.Entry.Key)
			if b.Resource.TypeNode != nil {
				at = b.Resource.TypeNode
			}
			l.Report(at, fmt.Sprintf("%s is %s in %s", t.Name, ailing(t.Status), l.Types.Says(t)), *t.Deprecated)
		}
	}
}

func findDeprecatedProperties(l *Checker) {
	l.deprecatedAttributes()
	for _, b := range l.Blocks() {
		if b.Type.Deprecated != nil {
			continue // the whole type is deprecated
		}
		for _, e := range b.Node.All() {
			if p := b.Known[e.Name]; p != nil && p.Deprecated != nil {
				d := l.Report(e.Key, fmt.Sprintf("the property %q of %s is %s in %s", e.Name, b.Of, ailing(p.Status), l.Types.Says(b.Type)), *p.Deprecated)
				newer := b.newer(e.Name)
				if newer != "" { // Heat goes on translating it
					d.Severity = source.Info
				}
				if newer != "" && b.Node.Entry(newer) == nil && !e.Merged && l.Template.File.Slice(e.Key.Span) == e.Name {
					d.Fix = &source.Fix{Does: fmt.Sprintf("rename it to %q", newer), Edits: []source.Edit{{Span: e.Key.Span, New: newer}}}
				}
			}
		}
	}
}

// newer is the property that Heat translates an older one to; "" if there is none.
func (b *Block) newer(name string) string {
	for _, other := range b.names() {
		if b.Known[other].Instead == name {
			return other
		}
	}
	return ""
}

func ailing(s resourcetype.Status) string {
	if s.Hidden {
		return "deprecated and hidden"
	}
	return "deprecated"
}

// deprecatedAttributes finds reads of deprecated attributes.
func (l *Checker) deprecatedAttributes() {
	l.attributes(func(r hot.Ref, n *yaml.Node, t *resourcetype.Type, _ resourcetype.Kind) {
		if s := t.Ailing[r.Attribute]; s.Deprecated != nil {
			l.Report(n, fmt.Sprintf("the attribute %q of %s is %s in %s", r.Attribute, t.Name, ailing(s), l.Types.Says(t)), *s.Deprecated)
		}
	})
}
