package rule

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
)

var unknownType = Rule{Code: source.UnknownType, Category: Resources, Severity: source.Warning, Truth: HeatRefuses, Template: findUnknownTypes}

// findUnknownTypes finds types that are nearly Heat's own; others are a cloud's.
func findUnknownTypes(l *Look) {
	names := resourcetype.Names()
	look := func(r *hot.Resource, kind string) {
		written, plain := r.TypeNode.Text()
		if !plain || written != kind || l.Types.Lookup(kind) != nil {
			return // an environment's doing
		}
		namespace, _, _ := strings.Cut(kind, "::")
		if near := hot.Nearest(kind, names); near != "" && closeTo(kind, near) && strings.HasPrefix(near, namespace+"::") {
			l.Found(r.TypeNode, fmt.Sprintf("stock Heat %s has no resource type %q", resourcetype.Release(), kind),
				meant(near)+" If your cloud has this type, all is well")
		}
	}
	for r := range l.Resources {
		s := l.Use(r.Name)
		look(r, s.Type(r))
		if n := s.NestOf(r.Name); n != nil && n.Group() {
			look(n.Definition, n.Definition.Type)
		}
	}
}

// closeTo says whether two names differ only in the last part or the one before it, and
// there by a slip: `OS::Nova::Quota` is no slip for `OS::Cinder::Quota`.
func closeTo(a, b string) bool {
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
