package program

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Place is a part of a stack's text that Heat evaluates.
type Place struct {
	Kind          PlaceKind
	Resource      *hot.Resource  // nil for the sections
	Output        *hot.Output    // whose value or condition it is
	StackResource *StackResource // the resource's, if it has members
	Entry         *yaml.Entry    // its key and value; for outputs their entry in the section
	Node          *yaml.Node
}

// PlaceKind is how Heat uses a place.
type PlaceKind uint8

// The kinds of places.
const (
	InProperty PlaceKind = iota // Heat creates a resource with it, as with metadata
	InMetadata
	InMember    // a property or metadata of a group's members
	InArgument  // a property that becomes a parameter of a nested template
	InTopology  // it decides which resources exist, how many and of what type
	InDependsOn // names of resources and roles
	InOutput
)

// topologyProperties are properties that decide how many resources exist, or which (heat/
// engine/resources: openstack/heat/resource_group.py, autoscaling_group.py,
// instance_group.py, resource_chain.py, aws/autoscaling/autoscaling_group.py).
var topologyProperties = map[string][]string{
	"OS::Heat::ResourceGroup":            {"count", "index_var", "removal_policies", "removal_policies_mode"},
	"OS::Heat::AutoScalingGroup":         {"min_size", "max_size", "desired_capacity"},
	"OS::Heat::InstanceGroup":            {"Size"},
	"AWS::AutoScaling::AutoScalingGroup": {"MinSize", "MaxSize", "DesiredCapacity"},
	"OS::Heat::ResourceChain":            {"resources", "concurrent"},
}

// Places visits everything that Heat evaluates in the stack, in source order, the
// conditions and outputs last. (`for p := range s.Places`.)
func (s *Stack) Places(yield func(Place) bool) {
	for _, r := range s.Template.Resources {
		if !s.Absent(r.Name) && !s.placesOf(r, yield) {
			return
		}
	}
	w := s.Template.Keywords()
	if e := s.Template.Root.Entry(w.Conditions); e != nil && !yield(Place{Kind: InTopology, Entry: e, Node: e.Value}) {
		return
	}
	for _, o := range s.Template.Outputs {
		if !yield(Place{Kind: InOutput, Output: o, Entry: o.Entry, Node: o.Value}) ||
			o.Condition != nil && !yield(Place{Kind: InTopology, Output: o, Entry: o.Condition, Node: o.Condition.Value}) {
			return
		}
	}
}

// PlacesOf visits the places of one resource, whether it exists or not.
func (s *Stack) PlacesOf(r *hot.Resource) func(yield func(Place) bool) {
	return func(yield func(Place) bool) { s.placesOf(r, yield) }
}

func (s *Stack) placesOf(r *hot.Resource, yield func(Place) bool) bool {
	if s.owned[r.Name] != nil {
		return true
	}
	x := placing{in: s, t: s.Template, r: r, stackResource: s.stackResources[r.Name], yield: yield}
	if x.stackResource != nil && len(x.stackResource.members) == 0 {
		x.stackResource = nil
	}
	w := s.Template.Keywords()
	for i := range r.Entry.Value.Entries {
		e := &r.Entry.Value.Entries[i]
		going := true
		switch e.Name {
		case w.Metadata:
			going = x.metadata(InMetadata, e)
		case w.Properties:
			going = x.properties(e, topologyProperties[s.Type(r)])
		case w.DependsOn:
			going = x.visit(InDependsOn, e)
		case w.Condition, w.Type, w.DeletionPolicy, w.UpdatePolicy, "external_id":
			going = x.visit(InTopology, e)
		}
		if !going {
			return false
		}
	}
	return true
}

// placing visits the places of a resource. Its methods report whether to continue.
type placing struct {
	in            *Stack
	t             *hot.Template
	r             *hot.Resource
	stackResource *StackResource
	yield         func(Place) bool
}

func (x placing) visit(kind PlaceKind, e *yaml.Entry) bool {
	return x.yield(Place{Kind: kind, Resource: x.r, StackResource: x.stackResource, Entry: e, Node: e.Value})
}

// each visits the entries of a map; a computed map is itself a place.
func (x placing) each(kind PlaceKind, e *yaml.Entry, visit func(*yaml.Entry) bool) bool {
	if e.Value.Kind != yaml.Map || x.t.IsCall(e.Value) {
		return x.visit(kind, e)
	}
	for i := range e.Value.Entries {
		if !visit(&e.Value.Entries[i]) {
			return false
		}
	}
	return true
}

// metadata skips what is a front-end's own.
func (x placing) metadata(kind PlaceKind, e *yaml.Entry) bool {
	return x.each(kind, e, func(m *yaml.Entry) bool { return x.in.IsEntry(m.Name) || x.visit(kind, m) })
}

func (x placing) properties(properties *yaml.Entry, deciding []string) bool {
	return x.each(InProperty, properties, func(e *yaml.Entry) bool {
		switch {
		case x.stackResource != nil && !x.stackResource.Group():
			return x.visit(InArgument, e)
		case x.stackResource != nil && e.Name == x.stackResource.definition.Entry.Name, x.stackResource == nil && len(deciding) > 0 && e.Value.Get("type") != nil:
			return x.definition(e)
		case x.stackResource != nil, slices.Contains(deciding, e.Name):
			return x.visit(InTopology, e)
		}
		return x.visit(InProperty, e)
	})
}

// definition visits a group's definition of its members, which has HOT's keys in every
// template.
func (x placing) definition(definition *yaml.Entry) bool {
	return x.each(InMember, definition, func(e *yaml.Entry) bool {
		switch {
		case e.Name == "type":
			return x.visit(InTopology, e)
		case e.Name == "properties" && x.stackResource != nil && !x.stackResource.Inline():
			return x.each(InMember, e, func(p *yaml.Entry) bool { return x.visit(InArgument, p) })
		case e.Name == "metadata":
			return x.metadata(InMember, e)
		}
		return x.each(InMember, e, func(p *yaml.Entry) bool { return x.visit(InMember, p) })
	})
}
