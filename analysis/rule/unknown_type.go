package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
)

var unknownType = Rule{Code: source.UnknownType, Category: Resources, Severity: source.Warning, Evidence: HeatRefuses, Template: findUnknownTypes}

// findUnknownTypes finds types that resemble Heat's own; others are a cloud's.
func findUnknownTypes(l *Checker) {
	var names []string
	noted := map[string]bool{} // third-party types
	look := func(r *hot.Resource, kind string) {
		written, plain := r.TypeNode.Text()
		if !plain || written != kind || l.Types.Lookup(kind) != nil || environment.IsTemplate(kind) || l.Types.DoesNothing(kind) || resourcetype.ComesAsTemplate(kind) {
			return // mapped by an environment, Heat's own or another
		}
		if names == nil {
			names = l.Types.Names()
		}
		message := fmt.Sprintf("stock Heat %s has no resource type %q", l.Types.Release(), kind)
		near, refused := hot.Nearest(kind, names), l.always(r) && !resourcetype.Ever(kind)
		switch {
		case near != "" && closeTo(kind, near):
			l.Report(r.TypeNode, message, meant(near)+" If your cloud has this type, name its type descriptions with --types").Refused = refused
		case !strings.Contains(kind, "::") || knownNamespace(kind, names):
			hint := "if your cloud has it, name its type descriptions with --types; if an environment maps it, name that with -e"
			if strings.HasSuffix(kind, ".yml") {
				hint = "Heat's client reads a nested template only if its name ends in .yaml or .template; if an environment maps this name, name that with -e"
			}
			d := l.Report(r.TypeNode, message, hint)
			d.Refused = refused && strings.Contains(kind, "::")
		case l.lint && !noted[kind]:
			noted[kind] = true
			l.Report(r.TypeNode, message+": nothing is known of its properties", "name an environment that maps it with -e, or your cloud's type descriptions with --types").Severity = source.Info
		}
	}
	for r := range l.Resources {
		s := l.Use(r.Name)
		if s.Owned(r.Name) == nil {
			look(r, s.Type(r))
		}
		if n := s.StackResourceOf(r.Name); n != nil && n.Group() {
			look(n.Definition(), n.Definition().Type)
		}
	}
}

// knownNamespace says whether a type is named like Heat's own: OS::Nova::….
func knownNamespace(kind string, names []string) bool {
	i := strings.LastIndex(kind, "::")
	return i > 0 && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, kind[:i+2]) })
}

// closeTo says whether two names differ only in the last part or the one before it, and
// there by a typo: `OS::Nova::Quota` is not a typo of `OS::Cinder::Quota`. A lost colon is one.
func closeTo(a, b string) bool {
	if strings.ReplaceAll(a, ":", "") == strings.ReplaceAll(b, ":", "") {
		return true
	}
	x, y := strings.Split(a, "::"), strings.Split(b, "::")
	if len(x) != len(y) {
		return false
	}
	different := 0
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		different++
		if hot.Nearest(x[i], []string{y[i]}) == "" {
			return false
		}
	}
	return different == 1
}
