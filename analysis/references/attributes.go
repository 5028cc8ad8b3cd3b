package references

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
)

// attributes checks the references that binding left to Heat in an input of a role.
func (c *checker) attributes(bound *hot.Expr) {
	for x := range bound.Calls() {
		if r := x.Ref(); r.Kind == hot.ToAttribute && !r.Computed {
			c.ofType(r, source.Warning)
		}
	}
}

// ofType warns of an attribute that the resource's type lacks in stock Heat; a cloud's
// version may have it. Where a mistake is an error, Heat certainly reads it.
func (c *checker) ofType(r hot.Ref, severity source.Severity) {
	c.ofMembers(r)
	kind, server := c.kind(r.Name)
	if server || r.Attribute == "" {
		return
	}
	if t := c.program.Types.Lookup(kind); t != nil && !t.HasAttribute(r.Attribute) {
		d := c.unknown(source.Warning, source.UnknownAttribute, r.At, fmt.Sprintf("%s has no attribute %q in %s", kind, r.Attribute, c.program.Types.Says(t)), r.Attribute, slices.Sorted(maps.Keys(t.Attributes)))
		nested := slices.ContainsFunc(c.uses, func(s *program.Stack) bool { return s.StackResource != nil })
		d.Refused = severity == source.Error && !nested && (c.program.Types.Named() || t.Own != "" || !resourcetype.EverHad(t.Name, r.Attribute))
	}
}

// ofMembers is ofType for attributes of a group's members, where these are plain resources.
func (c *checker) ofMembers(r hot.Ref) {
	if r.Attribute == "" || len(c.uses) == 0 || c.template.Resource(r.Name) == nil {
		return
	}
	for _, s := range c.uses {
		nest := s.StackResourceOf(r.Name)
		if s.Absent(r.Name) || nest == nil || !nest.Group() || nest.Size == 0 || nest.HasRoles() {
			return
		}
		t := c.program.Types.Lookup(nest.Definition().Type)
		if t == nil {
			return
		}
		read := nest.Select(r.Attribute, r.Path, r.Computed)
		if read.Gives != program.HeatsOwn && read.Attribute != "" && !t.HasAttribute(read.Attribute) {
			c.unknown(source.Warning, source.UnknownAttribute, r.At, fmt.Sprintf("the members of %q are %s, which has no attribute %q in %s", r.Name, t.Name, read.Attribute, c.program.Types.Says(t)),
				read.Attribute, slices.Sorted(maps.Keys(t.Attributes)))
			return
		}
	}
}

// kind is the type of a resource, "" if it is a nested stack, is absent, or differs between
// uses of the template; server says that it may run roles.
func (c *checker) kind(resource string) (kind string, server bool) {
	r := c.template.Resource(resource)
	if r == nil {
		return "", false
	}
	for _, s := range c.uses {
		if !s.Makes(resource) || s.StackResourceOf(resource) != nil || kind != "" && s.Type(r) != kind {
			return "", false
		}
		kind, server = s.Type(r), s.ServerType(r) != nil
	}
	return kind, server
}
