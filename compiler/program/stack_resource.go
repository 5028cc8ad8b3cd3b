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

// StackResource is a resource that stands for stacks or servers: a nested template, which
// has one member without a name, or a group.
type StackResource struct {
	In       *Stack
	Resource *hot.Resource
	// Sample is what a member is made of where the members have no roles and are not looked
	// at one by one. Nil elsewhere.
	Sample *Stack
	// Size is how many members there are, also where they have no roles and are not
	// looked at one by one; -1 if only Heat knows.
	Size int
	// Count is the number as the group says it, where only Heat knows it and the members
	// have roles: the members are then all that there may be. Nil elsewhere.
	Count *hot.Expr
	// Unbounded says that nothing tells how many there may be, which is reported: one
	// member stands for them all.
	Unbounded bool
	// SizeAt is where the number is said, or the group itself.
	SizeAt source.Place
	// EachResources is how many resources every member has, nested ones included.
	EachResources int

	// What Places and Select decide from is told by methods alone.
	kind       StackResourceKind
	definition *hot.Resource
	members    []*Member
}

// NewStackResource makes one of a kind, whose members are not known yet.
func NewStackResource(in *Stack, r *hot.Resource, kind StackResourceKind, definition *hot.Resource) *StackResource {
	return &StackResource{In: in, Resource: r, kind: kind, definition: definition}
}

// Definition is what each member is: the resource itself, or the resource_def of a group.
func (n *StackResource) Definition() *hot.Resource { return n.definition }

// Block is the block of roles that a group gives its members; nil if it has none.
func (n *StackResource) Block() *yaml.Entry {
	if !n.Group() {
		return nil
	}
	return BlockOf(n.definition)
}

// Members visits those that are looked at one by one.
func (n *StackResource) Members(yield func(*Member) bool) { slices.Values(n.members)(yield) }

// Most is how many members are looked at: all that there may be, or none of those without roles.
func (n *StackResource) Most() int { return len(n.members) }

// First is the one member of a nested template, or the first of a group; nil if none is looked at.
func (n *StackResource) First() *Member {
	if len(n.members) == 0 {
		return nil
	}
	return n.members[0]
}

// Number is the place of a member among the others, from 0.
func (n *StackResource) Number(m *Member) int { return slices.Index(n.members, m) }

// Add adds a member behind the others.
func (n *StackResource) Add(m *Member) { n.members = append(n.members, m) }

// Stacks are the stacks of the members; none where these are servers.
func (n *StackResource) Stacks() (all []*Stack) {
	for _, m := range n.members {
		if m.Stack != nil {
			all = append(all, m.Stack)
		}
	}
	return all
}

// Servers are the members themselves where they are servers with roles.
func (n *StackResource) Servers() (all []*Server) {
	for _, m := range n.members {
		if m.Server != nil {
			all = append(all, m.Server)
		}
	}
	return all
}

// StackResourceKind is how a stack resource names its members, and what is read through it. The kinds are
// those of this package, a file each.
type StackResourceKind interface {
	// sort tells kinds apart.
	sort() string
	// selects says what a path gives that begins with an attribute of the stack resource; more says
	// that it goes on with what is computed.
	selects(n *StackResource, attribute string, path []value.Value, more bool) Selection
}

// Selection is what reading through a stack resource gives.
type Selection struct {
	Gives Gives
	// Member is the one that is meant, nil if there is none of that name, or if only Heat
	// knows which it is; Name is what it is called.
	Member *Member
	Name   string
	// Attribute is what is read of the members, "" if it is computed, and Path the way on
	// from there.
	Attribute string
	Path      []value.Value
	// Then is the way on from the list of all.
	Then []value.Value
}

// Gives says what a selection is made of.
type Gives uint8

// What selections are made of.
const (
	HeatsOwn Gives = iota // ids, sizes: nothing that a member has
	OfOne
	ListOfAll
	MapOfAll // by the members' names
)

// Select says what reading an attribute of a stack resource gives, or a part of it; more says that
// the path goes on with what is computed.
func (n *StackResource) Select(attribute string, path []value.Value, more bool) Selection {
	return n.kind.selects(n, attribute, path, more)
}

// named is a selection of what a path begins with.
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

// Member is one stack of a stack resource, or one server of a group.
type Member struct {
	Name   string // in the group; "" for a nested template
	Stack  *Stack
	Server *Server // of a group whose members are servers; nil without roles
}

// Group says whether the stack resource has several members, with names.
func (n *StackResource) Group() bool { return n.kind != NestedTemplate{} }

// Scales says whether Heat makes the members' names up: members are slots then, each of
// which some member takes, and Count is how many members there are at first.
func (n *StackResource) Scales() bool { return n.kind == Scaled{} }

// Alike says whether two stack resources make members of the same kind; either may be nil.
func (n *StackResource) Alike(other *StackResource) bool {
	return n != nil && other != nil && n.kind.sort() == other.kind.sort()
}

// HasRoles says whether there is a server with roles in a stack resource.
func (n *StackResource) HasRoles() bool {
	return slices.ContainsFunc(n.members, func(m *Member) bool {
		return m.Server != nil && len(m.Server.Roles) > 0 || m.Stack != nil && m.Stack.HasRoles()
	})
}

// Open says whether only Heat knows how many members with roles there are.
func (n *StackResource) Open() bool { return n.Count != nil }

// Slots says whether the members are slots of a group that scales.
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

// Member is which one of its stack resource's the stack is; nil for the root.
func (s *Stack) Member() *Member {
	if s.StackResource == nil {
		return nil
	}
	return lists.Find(s.StackResource.members, func(m *Member) bool { return m.Stack == s })
}

// Inline says that the members are servers that the group itself describes.
func (n *StackResource) Inline() bool {
	return n.Group() && len(n.members) > 0 && n.members[0].Stack == nil
}

// Indexed is an expression of a group's definition, folded, as it is for one
// member: Heat evaluates functions first and then puts the member's name into all
// strings (heat/engine/resources/openstack/heat/resource_group.py,
// _handle_repl_val).
func (n *StackResource) Indexed(e *hot.Expr, member string) *hot.Expr {
	if n == nil || n.IndexVariable() == "" || member == "" {
		return e
	}
	return indexed(e, strings.NewReplacer(n.IndexVariable(), member))
}

// IndexVariable is what a group replaces by a member's name, "" for none.
func (n *StackResource) IndexVariable() string {
	counted, _ := n.kind.(Counted)
	return counted.Index
}
