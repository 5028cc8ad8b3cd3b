package roles

import (
	"cmp"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

func (l *lowering) dependsOn(role *program.Role, n *yaml.Node) {
	for _, item := range n.OneOrMore() {
		text, _ := item.Text()
		at := l.template.Place(item)
		in := l.stack
		l.waiting = append(l.waiting, func() {
			for _, on := range l.findRoles(in, text, at) {
				role.DependsOn = append(role.DependsOn, program.Dependency{At: at, Role: on})
			}
		})
	}
}

// findRoles looks up SERVER.ROLE, split at the last dot: SERVER is a path from the stack,
// or from the root. The name of a group means all of its servers.
func (l *lowering) findRoles(in *program.Stack, key string, at source.Place) []*program.Role {
	server, name := contract.RoleKey(key).Split()
	path := string(server)
	if path == "" {
		l.diags.Error(source.UnknownRole, at, fmt.Sprintf("%q does not name a role", key), cmp.Or(l.roleHint(in, key), "a role is named SERVER.ROLE"))
		return nil
	}
	var found []*program.Role
	for _, s := range l.servers(in, path) {
		if r := s.Role(name); r != nil {
			found = append(found, r)
		}
	}
	if len(found) > 0 {
		return found
	}
	if l.removed(in, path, key, at) {
		return nil
	}
	if l.keys == nil {
		l.keys = l.rolesOf(l.program.Servers)
	}
	l.diags.Error(source.UnknownRole, at, fmt.Sprintf("there is no role %q", key), cmp.Or(l.roleHint(in, key), hot.DidYouMean(key, l.keys, "")))
	return nil
}

// removed reports a role that a condition removes. As with Heat's own dependencies on
// such resources, nothing waits for it.
func (l *lowering) removed(in *program.Stack, path, key string, at source.Place) bool {
	resource, why := in.RemovedOn(path)
	if why == nil {
		resource, why = l.program.Root.RemovedOn(path)
	}
	if why == nil {
		return false
	}
	d := l.diags.Warning(source.MissingProducer, at, fmt.Sprintf("role %s is not in the deployment: nothing waits for it", key), "")
	d.Notes = append(d.Notes, why.Note(resource))
	return true
}

// servers returns the servers that a path means in a stack.
func (l *lowering) servers(in *program.Stack, path string) []*program.Server {
	if s := l.program.Server(in.PathOf(path)); s != nil {
		return []*program.Server{s}
	}
	if n := in.StackResourceOf(path); n != nil && n.Inline() {
		return n.Servers()
	}
	if s := l.program.Server(contract.ServerPath(path)); s != nil {
		return []*program.Server{s}
	}
	return nil
}
