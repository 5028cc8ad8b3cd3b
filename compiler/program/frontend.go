package program

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// FrontEnd is one way in which a template says what runs on its servers. Which parts of the text
// are its own, and what it makes of them, are values of the program: no later stage asks which
// front-end a role is from.
type FrontEnd struct {
	Name string // of its schema
	// About says what the schema describes.
	About  string
	Schema []byte // JSON Schema
	// Entry is the key of its own entry in a resource's metadata, which Heat never sees; "" is none.
	Entry string
	// Types are those of resources that may be its own as a whole (Stack.Own): what is in them
	// counts as roles before they are lowered.
	Types []string
	// Servers are the types of resources on which its roles run.
	Servers []*ServerType
	// Lower adds the servers and their roles. What it returns runs when all front-ends have done so:
	// only then every role that a name may mean is there. It may be nil.
	Lower func(*Program, *source.Diagnostics) (resolve func())
}

// ServerType is a type of resources that run roles.
type ServerType struct {
	Name       string
	Attributes []string // that Heat gives them
}

// Gives reports whether Heat gives servers of the type an attribute; of no type it gives none.
func (t *ServerType) Gives(attribute string) bool {
	return t != nil && slices.Contains(t.Attributes, attribute)
}

// Lower lets each front-end add what the template says in its way.
func (p *Program) Lower(diags *source.Diagnostics) {
	resolve := lists.Map(p.frontEnds, func(f *FrontEnd) func() { return f.Lower(p, diags) })
	for _, names := range resolve {
		if names != nil {
			names()
		}
	}
}

// serverType finds a type of servers; nil if it is none.
func (p *Program) serverType(name string) *ServerType {
	for _, f := range p.frontEnds {
		if t := lists.Find(f.Servers, func(t *ServerType) bool { return t.Name == name }); t != nil {
			return t
		}
	}
	return nil
}

// ServerType is the type of a resource that may run roles; nil if it may not.
func (s *Stack) ServerType(r *hot.Resource) *ServerType { return s.program.serverType(s.Type(r)) }

// ServerType is the type of a group's members if these are servers; nil otherwise.
func (n *StackResource) ServerType() *ServerType { return n.In.program.serverType(n.definition.Type) }

// IsEntry reports whether a key of a resource's metadata is a front-end's.
func (s *Stack) IsEntry(key string) bool {
	return slices.ContainsFunc(s.program.frontEnds, func(f *FrontEnd) bool { return f.Entry != "" && f.Entry == key })
}

// SaysRoles reports whether a resource says what runs on servers: in an entry of its metadata, or as
// a whole.
func (s *Stack) SaysRoles(r *hot.Resource) bool {
	return len(s.Blocks(r)) > 0 || slices.ContainsFunc(s.program.frontEnds, func(f *FrontEnd) bool { return slices.Contains(f.Types, s.Type(r)) })
}

// Owned is a resource that is a front-end's own as a whole: Heat never sees it. Its roles run on
// servers of any stack, and its attributes are what they write.
type Owned struct {
	Roles      []*Role
	attributes map[string]*Output
}

// Own takes a resource from Heat.
func (s *Stack) Own(r *hot.Resource) *Owned {
	o := &Owned{attributes: map[string]*Output{}}
	s.owned[r.Name] = o
	return o
}

// Owned finds a resource that is a front-end's; nil if Heat makes it.
func (s *Stack) Owned(resource string) *Owned { return s.owned[resource] }

// Makes reports whether Heat makes a resource.
func (s *Stack) Makes(resource string) bool { return !s.Absent(resource) && s.owned[resource] == nil }

// Declare declares a role's output as an attribute of the resource. The output's own Attribute is
// that of its server, where several resources may have roles.
func (o *Owned) Declare(attribute string, output *Output) { o.attributes[attribute] = output }

// Output finds a role's output by the attribute that references use.
func (o *Owned) Output(attribute string) *Output { return o.attributes[attribute] }

// Attributes are the names that references may use.
func (o *Owned) Attributes() []string { return slices.Sorted(maps.Keys(o.attributes)) }

// Blocks are the front-ends' entries in the metadata of a resource, or of a group's definition of
// its members: they say what runs.
func (s *Stack) Blocks(r *hot.Resource) (all []*yaml.Entry) {
	for _, f := range s.program.frontEnds {
		if e := r.MetadataEntry(f.Entry); e != nil {
			all = append(all, e)
		}
	}
	return all
}
