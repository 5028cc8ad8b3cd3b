package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Stack is one use of a template: the root, a nested template, or a member of a group.
// A template used twice is two stacks.
type Stack struct {
	// Path is the prefix of server paths in the stack: "" for the root, otherwise
	// "tier" or "tier/2".
	Path          contract.ServerPath
	Template      *hot.Template
	Supplied      *Supplied
	StackResource *StackResource // that this is a member of; nil for the root
	// Arguments are the properties that set the parameters, as expressions of the enclosing
	// stack.
	Arguments      map[string]*hot.Expr
	StackResources []*StackResource // in source order

	program        *Program
	types          map[string]string // of resources whose type an environment maps
	removals       map[string]*Removal
	stackResources map[string]*StackResource
	byResource     map[string]*Server
	owned          map[string]*Owned
}

// NewStack makes a stack, without stack resources yet.
func NewStack(path contract.ServerPath, t *hot.Template, supplied *Supplied, of *StackResource) *Stack {
	s := &Stack{Path: path, Template: t, Supplied: supplied, StackResource: of, types: map[string]string{}, removals: map[string]*Removal{},
		stackResources: map[string]*StackResource{}, byResource: map[string]*Server{}, owned: map[string]*Owned{}}
	if of != nil {
		s.program = of.In.program
	}
	return s
}

// Around is the enclosing stack, nil for the root.
func (s *Stack) Around() *Stack {
	if s.StackResource == nil {
		return nil
	}
	return s.StackResource.In
}

// Called is the stack's name for messages.
func (s *Stack) Called() string { return cmp.Or(string(s.Path), "the root stack") }

// PathOf is the path of a resource.
func (s *Stack) PathOf(resource string) contract.ServerPath {
	if s.Path == "" {
		return contract.ServerPath(resource)
	}
	return s.Path + "/" + contract.ServerPath(resource)
}

// Type is the type that a resource's type resolves to.
func (s *Stack) Type(r *hot.Resource) string {
	if t, ok := s.types[r.Name]; ok {
		return t
	}
	return r.Type
}

// SetType sets the type that a resource's type resolves to.
func (s *Stack) SetType(r *hot.Resource, to string) { s.types[r.Name] = to }

// Removal is why a resource, and the roles in it, do not exist.
type Removal struct {
	Why string       // "its condition is false"
	At  source.Place // of what decides it
	// Given says that the values of parameters decide it.
	Given bool
	// Null says that Heat still creates a resource, whose attributes are null.
	Null bool
}

// Note explains why a resource's roles do not exist.
func (r *Removal) Note(resource contract.ServerPath) source.Note {
	return source.Note{At: r.At, Message: fmt.Sprintf("%q does not exist: %s", resource, r.Why)}
}

// Absent reports whether a resource does not exist, its condition being false.
func (s *Stack) Absent(resource string) bool {
	why := s.removals[resource]
	return why != nil && !why.Null
}

// SetAbsent marks a resource as not existing.
func (s *Stack) SetAbsent(resource string, why Removal) { s.removals[resource] = &why }

// SetNone marks a resource as an OS::Heat::None, which does nothing.
func (s *Stack) SetNone(resource string, mapping source.Place) {
	s.removals[resource] = &Removal{Why: "the environment maps its type to OS::Heat::None", At: mapping, Null: true}
}

// Removed is why the roles of a resource do not exist; nil if they do. An empty group
// exists, but has none.
func (s *Stack) Removed(resource string) *Removal {
	if why := s.removals[resource]; why != nil {
		return why
	}
	n := s.stackResources[resource]
	if n == nil || !n.Group() || n.Size != 0 {
		return nil
	}
	return &Removal{Why: "the group is empty", At: n.SizeAt}
}

// RemovedOn finds the first resource on a server path whose roles do not exist; nil if
// there is none.
func (s *Stack) RemovedOn(path string) (resource contract.ServerPath, why *Removal) {
	names := strings.Split(path, "/")
	for at := s; at != nil && len(names) > 0; {
		if why := at.Removed(names[0]); why != nil {
			return at.PathOf(names[0]), why
		}
		n := at.StackResourceOf(names[0])
		names = names[1:]
		at = nil
		switch {
		case n == nil:
		case !n.Group():
			at = n.members[0].Stack
		case len(names) > 0:
			if m := n.Member(names[0]); m != nil {
				at, names = m.Stack, names[1:]
			}
		}
	}
	return "", nil
}

// AddStackResource adds a stack resource.
func (s *Stack) AddStackResource(n *StackResource) {
	s.StackResources = append(s.StackResources, n)
	s.stackResources[n.Resource.Name] = n
}

// StackResourceOf finds the stack resource of a resource.
func (s *Stack) StackResourceOf(resource string) *StackResource { return s.stackResources[resource] }

// Server finds a server with roles by the name of its resource.
func (s *Stack) Server(resource string) *Server { return s.byResource[resource] }

// HasRoles reports whether the stack, or one nested in it, has a server with roles.
func (s *Stack) HasRoles() bool {
	for _, x := range s.byResource {
		if len(x.Roles) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(s.StackResources, (*StackResource).HasRoles)
}

// Place is the position of a node of the stack's template.
func (s *Stack) Place(n source.Spanned) source.Place { return s.Template.Place(n) }

// Walk visits the stack and all stacks below it, in source order.
func (s *Stack) Walk(visit func(*Stack)) { s.walk(visit, false) }

// WalkAll is Walk including the samples of groups' members.
func (s *Stack) WalkAll(visit func(*Stack)) { s.walk(visit, true) }

func (s *Stack) walk(visit func(*Stack), samples bool) {
	visit(s)
	for _, n := range s.StackResources {
		for _, inner := range n.Stacks() {
			inner.walk(visit, samples)
		}
		if samples && n.Sample != nil {
			n.Sample.walk(visit, true)
		}
	}
}

// Scaled is the group that scales that contains the stack, with the slot; nil if there is
// none.
func (s *Stack) Scaled() (n *StackResource, slot *Member) {
	for ; s.StackResource != nil; s = s.Around() {
		if s.StackResource.Slots() {
			return s.StackResource, s.Member()
		}
	}
	return nil, nil
}

func indexed(e *hot.Expr, index *strings.Replacer) *hot.Expr {
	switch {
	case e.Kind == hot.ValueExpr:
		return hot.Constant(indexedValue(e.Value, index), e.At)
	case e.Kind == hot.CallExpr && e.Func.Reference:
		return e
	}
	return e.Map(func(x *hot.Expr) *hot.Expr { return indexed(x, index) })
}

func indexedValue(v value.Value, index *strings.Replacer) value.Value {
	switch v := v.(type) {
	case string:
		return index.Replace(v)
	case []value.Value:
		return lists.Map(v, func(x value.Value) value.Value { return indexedValue(x, index) })
	case *value.Dict:
		d := value.NewDict()
		for k, x := range v.All() {
			d.Set(k, indexedValue(x, index))
		}
		return d
	}
	return v
}
