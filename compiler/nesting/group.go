package nesting

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// groupType is a resource type whose members are all alike.
type groupType struct {
	definition string // the property with the definition of a member
	size       string // the property with the number of members
	// counted says that the members are named 0, 1, 2, …; otherwise Heat generates names.
	counted bool
}

// groups are the types of groups (heat/engine/resources/openstack/heat:
// resource_group.py, autoscaling_group.py). Members of OS::Heat::InstanceGroup and
// of AWS::AutoScaling::AutoScalingGroup come from a launch configuration, which can
// have no roles.
var groups = map[string]groupType{
	"OS::Heat::ResourceGroup":    {definition: "resource_def", size: "count", counted: true},
	"OS::Heat::AutoScalingGroup": {definition: "resource", size: minSize},
}

// IsStackResource reports whether a type stands for other resources: a template, a stack, or a group.
func IsStackResource(typeName string) bool {
	return environment.IsTemplate(typeName) || typeName == remoteType || groups[typeName].definition != ""
}

// IsGroup reports whether a type is that of a group, which grows and shrinks.
func IsGroup(typeName string) bool {
	return groups[typeName].definition != "" || instanceGroups[typeName]
}

// indexVariable is the placeholder that a group replaces by a member's name.
func (l *loader) indexVariable(s *program.Stack, r *hot.Resource) string {
	if v := l.peek(s, r.Property("index_var")); v != nil {
		name, _ := v.(string)
		return name
	}
	return "%index%"
}

// group loads the members of a group.
func (l *loader) group(s *program.Stack, r *hot.Resource, g groupType, at place) {
	definition := r.Property(g.definition)
	if definition == nil || definition.Kind != yaml.Map {
		return // Heat reports it
	}
	entry := r.Properties.Value.Entry(g.definition)
	d := &hot.Resource{Name: r.Name, Entry: entry, Properties: definition.Entry("properties"), Metadata: definition.Entry("metadata"), TypeNode: definition.Get("type")}
	n := program.NewStackResource(s, r, program.Scaled{}, d)
	size := r.Property(g.size)
	if g.counted {
		n = program.NewStackResource(s, r, program.Counted{Index: l.indexVariable(s, r)}, d)
		n.Size = l.size(s, size, hot.CountDefault)
	} else {
		size = l.scales(n, r)
	}
	n.SizeAt = s.Place(r.Entry.Key)
	if size != nil {
		n.SizeAt = s.Place(size)
	}
	typeName, _ := l.peek(s, definition.Get("type")).(string)
	registry := at.registry.Child(r.Name, environment.Type{})
	t, err := registry.Resolve(typeName, "0")
	if err != nil {
		l.diags.Error(source.BadEnvironment, s.Place(definition.Get("type")), err.Error(), "")
		return
	}
	d.Type = t.Name
	s.AddStackResource(n)
	if n.Size != 0 {
		l.inner(s, r, t, definition.Get("properties"), at, registry)
	}
	var first *program.Member
	hasRoles := len(n.Blocks()) > 0
	if environment.IsTemplate(t.Name) && n.Size != 0 {
		first = &program.Member{Name: "0"}
		if first.Stack = l.member(n, first, t, at, registry.Child("0", t)); first.Stack == nil {
			return
		}
		n.EachResources = Resources(first.Stack)
		hasRoles = hasRoles || mentionsRoles(first.Stack)
	}
	if n.Size == 0 {
		l.fixed(s, size) // pinned, since members might have roles
		return
	}
	if !hasRoles {
		if first != nil {
			n.Sample = first.Stack
		}
		return
	}
	l.members(n, r, size, first, func(m *program.Member) *program.Stack {
		t, _ := registry.Resolve(typeName, m.Name)
		return l.member(n, m, t, at, registry.Child(m.Name, t))
	})
}

