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

// Where hotc compiles no roles: in chains and instance groups, whose members Heat does
// not tell who they are; in a stack made by a call of Heat's API; in what a member of a
// group makes by itself; and in CloudFormation templates, which lack the functions that
// hotc needs. Roles there are refused: nothing would run them.

const (
	chainType    = "OS::Heat::ResourceChain"
	remoteType   = "OS::Heat::Stack"
	instanceType = "AWS::EC2::Instance"
)

// instanceGroups are types whose members are instances of CloudFormation, which an
// environment may map to a template.
var instanceGroups = map[string]bool{"OS::Heat::InstanceGroup": true, "AWS::AutoScaling::AutoScalingGroup": true}

func (l *loader) refuse(at source.Place, message, hint string) *source.Diagnostic {
	return l.diags.Error(source.NotYet, at, message, hint)
}

// membersMention says whether there are roles in a template that is a member of a group or
// chain.
func (l *loader) membersMention(s *program.Stack, r *hot.Resource, t environment.Type, at place, registry *environment.Registry) bool {
	if !environment.IsTemplate(t.Name) {
		return false
	}
	n := program.NewStackResource(s, r, program.Counted{}, &hot.Resource{Name: r.Name, Entry: r.Entry, TypeNode: r.TypeNode})
	m := &program.Member{Name: "0"}
	m.Stack = l.member(n, m, t, at, registry)
	return m.Stack != nil && mentionsRoles(m.Stack)
}

// mayMention is membersMention for what is not sure to be there: nothing is said of it.
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

// trial is a loader that finds things out, and says nothing.
func (l *loader) trial() *loader {
	trial := *l
	trial.diags, trial.templates = &source.Diagnostics{}, maps.Clone(l.templates)
	return &trial
}

// instances refuses roles in what an environment makes of the members of a group of
// instances: they get the launch configuration's own keys, and tags (heat/engine/resources/
// openstack/heat/instance_group.py, _get_resource_definition).
func (l *loader) instances(s *program.Stack, r *hot.Resource, at place) {
	registry := at.registry.Child(r.Name, environment.Type{})
	t, err := registry.Resolve(instanceType, "0")
	if err != nil || !l.membersMention(s, r, t, at, registry.Child("0", t)) {
		return
	}
	l.refuse(s.Place(r.Entry.Key), fmt.Sprintf("the environment makes the members of %q of %s, which has roles; Heat hands the members of an %s nothing but the keys of its launch configuration, so their agents would know neither who they are nor their token", r.Name, t.Name, s.Type(r)),
		"use OS::Heat::AutoScalingGroup, with the template as the `type` of its `resource` and what the launch configuration says as the properties")
}

// chain refuses roles in the members of a chain, all of which get the same properties
// (heat/engine/resources/openstack/heat/resource_chain.py).
func (l *loader) chain(s *program.Stack, r *hot.Resource, at place) {
	const hint = "make a resource of each type by itself: `depends_on` puts them in order"
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
			l.refuse(s.Place(n), fmt.Sprintf("the chain %q has servers with roles, since %s is among its members, and hotc does not compile those: a chain hands the same properties to all members", r.Name, name), hint)
			return
		}
	}
	if e, err := s.Template.Fold(n, s.Supplied.Peek); known || n.IsNull() || err != nil || e.IsValue() {
		return
	}
	for _, name := range registry.Types() {
		if t, err := registry.Resolve(name, "0"); err == nil && l.mayMention(l.trial(), s, r, t, at, registry.Child("0", t)) {
			l.diags.Warning(source.NotYet, s.Place(n), fmt.Sprintf("which types the chain %q makes is left to Heat, and %s, which may be among them, has servers with roles; if it is, they do not run", r.Name, name), hint).Note(t.At, "the environment maps the type to it")
			return
		}
	}
}

// remote refuses roles in a stack that is made by a call of Heat's own API (heat/engine/
// resources/openstack/heat/remote_stack.py), from the text of a template.
func (l *loader) remote(s *program.Stack, r *hot.Resource, at place) {
	template := r.Property("template")
	file, ok := s.Template.NamedAt(template)
	path, err := source.Locate(file.Name, filepath.Dir(at.path))
	if !ok || file.Kind != hot.ToFile || err != nil {
		return // its text says what it is; or who reads the file says what is wrong
	}
	inside := at
	inside.depth = -2 // a tree of stacks of its own, in the same environment
	t := environment.Type{Name: file.Name, File: filepath.Clean(path)}
	trial := l.trial()
	found := l.mayMention(trial, s, r, t, inside, at.registry)
	for _, d := range trial.diags.All() {
		if d.Code == source.NotYet || d.At.File != nil && trial.isNone(d.At.File.Name) { // there may be roles
			l.diags.Add(d)
		}
	}
	if found {
		l.refuse(s.Place(s.Template.RefAt(template).Arg), fmt.Sprintf("the stack %q has servers with roles, which hotc does not compile: an %s is not a nested stack to Heat", r.Name, remoteType),
			"nest the template as the type of a resource; or deploy it by itself, with a deployment of its own")
	}
}

// isNone says whether a file was read as a template, and is none.
func (l *loader) isNone(path string) bool {
	t, read := l.templates[path]
	return read && t == nil
}

// inner refuses roles in what a member of a group or chain makes, if it is a group or chain
// itself: that is written in the member's properties, and no stack of the tree.
func (l *loader) inner(s *program.Stack, r *hot.Resource, member environment.Type, properties *yaml.Node, at place, registry *environment.Registry) {
	if !IsGroup(member.Name) && member.Name != chainType || properties.IsNull() {
		return
	}
	found := mentionsBlock(properties)
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
		l.refuse(s.Place(properties), fmt.Sprintf("what these members of %q make, each an %s, has servers with roles, which hotc does not compile yet", r.Name, member.Name),
			"put the "+member.Name+" into a template of its own, and make that one the member")
	}
}

// mentionsBlock says whether there is a block of roles anywhere in a text.
func mentionsBlock(n *yaml.Node) bool {
	return slices.ContainsFunc(n.Items, mentionsBlock) || slices.ContainsFunc(n.Entries, func(e yaml.Entry) bool {
		return e.Name == "metadata" && e.Value.Get("hotc") != nil || mentionsBlock(e.Value)
	})
}

// anyText says whether one of the texts in a value is what is looked for.
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

// cloudFormation refuses roles in a CloudFormation template, and below it: what its
// servers need could not be handed over. Each is said once, however often it is used.
func (l *loader) cloudFormation(root *program.Stack) {
	said := map[*hot.Template]bool{}
	root.Walk(func(s *program.Stack) {
		if !s.Template.Version.CFN() || said[s.Template] {
			return
		}
		for _, r := range s.Template.Resources {
			if resourceMentions(s, r) {
				said[s.Template] = true
				l.refuse(s.Place(r.Entry.Key), fmt.Sprintf("%q has roles, which hotc compiles in templates of HOT only: a template of the version %s has no functions to tell agents who they are", r.Name, s.Template.Version),
					"write the template in HOT, heat_template_version: 2015-10-15 or newer")
				return
			}
		}
	})
}
