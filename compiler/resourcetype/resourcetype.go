// Package resourcetype is what Heat says of resource types: their attributes, and their
// properties with types, constraints and deprecation.
//
// The tables are Heat's own words. That of Debian's python3-heat is written down whole
// (releases/19.jsonl): `go test ./compiler/resourcetype -update` asks Heat for it
// (schemas.py), and the tests compare both. Those of other releases are written down as
// what differs from their neighbour's, and made of Heat's public source: TestReleases says
// how.
//
// A Catalogue is what one cloud has: a release, and types of its own. A cloud may have
// more, by plug-ins, than the user has told of; so what follows from a table is a warning,
// and a type that is in none is left alone.
package resourcetype

import (
	"sync"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Type is a resource type.
type Type struct {
	Name string `json:"type"`
	// Own is the file that tells of it; "" of Heat's own.
	Own string `json:"-"`
	// Attributes have their types, "" where Heat says none; nil if only Heat knows which there
	// are, such as those of a group.
	Attributes map[string]Kind `json:"attributes"`
	// Ailing are attributes that should not be read any more.
	Ailing       map[string]Status    `json:"ailing"`
	Properties   map[string]*Property `json:"properties"`
	UpdatePolicy map[string]*Property `json:"update_policy"`
	// Snapshots says that the deletion policy Snapshot can be kept.
	Snapshots bool `json:"snapshots"`
	// Excludes are properties that exclude each other, OneOf those of which there must be
	// one, Needs pairs of which the first needs the second.
	Excludes [][]string `json:"excludes"`
	OneOf    [][]string `json:"one_of"`
	Needs    [][]string `json:"needs"`
	Status
}

// Status says why something should not be used any more.
type Status struct {
	Deprecated *string `json:"deprecated"` // what Heat says of it; nil of what is well
	Hidden     bool    `json:"hidden"`     // Heat does not list it any more
}

// Property is what a property, or a part of one, may be (heat/engine/properties.py,
// Schema).
type Property struct {
	Kind     Kind `json:"type"`
	Required bool `json:"required"`
	// Instead is the older property beside it that will do, too; "" for most.
	Instead string `json:"instead"`
	Default any    `json:"default"`
	// Replaces says that another value makes another resource, Fixed that Heat takes none.
	Replaces bool `json:"replaces"`
	Fixed    bool `json:"fixed"`
	Status
	Limits
	// Each is what a list's items are, Properties are a map's; nil if they may be
	// anything.
	Each       *Property            `json:"each"`
	Properties map[string]*Property `json:"properties"`

	made sync.Once // like, which is made when a value is first compared with it
	like *hot.Parameter
}

// Limits are the constraints of a property.
type Limits struct {
	Range   []any  `json:"range"`  // least and most, either may be nil
	Length  []any  `json:"length"` // likewise
	Values  []any  `json:"values"`
	Pattern string `json:"pattern"`
	Step    any    `json:"step"`
	Offset  any    `json:"offset"`
	// Custom is a constraint of Heat's by name: what exists in a cloud, or how an address
	// is written.
	Custom string `json:"custom"`
}

// Kind is the type of a property.
type Kind string

// The types of properties.
const (
	String  Kind = "string"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Map     Kind = "map"
	List    Kind = "list"
	Any     Kind = "any"
)

// HasAttribute says whether resources of the type may have an attribute.
func (t *Type) HasAttribute(name string) bool {
	_, has := t.Attributes[name]
	return has || t.Attributes == nil
}
