package references

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// attributes looks at the references that binding left to Heat in an input of a role.
func (c *checker) attributes(bound *hot.Expr) {
	bound.Walk(func(x *hot.Expr) bool {
		if r := x.Ref(); r.Kind == hot.ToAttribute && !r.Computed {
			c.ofType(r)
		}
		return true
	})
}

// ofType warns of an attribute that the resource's type has not in stock Heat; a
// cloud's own may have it.
func (c *checker) ofType(r hot.Ref) {
	kind := c.kind(r.Name)
	if kind == roles.ServerType || r.Attribute == "" {
		return
	}
	if t := c.program.Types.Lookup(kind); t != nil && !t.HasAttribute(r.Attribute) {
		c.unknown(source.Warning, source.UnknownAttribute, r.At, fmt.Sprintf("%s has no attribute %q in %s", kind, r.Attribute, c.program.Types.Says(t)), r.Attribute, slices.Sorted(maps.Keys(t.Attributes)))
	}
}

// kind is the type of a resource, "" if it is a nested stack, or not there, or another
// one in another use of the template.
func (c *checker) kind(resource string) string {
	r := c.template.Resource(resource)
	if r == nil {
		return ""
	}
	kind := ""
	for _, s := range c.uses {
		if s.Absent(resource) || s.NestOf(resource) != nil || kind != "" && s.Type(r) != kind {
			return ""
		}
		kind = s.Type(r)
	}
	return kind
}
