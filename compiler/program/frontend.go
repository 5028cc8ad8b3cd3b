package program

import (
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
	// Servers are the types of resources on which its roles run.
	Servers []*ServerType
	// Lower adds the servers and their roles.
	Lower func(*Program, *source.Diagnostics)
}

// ServerType is a type of resources that run roles.
type ServerType struct {
	Name       string
	Attributes []string // that Heat gives them
}

// Gives reports whether Heat gives servers of the type an attribute.
func (t *ServerType) Gives(attribute string) bool { return slices.Contains(t.Attributes, attribute) }

// Lower lets each front-end add what the template says in its way.
func (p *Program) Lower(diags *source.Diagnostics) {
	for _, f := range p.frontEnds {
		f.Lower(p, diags)
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
