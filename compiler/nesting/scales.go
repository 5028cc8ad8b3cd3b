package nesting

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Heat generates the names of the members of a group that scales, and their number
// changes without an update of the stack. If they have roles, the plan has slots, one for
// each possible member (docs/nesting.md, "Groups that scale").

// The properties with the size of such a group
// (heat/engine/resources/openstack/heat/autoscaling_group.py).
const (
	minSize         = "min_size"
	maxSize         = "max_size"
	desiredCapacity = "desired_capacity"
	rollingUpdates  = "rolling_updates"
)

// scales sets the initial size of such a group, and returns the property with it, nil if
// there is none (heat/engine/resources/aws/autoscaling/autoscaling_group.py,
// child_template). An empty group may grow.
func (l *loader) scales(n *program.StackResource, r *hot.Resource) *yaml.Node {
	s := n.In
	size := r.Property(desiredCapacity)
	if v, known := l.known(s, size); size.IsNull() || known && (v == nil || value.Equal(v, int64(0))) {
		size = r.Property(minSize)
	}
	n.Size = l.size(s, size, 0)
	if most, known := l.known(s, r.Property(maxSize)); n.Size == 0 && !s.Supplied.Unpinned && !(known && value.Equal(most, int64(0))) {
		n.Size = -1
	}
	return size
}

// slots is how many slots a group that scales needs, 0 if it cannot have roles.
func (l *loader) slots(n *program.StackResource, r *hot.Resource) int {
	s := n.In
	if !l.canScale(n, r) {
		return 0
	}
	most := r.Property(maxSize)
	if most.IsNull() {
		return 0 // Heat reports it
	}
	l.fixed(s, most)
	slots := l.bound(n, r, most)
	if block := r.MetadataEntry(Block); n.Unbounded || slots == 0 || block != nil && block.Value.Get(MaxMembers) != nil {
		return slots
	}
	return slots + l.surge(s, r.Property(rollingUpdates), slots)
}

// surge is how many additional members a rolling update creates to keep some in service
// (heat/scaling/rolling_update.py, next_batch).
func (l *loader) surge(s *program.Stack, updates *yaml.Node, most int) int {
	if updates.IsNull() {
		return 0
	}
	kept := updates.Get("min_in_service")
	if v, known := l.known(s, kept); updates.Kind == yaml.Map && (kept.IsNull() || known && value.Equal(v, int64(0))) {
		return 0
	}
	if batch := updates.Get("max_batch_size"); !batch.IsNull() {
		if n, known := l.most(s, s.Template.Expr(batch), 1); known {
			return min(n, most)
		}
	}
	return 1
}

// canScale refuses such groups with roles where their members cannot be distinguished, or
// not be read.
func (l *loader) canScale(n *program.StackResource, r *hot.Resource) bool {
	s := n.In
	refuse := func(message, hint string) bool {
		l.diags.Error(source.NotYet, s.Place(r.Entry.Key), message, hint)
		return false
	}
	around := s
	for around.StackResource != nil && !around.StackResource.Scales() {
		around = around.Around()
	}
	switch v := s.Template.Version; {
	case v <= hot.V20130523:
		return refuse(fmt.Sprintf("the members of %q have roles, but a template of version %s cannot read the attributes of such a group's members", r.Name, v),
			"write the template in HOT, heat_template_version: 2014-10-16 or later")
	case around.StackResource != nil:
		return refuse(fmt.Sprintf("the members of %q have roles, and are nested in %q, another group that scales, which hotc does not support yet", r.Name, around.StackResource.Resource.Name),
			"use OS::Heat::ResourceGroup for the inner one")
	}
	if size := r.Property(desiredCapacity); !size.IsNull() && s.Template.Expr(size).MayBeOmitted() {
		return refuse(fmt.Sprintf("the members of %q have roles, but only Heat knows whether it has a desired_capacity, which hotc does not support yet", r.Name), "give the `if` an else with the value of min_size")
	}
	return true
}
