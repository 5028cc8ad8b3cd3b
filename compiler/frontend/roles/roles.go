// Package roles is the front-end of the metadata block: it lowers the roles that
// an OS::Nova::Server lists under metadata.hotc into a program.
//
// The block is first compared with its published schema (schema.json), so that
// lowering can take the shape for granted. Names are then resolved: drivers,
// attributes, roles in depends_on. What the design has but this version does not
// is a clear diagnostic, never silently ignored.
package roles

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// ServerType is the only type of resource that runs roles.
const ServerType = "OS::Nova::Server"

// serverAttributes are the real attributes of OS::Nova::Server
// (heat/engine/resources/openstack/nova/server.py, ATTRIBUTES, and resource.py).
var serverAttributes = []string{"name", "addresses", "networks", "first_address", "instance_name", "accessIPv4",
	"accessIPv6", "console_urls", "tags", "os_collect_config", "show"}

// ServerAttributes are the attributes that Heat gives a server.
func ServerAttributes() []string { return serverAttributes }

// IsServerAttribute says whether Heat gives a server this attribute.
func IsServerAttribute(name string) bool { return slices.Contains(serverAttributes, name) }

type lowering struct {
	program *program.Program
	drivers []driver.Driver
	diags   *source.Diagnostics
	waiting []func() // what can be looked up when all servers are known

	// of the stack that is being read
	stack    *program.Stack
	template *hot.Template
	given    *program.Given
}

// Lower reads the roles of all stacks of a program.
func Lower(p *program.Program, drivers []driver.Driver, diags *source.Diagnostics) *program.Program {
	l := &lowering{program: p, drivers: drivers, diags: diags}
	p.Root.Walk(l.readStack)
	for _, look := range l.waiting {
		look()
	}
	return p
}

func (l *lowering) readStack(s *program.Stack) {
	l.stack, l.template, l.given = s, s.Template, s.Given
	for _, r := range s.Template.Resources {
		if block := r.MetadataEntry("hotc"); block != nil && s.Removed(r.Name) == nil {
			l.server(r, block)
		}
		if n := s.NestOf(r.Name); n != nil && n.Group {
			l.group(n)
		}
	}
}

// group reads the roles of a group whose members are servers.
func (l *lowering) group(n *program.Nest) {
	block := n.Definition.MetadataEntry("hotc")
	switch {
	case block == nil:
		return
	case n.Definition.Type != ServerType:
		l.elsewhere(n.Resource.Name, "a group of "+n.Definition.Type, block)
		return
	}
	for _, m := range n.Members {
		l.roles(l.program.AddMember(n, m), block)
	}
}

func (l *lowering) elsewhere(name, what string, block *hot.Entry) {
	l.diags.Error(source.RolesElsewhere, l.template.Place(block.Key), fmt.Sprintf("resource %q is %s; roles run on %s", name, what, ServerType), "")
}

func (l *lowering) server(r *hot.Resource, block *hot.Entry) {
	switch {
	case l.stack.Type(r) != ServerType:
		l.elsewhere(r.Name, "of type "+l.stack.Type(r), block)
		return
	case r.Condition != nil && nesting.Open(l.stack, r):
		l.diags.Error(source.NotYet, l.template.Place(r.Condition.Key), fmt.Sprintf("server %q has roles, and whether it is there is left to Heat, which hotc does not compile yet", r.Name),
			"give the parameters that decide it with -P or -e")
		return
	}
	l.roles(l.program.AddServer(l.stack, r), block)
}

func (l *lowering) roles(s *program.Server, block *hot.Entry) {
	blockSchema, _ := schemas()
	if !l.check(blockSchema, block.Value, "the hotc block") {
		s.Unread = true
		return
	}
	defaults := block.Value.Get("defaults")
	for _, n := range block.Value.Get("roles").Items {
		if role := l.role(s, n, defaults); role != nil {
			s.Roles = append(s.Roles, role)
		}
	}
}

