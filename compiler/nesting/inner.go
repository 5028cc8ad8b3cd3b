package nesting

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A member of a group or a chain may be a group or a chain itself. What that one makes is
// written in the member's properties, and no stack of the tree; so there may be no roles.

// inner refuses roles in what a member makes.
func (l *loader) inner(s *program.Stack, r *hot.Resource, member environment.Type, properties *hot.Node, at place, registry *environment.Registry) {
	makes := groups[member.Name].definition != "" || instanceGroups[member.Name] || member.Name == chainType
	if !makes || properties.IsNull() {
		return
	}
	found := mentionsBlock(properties)
	if e, err := s.Template.Fold(properties, s.Given.Peek); err == nil && !found {
		registry = registry.Child("0", member)
		found = e.Any(func(x *hot.Expr) bool {
			return x.IsValue() && anyText(x.Value, func(name string) bool {
				t, err := registry.Resolve(name, "0")
				return err == nil && t.File != "" && l.trial(&source.Diagnostics{}).hasRolesAt(s, r, t, at, registry.Child("0", t))
			})
		})
	}
	if found {
		l.diags.Error(source.NotYet, s.Place(properties), fmt.Sprintf("what these members of %q make, each an %s, has servers with roles, which hotc does not compile yet", r.Name, member.Name),
			"put the "+member.Name+" into a template of its own, and make that one the member")
	}
}

// mentionsBlock says whether there is a block of roles anywhere in a text.
func mentionsBlock(n *hot.Node) bool {
	return slices.ContainsFunc(n.Items, mentionsBlock) || slices.ContainsFunc(n.Entries, func(e hot.Entry) bool {
		return e.Name == "metadata" && e.Value.Get("hotc") != nil || mentionsBlock(e.Value)
	})
}

// anyText says whether one of the texts in a value is what is looked for.
func anyText(v hot.Value, is func(string) bool) bool {
	any := func(x hot.Value) bool { return anyText(x, is) }
	switch v := v.(type) {
	case string:
		return is(v)
	case []hot.Value:
		return slices.ContainsFunc(v, any)
	case *hot.Dict:
		return slices.ContainsFunc(v.Keys(), func(key string) bool {
			x, _ := v.Get(key)
			return any(x)
		})
	}
	return false
}
