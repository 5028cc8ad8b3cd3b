// Package roles is the front-end of the metadata block: it lowers the roles that
// an OS::Nova::Server lists under metadata.hotc into a program.
//
// The block is first validated against its published schema (schema.json), so that
// lowering can rely on its structure. Names are then resolved: drivers, attributes, roles
// in depends_on.
package roles

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// serverType is the only type of resource that runs roles, with its real attributes
// (heat/engine/resources/openstack/nova/server.py, ATTRIBUTES, and resource.py).
var serverType = &program.ServerType{Name: "OS::Nova::Server", Attributes: []string{"name", "addresses", "networks", "first_address",
	"instance_name", "accessIPv4", "accessIPv6", "console_urls", "tags", "os_collect_config", "show"}}

// FrontEnd is the front-end of the metadata block, for roles with these drivers.
func FrontEnd(drivers []driver.Driver) *program.FrontEnd {
	return &program.FrontEnd{Name: "metadata", About: "the hotc block in a server's metadata", Schema: schema, Entry: nesting.Block, Servers: []*program.ServerType{serverType},
		Lower: func(p *program.Program, diags *source.Diagnostics) func() { return lower(p, drivers, diags) }}
}

type lowering struct {
	program   *program.Program
	drivers   []driver.Driver
	plugins   *driver.Driver // the entry for all plug-ins; nil if there are none
	diags     *source.Diagnostics
	memory    driver.Memory
	waiting   []func()        // look-ups deferred until all servers are known
	fitting   map[string]bool // the structures of valid blocks
	structure []byte          // of the last block
	keys      []string        // of all roles, once needed

	// of the current stack
	stack    *program.Stack
	template *hot.Template
	given    *program.Supplied
}

// lower reads the roles of all stacks of a program. It returns what looks up the names of others.
func lower(p *program.Program, drivers []driver.Driver, diags *source.Diagnostics) func() {
	l := &lowering{program: p, diags: diags}
	for _, d := range drivers {
		if d.Find != nil {
			l.plugins = &d
		} else {
			l.drivers = append(l.drivers, d)
		}
	}
	p.Root.Walk(l.readStack)
	return func() {
		for _, look := range l.waiting {
			look()
		}
	}
}

func (l *lowering) readStack(s *program.Stack) {
	l.stack, l.template, l.given = s, s.Template, s.Supplied
	for _, r := range s.Template.Resources {
		n := s.StackResourceOf(r.Name)
		group := n != nil && n.Group()
		beside := s.Removed(r.Name) == nil && l.unseen(r)
		if block := r.MetadataEntry(nesting.Block); block != nil && s.Removed(r.Name) == nil && !beside {
			if group && block.Value.Get("roles") == nil {
				l.groupBlock(n, block)
			} else {
				l.server(r, block)
			}
		}
		if group {
			l.group(n)
		}
	}
}

// groupBlock checks a group's own block: the group may not exceed its maximum size.
func (l *lowering) groupBlock(n *program.StackResource, block *yaml.Entry) {
	if !l.check(groupSchema(), block.Value, "the hotc block of a group") || n.Size < 0 || n.Most() == 0 {
		return
	}
	at := block.Value.Get(nesting.MaxMembers)
	if most, ok := at.Value.(int64); ok && int64(n.Size) > most {
		l.diags.Error(source.BadArgument, n.SizeAt, fmt.Sprintf("the group %q has %d members, but its hotc block allows at most %d", n.Resource.Name, n.Size, most), "").Note(l.template.Place(at), "the maximum")
	}
}

// group reads the roles of a group whose members are servers.
func (l *lowering) group(n *program.StackResource) {
	beside := l.unseen(n.Definition())
	block := n.Definition().MetadataEntry(nesting.Block)
	switch {
	case block == nil || beside:
		return
	case n.ServerType() == nil:
		l.elsewhere(n.Resource.Name, "a group of "+n.Definition().Type, block)
		return
	}
	for m := range n.Members {
		l.roles(l.program.AddMember(n, m), block)
	}
}

func (l *lowering) elsewhere(name, what string, block *yaml.Entry) {
	l.diags.Error(source.RolesElsewhere, l.template.Place(block.Key), fmt.Sprintf("resource %q is %s; roles run on %s", name, what, serverType.Name), "")
}

func (l *lowering) server(r *hot.Resource, block *yaml.Entry) {
	if l.stack.ServerType(r) == nil {
		l.elsewhere(r.Name, "of type "+l.stack.Type(r), block)
		return
	}
	l.roles(l.program.AddServer(l.stack, r), block)
}

func (l *lowering) roles(s *program.Server, block *yaml.Entry) {
	if s.Template.Version.CFN() || !l.block(block.Value) { // nesting rejects roles there
		s.Unread = true
		return
	}
	defaults := block.Value.Get("defaults")
	for _, n := range block.Value.Get("roles").Items {
		if role := l.role(s, n, defaults); role != nil {
			s.Add(role)
		}
	}
}

func (l *lowering) role(s *program.Server, n, defaults *yaml.Node) *program.Role {
	role := &program.Role{Server: s, At: l.template.Place(n)}
	if name, short := n.Text(); short {
		role.Name = name
	} else {
		role.Name, _ = n.Get("name").Text()
		role.At = l.template.Place(n.Get("name"))
	}
	if other := s.Role(role.Name); other != nil {
		l.diags.Error(source.DuplicateRole, role.At, fmt.Sprintf("server %q already has a role %q", s.Path, role.Name), "rename one of them").Note(other.At, "the first is here")
		return nil
	}
	setting := func(key string) *yaml.Node {
		if v := n.Get(key); v != nil {
			return v
		}
		return defaults.Get(key)
	}
	role.Timeout = seconds(setting("timeout"))
	role.Idempotent = setting("idempotent").IsTrue()
	l.inputs(role, n.Get("inputs"))
	l.outputs(role, n.Get("outputs"))
	l.files(role, n.Get("files"))
	if tool := l.driver(role, setting("driver"), setting("install")); tool != nil {
		role.Meaning = l.source(role, tool, setting("source"))
		l.tasks(role, tool, n)
		l.install(role, tool, setting("install"), n.Get("install") == nil)
		l.resources(role, tool, n.Get("outputs"))
	}
	l.dependsOn(role, n.Get("depends_on"))
	return role
}

// driver returns the role's driver, or nil if there is no such driver.
func (l *lowering) driver(role *program.Role, name, install *yaml.Node) *driver.Driver {
	known := lists.Map(l.drivers, func(d driver.Driver) string { return d.Name })
	hint := "the drivers are " + strings.Join(known, ", ")
	if name == nil {
		l.diags.Error(source.UnknownDriver, role.At, fmt.Sprintf("role %q has no driver", role.Name), hint)
		return nil
	}
	role.Driver, _ = name.Text()
	tool := l.find(role, install)
	if tool == nil {
		hint = hot.DidYouMean(role.Driver, known, hint+l.pluginHint(role.Driver))
		l.diags.Error(source.UnknownDriver, l.template.Place(name), fmt.Sprintf("there is no driver %q", role.Driver), hint)
		return nil
	}
	return tool
}