// members creates the members of a group with roles, one by one.
func (l *loader) members(n *program.StackResource, r *hot.Resource, count *yaml.Node, first *program.Member, load func(*program.Member) *program.Stack) {
	s, size := n.In, n.Size
	if fixed := l.fixed(s, count); !fixed || n.Scales() && !s.Supplied.Unpinned {
		most := 0
		if n.Scales() {
			most = l.slots(n, r)
		} else {
			most = l.bound(n, r, count)
		}
		if n.Unbounded {
			most = 1
		}
		if most == 0 {
			return
		}
		n.Count, size = s.Template.Expr(count), most
	}
	if size > l.MaxResources {
		l.tooLarge(n, size)
		return
	}
	if first == nil && !l.room.take(n.SizeAt, size) { // member stacks are counted as such
		return
	}
	removed, ok := l.removed(s, r)
	if !ok {
		return
	}
	for i := 0; n.Most() < size; i++ {
		name := strconv.Itoa(i)
		if slices.Contains(removed, name) {
			continue
		}
		m := &program.Member{Name: name}
		switch {
		case first != nil && name == "0":
			m = first
		case first != nil:
			if m.Stack = load(m); m.Stack == nil {
				return
			}
		}
		n.Add(m)
	}
}

// tooLarge refuses more members than Heat accepts resources.
func (l *loader) tooLarge(n *program.StackResource, size int) {
	const more = "use --limit resources=N if your cloud allows more"
	if !n.Open() {
		l.diags.Error(source.OverLimit, n.SizeAt, fmt.Sprintf("the group %q would have %d members; Heat allows %d resources (max_resources_per_stack)", n.Resource.Name, size, l.MaxResources),
			"split it into several stacks, or "+more)
		return
	}
	l.diags.Error(source.OverLimit, n.SizeAt, fmt.Sprintf("Heat decides the size of the group %q, which can be up to %d; Heat allows %d resources (max_resources_per_stack)", n.Resource.Name, size, l.MaxResources),
		fmt.Sprintf("lower the maximum, `%s` in the group's hotc block or the constraints of the parameter that decides the size; or %s", MaxMembers, more))
}

// peek is a value, nil if it is not known.
func (l *loader) peek(s *program.Stack, n *yaml.Node) value.Value {
	if n == nil {
		return nil
	}
	v, _ := l.known(s, n)
	return v
}

// known is a value, if it is known; a missing node is null.
func (l *loader) known(s *program.Stack, n *yaml.Node) (v value.Value, ok bool) {
	if n == nil {
		return nil, true
	}
	e, err := s.Template.Fold(n, s.Supplied.Peek)
	if err != nil || !e.IsValue() {
		return nil, false
	}
	return e.Value, true
}

// size is the number of members, -1 if only Heat knows.
func (l *loader) size(s *program.Stack, n *yaml.Node, missing int) int {
	if n.IsNull() {
		return missing
	}
	v, known := l.known(s, n)
	if !known {
		return -1
	}
	size, err := hot.GroupSize(v, missing)
	if err != nil {
		l.diags.Error(source.BadArgument, s.Place(n), err.Error(), "")
	}
	return size
}

// fixed reports whether a value is known, and pins what it depends on.
func (l *loader) fixed(s *program.Stack, n *yaml.Node) bool {
	if n.IsNull() {
		return true
	}
	e, err := s.Template.Fold(n, s.Supplied.Resolve)
	return err == nil && e.IsValue()
}

// removed are the names that a new group skips (resource_group.py, _name_skiplist).
func (l *loader) removed(s *program.Stack, r *hot.Resource) (names []string, ok bool) {
	n := r.Property("removal_policies")
	if n.IsNull() {
		return nil, true
	}
	if !l.fixed(s, n) {
		l.diags.Error(source.NotYet, s.Place(n), fmt.Sprintf("the members of %q have roles, but only Heat knows its removal_policies, which hotc does not support yet", r.Name), "")
		return nil, false
	}
	if s.StackResourceOf(r.Name).Open() {
		l.diags.Error(source.NotYet, s.Place(n), fmt.Sprintf("the members of %q have roles, and only Heat knows their number: hotc does not support removal_policies there yet", r.Name),
			"set the number at compile time, or remove the removal_policies")
		return nil, false
	}
	policies, _ := l.peek(s, n).([]value.Value)
	for _, p := range policies {
		if d, isMap := p.(*value.Dict); isMap {
			items, _ := d.At("resource_list").([]value.Value)
			names = append(names, lists.Map(items, value.ToString)...)
		}
	}
	return names, true
}
