package program

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Counted is the kind of groups whose members are named 0, 1, 2, ….
type Counted struct {
	Index string // the placeholder of a member's name in its definition
}

func (Counted) sort() string { return "a group" }

// groupsOwn are the attributes of the group itself.
var groupsOwn = []string{"refs", "refs_map", "removed_rsrc_list", "show"}

// The attributes of such a group (heat/engine/resources/openstack/heat/
// resource_group.py, get_attribute):
//
//	[group, x, …]             a list over the members
//	[group, attributes, x, …] a map by the members' names
//	[group, resource.N.x, …]  of one member, also as [group, resource.N, x, …]
func (Counted) selects(n *StackResource, attribute string, path []value.Value, more bool) Selection {
	switch {
	case slices.Contains(groupsOwn, attribute):
		return Selection{}
	case attribute == "attributes" && (len(path) > 0 || more):
		return named(MapOfAll, path, more)
	case strings.HasPrefix(attribute, "resource."):
		s := ofResource(attribute, path, more)
		s.Member = n.Member(s.Name)
		return s
	case n.In.Template.Version <= hot.V20130523: // selects from the list
		return Selection{Gives: ListOfAll, Attribute: attribute, Then: path}
	}
	return Selection{Gives: ListOfAll, Attribute: attribute, Path: path}
}

// ofResource is the selection of resource.N.x.
func ofResource(attribute string, path []value.Value, more bool) Selection {
	parts := strings.SplitN(attribute, ".", 3)
	s := Selection{Gives: OfOne, Attribute: strings.Join(parts[2:], ""), Path: path}
	if len(parts) < 3 {
		s = named(OfOne, path, more) // without more it is the member's id
	}
	s.Name = parts[1]
	return s
}
