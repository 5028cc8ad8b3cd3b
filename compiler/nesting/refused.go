package nesting

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Where hotc does not support roles: in chains and instance groups, whose members cannot
// learn their identity from Heat; in a stack created through Heat's API; in groups that are
// themselves a group's members; and in CloudFormation templates, which lack the necessary
// functions. Roles there are refused: nothing would run them.

const (
	chainType    = "OS::Heat::ResourceChain"
	remoteType   = "OS::Heat::Stack"
	instanceType = "AWS::EC2::Instance"
)

// instanceGroups are the types whose members are CloudFormation instances, which an
// environment may map to a template.
var instanceGroups = map[string]bool{"OS::Heat::InstanceGroup": true, "AWS::AutoScaling::AutoScalingGroup": true}

func (l *loader) refuse(at source.Place, message, hint string) *source.Diagnostic {
	return l.diags.Error(source.NotYet, at, message, hint)
}

// membersMention reports whether a template that is a member of a group or chain has
// roles.
func (l *loader) membersMention(s *program.Stack, r *hot.Resource, t environment.Type, at place, registry *environment.Registry) bool {
	if !environment.IsTemplate(t.Name) {
		return false
	}
	n := program.NewStackResource(s, r, program.Counted{}, &hot.Resource{Name: r.Name, Entry: r.Entry, TypeNode: r.TypeNode})
	m := &program.Member{Name: "0"}
	m.Stack = l.member(n, m, t, at, registry)
	return m.Stack != nil && mentionsRoles(m.Stack)
}

// mayMention is membersMention for members that may not exist, without diagnostics.
func (l *loader) mayMention(trial *loader, s *program.Stack, r *hot.Resource, t environment.Type, at place, registry *environment.Registry) bool {
	if t.File == "" {
		return false
	}
	found, looked := l.withRoles[t.File]
	if !looked {
		found = trial.membersMention(s, r, t, at, registry)
		l.withRoles[t.File] = found
	}
	return found
}

// trial is a loader whose diagnostics are discarded.
func (l *loader) trial() *loader {
	trial := *l
	trial.diags, trial.templates = &source.Diagnostics{}, maps.Clone(l.templates)
	return &trial
}

// instances refuses roles in the template to which an environment maps the members of an
// instance group: they get only the launch configuration's own keys, and tags (heat/engine/
// resources/openstack/heat/instance_group.py, _get_resource_definition).
func (l *loader) instances(s *program.Stack, r *hot.Resource, at place) {
	registry := at.registry.Child(r.Name, environment.Type{})
	t, err := registry.Resolve(instanceType, "0")
	if err != nil || !l.membersMention(s, r, t, at, registry.Child("0", t)) {
		return
	}
	l.refuse(s.Place(r.Entry.Key), fmt.Sprintf("the environment maps the members of %q to %s, which has roles; Heat passes the members of an %s only the keys of its launch configuration, so their agents would lack their name and token", r.Name, t.Name, s.Type(r)),
		"use OS::Heat::AutoScalingGroup, with the template as the `type` of its `resource` and the launch configuration's keys as properties")
}

// chain refuses roles in the members of a chain, all of which get the same properties
// (heat/engine/resources/openstack/heat/resource_chain.py).
func (l *loader) chain(s *program.Stack, r *hot.Resource, at place) {
	const hint = "write a separate resource for each type, ordered by `depends_on`"
	registry := at.registry.Child(r.Name, environment.Type{})
	n := r.Property("resources")
	list, known := l.peek(s, n).([]value.Value)
	for i, x := range list {
		name, _ := x.(string)
		number := strconv.Itoa(i)
		t, err := registry.Resolve(name, number)
		if err != nil {
			continue
		}
		l.inner(s, r, t, r.Property("resource_properties"), at, registry)
		if l.membersMention(s, r, t, at, registry.Child(number, t)) {
			l.refuse(s.Place(n), fmt.Sprintf("the chain %q contains servers with roles, in %s, which hotc does not support: a chain passes the same properties to all members", r.Name, name), hint)
			return
		}
	}
	if e, err := s.Template.Fold(n, s.Supplied.Peek); known || n.IsNull() || err != nil || e.IsValue() {
		return
	}
	for _, name := range registry.Types() {
		if t, err := registry.Resolve(name, "0"); err == nil && l.mayMention(l.trial(), s, r, t, at, registry.Child("0", t)) {
			l.diags.Warning(source.NotYet, s.Place(n), fmt.Sprintf("only Heat knows the types in the chain %q; if %s is one of them, its roles do not run", r.Name, name), hint).Note(t.At, "the environment maps the type to it")
			return
		}
	}
}

