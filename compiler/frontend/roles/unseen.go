package roles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// What looks like roles and stands where nobody would see it: Heat takes any metadata, and
// a stack without roles is one, too.

// unseen reports roles of a resource that are not in its hotc block. It says whether the
// block lacks what stands beside it.
func (l *lowering) unseen(r *hot.Resource) (beside bool) {
	block := program.BlockOf(r)
	if r.Metadata != nil {
		for i := range r.Metadata.Value.Entries {
			e := &r.Metadata.Value.Entries[i]
			switch {
			case e.Name != "hotc" && nearlyHotc(e.Name) && isBlock(e.Value):
				l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("nobody sees the roles of %q: their block is called hotc, not %s", r.Name, e.Name), "write `hotc:`")
			case e.Name == "roles" && areRoles(e.Value) && block != nil:
				beside = block.Value.Get("roles") == nil
				hint := "indent `roles:` deeper than `hotc:`"
				if !beside {
					hint = "put them into the list of the block's own roles"
				}
				l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("the roles of %q stand beside the hotc block, and not in it", r.Name), hint)
			case e.Name == "roles" && areRoles(e.Value) && block == nil:
				l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("nobody sees the roles of %q: they stand in the metadata itself", r.Name), "put them into a block: `hotc: {roles: […]}`")
			}
		}
	}
	if r.Properties == nil {
		return beside
	}
	for _, e := range r.Properties.Value.Get("metadata").All() {
		if (e.Name == "hotc" || nearlyHotc(e.Name)) && isBlock(e.Value) {
			l.diags.Error(source.RolesElsewhere, l.template.Place(e.Key), fmt.Sprintf("nobody sees the roles of %q: this metadata is a property, which Nova gets", r.Name),
				"put `hotc:` into the resource's own `metadata:`, which stands beside `properties:`")
		}
	}
	return beside
}

// isBlock says whether a value is a block of roles.
func isBlock(n *yaml.Node) bool { return areRoles(n.Get("roles")) }

// areRoles says whether something is a list of roles, rather than anybody's metadata.
func areRoles(n *yaml.Node) bool {
	if n == nil {
		return false
	}
	return slices.ContainsFunc(n.Items, func(x *yaml.Node) bool {
		return x.Get("name") != nil && slices.ContainsFunc([]string{"driver", "source", "inputs", "outputs"}, func(key string) bool { return x.Get(key) != nil })
	})
}

// nearlyHotc says whether a key is one slip away from the block's.
func nearlyHotc(key string) bool { return hot.Nearest(strings.ToLower(key), []string{"hotc"}) != "" }

// misspelt warns of maps of one key that are nearly calls: they are data.
func (l *lowering) misspelt(n *yaml.Node) {
	if n == nil || n.Target() != nil {
		return
	}
	if len(n.Entries) == 1 {
		key := n.Entries[0].Name
		_, known := hot.FirstVersion(key)
		near := hot.MeantFunction(key)
		if !known && near == "" && strings.HasPrefix(key, "get_") {
			near = "get_attr"
		}
		if near != "" {
			l.diags.Warning(source.UnknownFunction, l.template.Place(n.Entries[0].Key), fmt.Sprintf("there is no function %s: the role gets this map as it is", key), fmt.Sprintf("did you mean %q?", near))
		}
	}
	for x := range n.Below() {
		l.misspelt(x)
	}
}

// yesNo notes a boolean that is written as a word which may be meant as a text.
func (l *lowering) yesNo(what string, n *yaml.Node) {
	_, isBool := n.Value.(bool)
	if !isBool || n.Kind != yaml.Scalar || n.Target() != nil {
		return
	}
	word := l.template.File.Slice(n.Span)
	if slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(word)) {
		l.diags.Add(&source.Diagnostic{Code: source.BadMetadata, Severity: source.Info, At: l.template.Place(n), Message: fmt.Sprintf("%s is the boolean %v: YAML, as Heat reads it, takes %s for that", what, n.Value, word),
			Hint: fmt.Sprintf("write %v; or %q in quotes, if the text is meant", n.Value, word)})
	}
}

// roleHint says which name was meant by one in depends_on that names no role; "" if that
// cannot be told.
func (l *lowering) roleHint(in *program.Stack, key string) string {
	if on := l.rolesOf(l.servers(in, key)); len(on) > 0 {
		return "a role is named SERVER.ROLE: write " + strings.Join(on, " or ")
	}
	server, name := key, key
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		server, name = key[:i], key[i+1:]
	}
	for _, s := range l.program.Servers {
		if s.Role(key) != nil {
			return "a role is named SERVER.ROLE: write " + string(s.Role(key).Key())
		}
	}
	for _, s := range l.program.Servers {
		if o := s.Output(name); o != nil && (server == key || s.Path == contract.ServerPath(server)) {
			return fmt.Sprintf("%s is an output of role %s: write %s", name, o.Role.Key(), o.Role.Key())
		}
	}
	return ""
}

// rolesOf names the roles of some servers.
func (l *lowering) rolesOf(servers []*program.Server) []string {
	return lists.Flat(servers, func(s *program.Server) []string {
		return lists.Map(s.Roles, func(r *program.Role) string { return string(r.Key()) })
	})
}