func (l *lowering) role(s *program.Server, n, defaults *hot.Node) *program.Role {
	role := &program.Role{Server: s, At: l.template.Place(n)}
	if name, short := n.Text(); short {
		role.Name = name
	} else {
		role.Name, _ = n.Get("name").Text()
		role.At = l.template.Place(n.Get("name"))
	}
	if other := s.Role(role.Name); other != nil {
		d := l.diags.Error(source.DuplicateRole, role.At, fmt.Sprintf("server %q has a role %q already", s.Path, role.Name), "give one of them another name")
		d.Notes = append(d.Notes, source.Note{At: other.At, Message: "the first one"})
		return nil
	}
	setting := func(key string) *hot.Node {
		if v := n.Get(key); v != nil {
			return v
		}
		return defaults.Get(key)
	}
	role.Timeout = seconds(setting("timeout"))
	if v := setting("idempotent"); v != nil {
		role.Idempotent = v.Value == true
	}
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

// refuseLater names the parts of the design that are not there yet.
func (l *lowering) refuseLater(n *hot.Node, keys ...string) {
	for _, key := range keys {
		if e := n.Entry(key); e != nil {
			l.diags.Error(source.NotYet, l.template.Place(e.Key), fmt.Sprintf("%q is part of hotc's design, but this version does not have it yet", key), "")
		}
	}
}

// driver finds the role's driver. It returns nil if there is no such driver.
func (l *lowering) driver(role *program.Role, name, install *hot.Node) driver.Driver {
	var known []string
	for _, d := range l.drivers {
		if _, others := d.(driver.Finder); !others {
			known = append(known, d.Name())
		}
	}
	hint := "the drivers are " + strings.Join(known, ", ")
	if name == nil {
		l.diags.Error(source.UnknownDriver, role.At, fmt.Sprintf("role %q has no driver", role.Name), hint)
		return nil
	}
	role.Driver, _ = name.Text()
	tool := l.find(role, install)
	if tool == nil {
		hint += l.pluginHint(role.Driver)
		if near := hot.Nearest(role.Driver, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		l.diags.Error(source.UnknownDriver, l.template.Place(name), fmt.Sprintf("there is no driver %q", role.Driver), hint)
		return nil
	}
	return tool
}

// source finds what the role's own source means.
func (l *lowering) source(role *program.Role, tool driver.Driver, src *hot.Node) *program.Meaning {
	return l.meaning(driver.Role{Name: role.Name, At: role.At, Inputs: role.Inputs, Outputs: written(role)}, tool, src)
}

// written are the outputs that a role's source has to write.
func written(role *program.Role) []*program.Output {
	var outputs []*program.Output
	for _, o := range role.Outputs {
		if o.Value == nil {
			outputs = append(outputs, o)
		}
	}
	return outputs
}

// meaning finds what a source means to its driver; nil with a diagnostic if it
// means nothing.
func (l *lowering) meaning(seen driver.Role, tool driver.Driver, src *hot.Node) *program.Meaning {
	seen.Reader, seen.Locate, seen.FileOf = reader{l.given}, l.locator(seen.At, src), fileOf(src)
	if src != nil {
		seen.SourceAt = l.template.Place(src)
		e, err := hot.Fold(l.template.RoleExpr(src), l.given.Resolve)
		if err != nil {
			l.failed(source.BadSource, seen.SourceAt, err)
			return nil
		}
		if !e.IsValue() {
			l.diags.Error(source.BadSource, seen.SourceAt, fmt.Sprintf("the source of role %q must be known when compiling", seen.Name),
				"give the parameters that it uses with -P or -e")
			return nil
		}
		seen.Source = e.Value
		seen.SourceFile = seen.FileOf()
	}
	return tool.Lower(seen, l.diags)
}

// locator finds the places of a source's parts; what has no place of its own has
// that of the part around it.
func (l *lowering) locator(role source.Place, src *hot.Node) func(keys ...string) source.Place {
	template := l.template
	return func(keys ...string) source.Place {
		if src == nil {
			return role
		}
		n := src
		for _, key := range keys {
			inner := n.Get(key)
			if inner == nil {
				break
			}
			n = inner
		}
		return template.Place(n)
	}
}

// fileOf finds the names of the files that parts of a source are the text of.
func fileOf(src *hot.Node) func(keys ...string) string {
	return func(keys ...string) string {
		n := src
		for _, key := range keys {
			n = n.Get(key)
		}
		file, _ := n.Get("get_file").Text()
		return file
	}
}

// reader reads what a template's roles name.
type reader struct{ given *program.Given }

func (r reader) File(name string) ([]byte, error)  { return r.given.ReadFile(name) }
func (r reader) Folder(name string) (fs.FS, error) { return r.given.OpenFolder(name) }

func (l *lowering) failed(code source.Code, at source.Place, err error) {
	if d, ok := source.AsDiagnostic(err); ok {
		found := *d
		if !found.At.Known() {
			found.At = at
		}
		l.diags.Add(&found)
		return
	}
	message := err.Error()
	if e, ok := err.(*hot.Error); ok {
		at = e.At
		if message = e.Message; e.Err != nil {
			message = e.Err.Error()
		}
	}
	l.diags.Error(code, at, message, "")
}

// inputOptions are the keys that make a map with `value` an input's detailed form.
var inputOptions = []string{"value", "type", "default", "optional", "timeout", "if_down", "eager", "watch", "bind"}

// isDetailed tells an input's detailed form from a value that is a map.
func isDetailed(n *hot.Node) bool { return isMapOf(n, "value", inputOptions) }

// isMapOf says that a node is a map with one key, and others only of a list.
func isMapOf(n *hot.Node, key string, of []string) bool {
	if n.Kind != hot.Map || n.Get(key) == nil {
		return false
	}
	for _, e := range n.Entries {
		if !slices.Contains(of, e.Name) {
			return false
		}
	}
	return true
}

func (l *lowering) inputs(role *program.Role, n *hot.Node) {
	if n == nil {
		return
	}
	for _, e := range n.Entries {
		in := &program.Input{Role: role, Name: e.Name, At: l.template.Place(e.Key)}
		value := e.Value
		if isDetailed(value) {
			if _, input := schemas(); !l.check(input, value, "input "+e.Name) {
				continue
			}
			l.refuseLater(value, "watch")
			l.inputOptions(in, value)
			value = value.Get("value")
		}
		in.Expr = l.template.RoleExpr(value)
		role.Inputs = append(role.Inputs, in)
	}
}

func (l *lowering) inputOptions(in *program.Input, n *hot.Node) {
	if d := n.Get("default"); d != nil {
		e, err := hot.Fold(l.template.RoleExpr(d), l.given.Resolve)
		switch {
		case err != nil:
			l.failed(source.BadArgument, l.template.Place(d), err)
		case !e.IsValue():
			l.diags.Error(source.BadMetadata, l.template.Place(d), fmt.Sprintf("the default of input %q must be known when compiling", in.Name), "")
		default:
			in.Default, in.HasDefault = e.Value, true
		}
	}
	in.Optional = flag(n, "optional")
	in.Eager = flag(n, "eager")
	in.Timeout = seconds(n.Get("timeout"))
	in.IfDown = seconds(n.Get("if_down"))
	in.Bind, _ = n.Get("bind").Text()
	in.Type, _ = n.Get("type").Text()
}

func flag(n *hot.Node, key string) bool {
	v := n.Get(key)
	return v != nil && v.Value == true
}

func (l *lowering) outputs(role *program.Role, n *hot.Node) {
	if n == nil {
		return
	}
	for _, e := range n.Entries {
		o := &program.Output{Role: role, Name: e.Name, Attribute: e.Name, At: l.template.Place(e.Key), Secret: flag(e.Value, "secret")}
		at := o.At
		if a := e.Value.Get("attribute"); a != nil {
			o.Attribute, _ = a.Text()
			at = l.template.Place(a)
		}
		o.Type, _ = e.Value.Get("type").Text()
		if v := e.Value.Get("value"); v != nil {
			o.Value = l.template.RoleExpr(v)
		}
		o.Resource, _ = e.Value.Get("resource").Text()
		if IsServerAttribute(o.Attribute) {
			l.diags.Error(source.AttributeTaken, at, fmt.Sprintf("%q is an attribute that Heat gives every server", o.Attribute),
				fmt.Sprintf("name the output otherwise, or only the attribute: `%s: {attribute: my_%s}`", o.Name, o.Attribute))
			continue
		}
		if taken := role.Server.Declare(o); taken != nil {
			d := l.diags.Error(source.DuplicateOutput, at, fmt.Sprintf("server %q has an output %q already", role.Server.Path, o.Attribute), "`attribute:` gives one of them another name")
			d.Notes = append(d.Notes, source.Note{At: taken.At, Message: "declared by role " + taken.Role.Name})
			continue
		}
		role.Outputs = append(role.Outputs, o)
	}
}

func (l *lowering) dependsOn(role *program.Role, n *hot.Node) {
	if n == nil {
		return
	}
	items := n.Items
	if n.Kind == hot.Scalar {
		items = []*hot.Node{n}
	}
	for _, item := range items {
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

// findRoles looks SERVER.ROLE up, which splits at the last dot: SERVER is a path from
// the stack, or from the root. The name of a group means all of its servers.
func (l *lowering) findRoles(in *program.Stack, key string, at source.Place) []*program.Role {
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		l.diags.Error(source.UnknownRole, at, fmt.Sprintf("%q names no role", key), "a role is named SERVER.ROLE")
		return nil
	}
	path, name := key[:i], key[i+1:]
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
	var known []string
	for _, s := range l.program.Servers {
		for _, r := range s.Roles {
			known = append(known, r.Key())
		}
	}
	hint := ""
	if near := hot.Nearest(key, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	l.diags.Error(source.UnknownRole, at, fmt.Sprintf("there is no role %q", key), hint)
	return nil
}

// removed says that a role is not there, if something took it away: as with Heat's own
// dependencies on what a condition left out, nothing is waited for then.
func (l *lowering) removed(in *program.Stack, path, key string, at source.Place) bool {
	resource, why := in.RemovedOn(path)
	if why == nil {
		resource, why = l.program.Root.RemovedOn(path)
	}
	if why == nil {
		return false
	}
	d := l.diags.Warning(source.MissingProducer, at, fmt.Sprintf("role %s is not there: nothing is waited for", key), "")
	d.Notes = append(d.Notes, why.Note(resource))
	return true
}

// servers are those that a path means in a stack.
func (l *lowering) servers(in *program.Stack, path string) []*program.Server {
	if s := l.program.Server(in.PathOf(path)); s != nil {
		return []*program.Server{s}
	}
	if n := in.NestOf(path); n != nil && n.Inline() {
		var all []*program.Server
		for _, m := range n.Members {
			if m.Server != nil {
				all = append(all, m.Server)
			}
		}
		return all
	}
	if s := l.program.Server(path); s != nil {
		return []*program.Server{s}
	}
	return nil
}

// seconds reads a duration that has passed the schema; nil is 0.
func seconds(n *hot.Node) float64 {
	if n == nil {
		return 0
	}
	switch v := n.Value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		unit := map[byte]float64{'s': 1, 'm': 60, 'h': 3600}[v[len(v)-1]]
		f, _ := strconv.ParseFloat(v[:len(v)-1], 64)
		return f * unit
	}
	return 0
}