// remote refuses roles in a stack that Heat creates through its own API (heat/engine/
// resources/openstack/heat/remote_stack.py), from the text of a template.
func (l *loader) remote(s *program.Stack, r *hot.Resource, at place) {
	template := r.Property("template")
	file, ok := s.Template.NamedAt(template)
	path, err := source.Locate(file.Name, filepath.Dir(at.path))
	if !ok || file.Kind != hot.ToFile || err != nil {
		return // its text is in place; or the error is reported where the file is read
	}
	inside := at
	inside.depth = -2 // a separate tree of stacks, in the same environment
	t := environment.Type{Name: file.Name, File: filepath.Clean(path)}
	trial := l.trial()
	found := l.mayMention(trial, s, r, t, inside, at.registry)
	for _, d := range trial.diags.All() {
		if d.Code == source.NotYet || d.At.File != nil && trial.isNone(d.At.File.Name) { // there may be roles
			l.diags.Add(d)
		}
	}
	if found {
		l.refuse(s.Place(s.Template.RefAt(template).Arg), fmt.Sprintf("the stack %q contains servers with roles, which hotc does not support: an %s is not a nested stack to Heat", r.Name, remoteType),
			"use the template as the type of a resource, or deploy it separately")
	}
}

// isNone reports whether a file was read as a template, but is not a valid one.
func (l *loader) isNone(path string) bool {
	t, read := l.templates[path]
	return read && t == nil
}

// inner refuses roles in the members of a group or chain that is itself a member of one:
// they are defined in its properties, not by a stack of the tree.
func (l *loader) inner(s *program.Stack, r *hot.Resource, member environment.Type, properties *yaml.Node, at place, registry *environment.Registry) {
	if !IsGroup(member.Name) && member.Name != chainType || properties.IsNull() {
		return
	}
	found := mentionsBlock(s, properties)
	if e, err := s.Template.Fold(properties, s.Supplied.Peek); err == nil && !found {
		registry = registry.Child("0", member)
		found = e.Any(func(x *hot.Expr) bool {
			return x.IsValue() && anyText(x.Value, func(name string) bool {
				t, err := registry.Resolve(name, "0")
				return err == nil && l.mayMention(l.trial(), s, r, t, at, registry.Child("0", t))
			})
		})
	}
	if found {
		l.refuse(s.Place(properties), fmt.Sprintf("the members of %q, each an %s, contain servers with roles, which hotc does not support yet", r.Name, member.Name),
			"put the "+member.Name+" into a template, and use that as the member")
	}
}

// mentionsBlock reports whether a node contains a block of roles anywhere.
func mentionsBlock(s *program.Stack, n *yaml.Node) bool {
	return slices.ContainsFunc(n.Items, func(x *yaml.Node) bool { return mentionsBlock(s, x) }) || slices.ContainsFunc(n.Entries, func(e yaml.Entry) bool {
		return e.Name == "metadata" && slices.ContainsFunc(e.Value.Entries, func(m yaml.Entry) bool { return s.IsEntry(m.Name) }) || mentionsBlock(s, e.Value)
	})
}

// anyText reports whether the predicate holds for any string in a value.
func anyText(v value.Value, is func(string) bool) bool {
	any := func(x value.Value) bool { return anyText(x, is) }
	switch v := v.(type) {
	case string:
		return is(v)
	case []value.Value:
		return slices.ContainsFunc(v, any)
	case *value.Dict:
		return slices.ContainsFunc(v.Values(), any)
	}
	return false
}

// cloudFormation refuses roles in and below a CloudFormation template, which could not
// pass on what its servers need. Each template is reported once.
func (l *loader) cloudFormation(root *program.Stack) {
	reported := map[*hot.Template]bool{}
	root.Walk(func(s *program.Stack) {
		if !s.Template.Version.CFN() || reported[s.Template] {
			return
		}
		for _, r := range s.Template.Resources {
			if resourceMentions(s, r) {
				reported[s.Template] = true
				l.refuse(s.Place(r.Entry.Key), fmt.Sprintf("%q has roles, which hotc supports only in HOT templates: version %s has no functions to pass agents their identity", r.Name, s.Template.Version),
					"write the template in HOT, heat_template_version: 2015-10-15 or later")
				return
			}
		}
	})
}
