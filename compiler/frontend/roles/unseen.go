package roles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Roles in the wrong place would be silently ignored: Heat accepts any metadata, and a
// stack without roles is valid.

// unseen reports roles of a resource that are not in its hotc block. It returns whether
// they are beside the block.
func (l *lowering) unseen(r *hot.Resource) (beside bool) {
	block := r.MetadataEntry(nesting.Block)
	if r.Metadata != nil {
		for i := range r.Metadata.Value.Entries {
			e := &r.Metadata.Value.Entries[i]
			switch {
			case e.Name != "hotc" && nearlyHotc(e.Name) && isBlock(e.Value):
				l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("the roles of %q are ignored: their block must be named hotc, not %s", r.Name, e.Name), "write `hotc:`")
			case e.Name == "roles" && areRoles(e.Value) && block != nil:
				beside = block.Value.Get("roles") == nil
				hint := "indent `roles:` deeper than `hotc:`"
				if !beside {
					hint = "move them into the block's list of roles"
				}
				l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("the roles of %q are beside the hotc block, not in it", r.Name), hint)
			case e.Name == "roles" && areRoles(e.Value) && block == nil:
				l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("the roles of %q are ignored: they are directly in the metadata", r.Name), "move them into a block: `hotc: {roles: […]}`")
			}
		}
	}
	if r.Properties == nil {
		return beside
	}
	for _, e := range r.Properties.Value.Get("metadata").All() {
		if (e.Name == "hotc" || nearlyHotc(e.Name)) && isBlock(e.Value) {
			l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("the roles of %q are ignored: this metadata is a property, passed to Nova", r.Name),
				"move `hotc:` into the resource's own `metadata:`, beside `properties:`")
		}
	}
	return beside
}

// isBlock reports whether a value is a block of roles.
func isBlock(n *yaml.Node) bool { return areRoles(n.Get("roles")) }

// areRoles reports whether a node looks like a list of roles, not other metadata.
func areRoles(n *yaml.Node) bool {
	if n == nil {
		return false
	}
	return slices.ContainsFunc(n.Items, func(x *yaml.Node) bool {
		return x.Get("name") != nil && slices.ContainsFunc([]string{"driver", "source", "inputs", "outputs"}, func(key string) bool { return x.Get(key) != nil })
	})
}

// nearlyHotc reports whether a key is a misspelt `hotc`.
func nearlyHotc(key string) bool { return hot.Nearest(strings.ToLower(key), []string{"hotc"}) != "" }

// misspelt warns of one-key maps that look like function calls but are data.
func (l *lowering) misspelt(n *yaml.Node) {
	if n == nil || n.Target() != nil {
		return
	}
	if len(n.Entries) == 1 {
		key := n.Entries[0].Name
		_, known := hot.FirstVersion(key)
		near := hot.IntendedFunction(key)
		if !known && near == "" && strings.HasPrefix(key, "get_") {
			near = "get_attr"
		}
		if near != "" {
			l.diags.Warning(source.UnknownFunction, l.template.Place(n.Entries[0].Key), fmt.Sprintf("unknown function %s: the role gets this map unchanged", key), fmt.Sprintf("did you mean %q?", near))
		}
	}
	for x := range n.Below() {
		l.misspelt(x)
	}
}

// yesNo reports a boolean written as a word that may be meant as a string.
func (l *lowering) yesNo(what string, n *yaml.Node) {
	_, isBool := n.Value.(bool)
	if !isBool || n.Kind != yaml.Scalar || n.Target() != nil {
		return
	}
	word := l.template.File.Slice(n.Span)
	if slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(word)) {
		l.diags.Add(&source.Diagnostic{Code: source.BadMetadata, Severity: source.Info, At: l.template.Place(n), Message: fmt.Sprintf("%s is the boolean %v: Heat's YAML parser reads %s as a boolean", what, n.Value, word),
			Hint: fmt.Sprintf("write %v, or %q in quotes if a string is meant", n.Value, word)})
	}
}

// roleHint suggests the role that was meant by an invalid name in depends_on; "" if
// unknown.
func (l *lowering) roleHint(in *program.Stack, key string) string {
	if on := l.rolesOf(l.servers(in, key)); len(on) > 0 {
		return "a role is named SERVER.ROLE: write " + strings.Join(on, " or ")
	}
	server, name := contract.RoleKey(key).Split()
	for _, s := range l.program.Servers {
		if s.Role(key) != nil {
			return "a role is named SERVER.ROLE: write " + string(s.Role(key).Key())
		}
	}
	for _, s := range l.program.Servers {
		if o := s.Output(name); o != nil && (server == "" || s.Path == server) {
			return fmt.Sprintf("%s is an output of role %s: write %s", name, o.Role.Key(), o.Role.Key())
		}
	}
	return ""
}

// rolesOf returns the names of the servers' roles.
func (l *lowering) rolesOf(servers []*program.Server) []string {
	return lists.Flat(servers, func(s *program.Server) []string {
		return lists.Map(s.Roles, func(r *program.Role) string { return string(r.Key()) })
	})
}
