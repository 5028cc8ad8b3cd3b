package program

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
)

// OutputsList is the attribute with the list of an attribute of all members of a group that
// scales.
const OutputsList = "outputs_list"

// Scaled is the kind of groups whose members' names Heat generates, and whose number
// changes without an update of the stack.
type Scaled struct{}

func (Scaled) sort() string { return "a group that scales" }

// The attributes of such a group (heat/engine/resources/openstack/heat/
// autoscaling_group.py, get_attribute):
//
//	[group, outputs_list, x, …] a list over the members
//	[group, outputs, x, …]      a map by the generated names
//	[group, resource.N.x, …]    of the N-th member created, also as [group, resource.N, x, …]
func (Scaled) selects(_ *StackResource, attribute string, path []value.Value, more bool) Selection {
	switch {
	case attribute == OutputsList:
		return named(ListOfAll, path, more)
	case attribute == "outputs":
		return named(MapOfAll, path, more)
	case strings.HasPrefix(attribute, "resource."):
		return ofResource(attribute, path, more)
	}
	return Selection{}
}
