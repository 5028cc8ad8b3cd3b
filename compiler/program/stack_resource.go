package program

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// StackResource is a resource that contains stacks or servers: a nested template, with one
// unnamed member, or a group.
type StackResource struct {
	In       *Stack
	Resource *hot.Resource
	// Sample is the stack of one member, if the members have no roles and are not expanded.
	// Nil otherwise.
	Sample *Stack
	// Size is the number of members, also if they are not expanded; -1 if only Heat knows.
	Size int
	// Count is the group's size as an expression, if only Heat knows it and the members have
	// roles: the members are then all possible ones. Nil otherwise.
	Count *hot.Expr
	// Unbounded says that the size has no maximum, which is reported: one member stands for
	// all.
	Unbounded bool
	// SizeAt is the position of the size, or of the group itself.
	SizeAt source.Place
	// EachResources is how many resources each member has, including nested ones.
	EachResources int

	// Only methods expose these, so that decisions are made in Places and Select alone.
	kind       StackResourceKind
	definition *hot.Resource
	members    []*Member
}

// NewStackResource makes a stack resource, without members yet.
func NewStackResource(in *Stack, r *hot.Resource, kind StackResourceKind, definition *hot.Resource) *StackResource {
	return &StackResource{In: in, Resource: r, kind: kind, definition: definition}
}

// Definition defines each member: the resource itself, or the resource_def of a group.
func (n *StackResource) Definition() *hot.Resource { return n.definition }

// Blocks are the front-ends' entries in a group's definition of its members.
func (n *StackResource) Blocks() []*yaml.Entry {
	if !n.Group() {
		return nil
	}
	return n.In.Blocks(n.definition)
}

// Members visits the expanded members.
func (n *StackResource) Members(yield func(*Member) bool) { slices.Values(n.members)(yield) }

// Most is the number of expanded members: all possible ones, or none without roles.
func (n *StackResource) Most() int { return len(n.members) }

// First is the only member of a nested template, or the first of a group; nil if not expanded.
func (n *StackResource) First() *Member {
	if len(n.members) == 0 {
		return nil
	}
	return n.members[0]
}

// Number is the index of a member, from 0.
func (n *StackResource) Number(m *Member) int { return slices.Index(n.members, m) }

// Add appends a member.
func (n *StackResource) Add(m *Member) { n.members = append(n.members, m) }

// Stacks are the stacks of the members; none if these are servers.
func (n *StackResource) Stacks() (all []*Stack) {
	for _, m := range n.members {
		if m.Stack != nil {
			all = append(all, m.Stack)
		}
	}
	return all
}

// Servers are the members that are servers with roles.
func (n *StackResource) Servers() (all []*Server) {
	for _, m := range n.members {
		if m.Server != nil {
			all = append(all, m.Server)
		}
	}
	return all
}

// StackResourceKind is how a stack resource names its members, and what its attributes select. The
// kinds are those of this package, a file each.
type StackResourceKind interface {
	// sort identifies the kind.
	sort() string
	// selects resolves a path that begins with an attribute of the stack resource; more says that it
	// continues with computed parts.
	selects(n *StackResource, attribute string, path []value.Value, more bool) Selection
}

// Selection is the result of reading through a stack resource.
type Selection struct {
	Gives Gives
	// Member is the selected one, nil if there is none of that name, or only Heat knows which
	// it is; Name is its name.
	Member *Member
	Name   string
	// Attribute is the members' attribute, "" if computed, and Path the rest of the path.
	Attribute string
	Path      []value.Value
	// Then is the path into the list of all.
	Then []value.Value
}

// Gives is the kind of a selection.
type Gives uint8

// The kinds of selections.
const (
	HeatsOwn Gives = iota // ids, sizes: no attribute of a member
	OfOne
	ListOfAll
	MapOfAll // by the members' names
)

// Select resolves a read of an attribute of a stack resource, or of a part of it; more says that the
// path continues with computed parts.
func (n *StackResource) Select(attribute string, path []value.Value, more bool) Selection {
	return n.kind.selects(n, attribute, path, more)
}

// named is a selection of the attribute that a path begins with.
func named(gives Gives, path []value.Value, more bool) Selection {
	switch {
	case len(path) == 0 && more:
		return Selection{Gives: gives}
	case len(path) == 0:
		return Selection{}
	}
	name, _ := path[0].(string)
	return Selection{Gives: gives, Attribute: name, Path: path[1:]}
}

// Member is a stack of a stack resource, or a server of a group.
type Member struct {
	Name   string // in the group; "" for a nested template
	Stack  *Stack
	Server *Server // of a group whose members are servers; nil without roles
}

// Group reports whether the stack resource has named members.
func (n *StackResource) Group() bool { return n.kind != NestedTemplate{} }

// Scales reports whether Heat generates the members' names: members are slots then, each
// taken by some member, and Count is the initial number of members.
func (n *StackResource) Scales() bool { return n.kind == Scaled{} }

// Alike reports whether two stack resources are of the same kind; either may be nil.
func (n *StackResource) Alike(other *StackResource) bool {
	return n != nil && other != nil && n.kind.sort() == other.kind.sort()
}

// HasRoles reports whether a stack resource contains a server with roles.
func (n *StackResource) HasRoles() bool {
	return slices.ContainsFunc(n.members, func(m *Member) bool {
		return m.Server != nil && len(m.Server.Roles) > 0 || m.Stack != nil && m.Stack.HasRoles()
	})
}

// Open reports whether only Heat knows the number of members with roles.
func (n *StackResource) Open() bool { return n.Count != nil }

// Slots reports whether the members are slots of a group that scales.
func (n *StackResource) Slots() bool { return n.Scales() && n.Open() }

// OwnPath is the path of the resource itself.
func (n *StackResource) OwnPath() contract.ServerPath { return n.In.PathOf(n.Resource.Name) }

// Path is the path of a stack resource's member.
func (n *StackResource) Path(m *Member) contract.ServerPath {
	path := n.OwnPath()
	if m.Name != "" {
		path += "/" + contract.ServerPath(m.Name)
	}
	return path
}

// Member finds a member by name.
func (n *StackResource) Member(name string) *Member {
	return lists.Find(n.members, func(m *Member) bool { return m.Name == name })
}

// Member is the member whose stack this is; nil for the root.
func (s *Stack) Member() *Member {
	if s.StackResource == nil {
		return nil
	}
	return lists.Find(s.StackResource.members, func(m *Member) bool { return m.Stack == s })
}

// Inline reports whether the members are servers defined by the group itself.
func (n *StackResource) Inline() bool {
	return n.Group() && len(n.members) > 0 && n.members[0].Stack == nil
}

// Indexed is a folded expression of a group's definition for one member: Heat
// evaluates functions first, and then inserts the member's name into all strings
// (heat/engine/resources/openstack/heat/resource_group.py, _handle_repl_val).
func (n *StackResource) Indexed(e *hot.Expr, member string) *hot.Expr {
	if n == nil || n.IndexVariable() == "" || member == "" {
		return e
	}
	return indexed(e, strings.NewReplacer(n.IndexVariable(), member))
}

// IndexVariable is the placeholder of a member's name, "" for none.
func (n *StackResource) IndexVariable() string {
	counted, _ := n.kind.(Counted)
	return counted.Index
}
