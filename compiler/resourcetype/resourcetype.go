// Package resourcetype describes Heat's resource types: their attributes, and their
// properties with types, constraints and deprecation.
//
// The tables are generated from Heat. That of Debian's python3-heat is stored in full
// (releases/19.jsonl): `go test ./compiler/resourcetype -update` queries Heat for it
// (schemas.py), and the tests compare both. Those of other releases are stored as
// differences from their neighbour, and generated from Heat's public source: see
// TestReleases.
//
// A Catalogue is the types of one cloud: a release, and its own types. A cloud may have
// further types from plug-ins; so violations of a table are warnings, and unknown types
// are not checked.
package resourcetype

import (
	"sync"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Type is a resource type.
type Type struct {
	Name string `json:"type"`
	// Own is the file that describes it; "" for Heat's own.
	Own string `json:"-"`
	// Attributes have their types, "" where Heat declares none; nil if only Heat knows which
	// exist, such as those of a group.
	Attributes map[string]Kind `json:"attributes"`
	// Ailing are attributes that should no longer be used.
	Ailing       map[string]Status    `json:"ailing"`
	Properties   map[string]*Property `json:"properties"`
	UpdatePolicy map[string]*Property `json:"update_policy"`
	// Snapshots says that the type supports the deletion policy Snapshot.
	Snapshots bool `json:"snapshots"`
	// Excludes are properties that exclude each other, OneOf those of which one is required,
	// Needs pairs of which the first needs the second.
	Excludes [][]string `json:"excludes"`
	OneOf    [][]string `json:"one_of"`
	Needs    [][]string `json:"needs"`
	// Implied are the dependencies that Heat adds by itself.
	Implied []Implied `json:"implied"`
	Status
}

// Implied is a dependency that Heat adds by itself to resources of a type (heat/engine/
// resource.py, add_dependencies): on those of another type of which one property has the same
// value. All resources of a stack are compared before any is created.
type Implied struct {
	On    string `json:"on"`
	Own   string `json:"own"`   // the property, as a path through maps and lists: networks.network
	Other string `json:"other"` // that of the other resource
	// Via is the type of the resources that have the property Own, if it is not the resource
	// itself, but something that it needs.
	Via string `json:"via"`
	// OwnUnset and OtherUnset say that a value which is not known then is enough, BothUnset that
	// two are, First that only a list's first item is compared, and Empty that an empty list has
	// one unknown item.
	OwnUnset   bool `json:"own_unset"`
	OtherUnset bool `json:"other_unset"`
	BothUnset  bool `json:"both_unset"`
	First      bool `json:"first"`
	Empty      bool `json:"empty"`
}

// Status says why something should no longer be used.
type Status struct {
	Deprecated *string `json:"deprecated"` // Heat's message; nil if not deprecated
	Hidden     bool    `json:"hidden"`     // Heat no longer lists it
}

// Property is the schema of a property, or of a part of one (heat/engine/properties.py,
// Schema).
type Property struct {
	Kind     Kind `json:"type"`
	Required bool `json:"required"`
	// Instead is the older property that may be used instead; "" for most.
	Instead string `json:"instead"`
	Default any    `json:"default"`
	// Replaces says that a new value replaces the resource, Fixed that Heat refuses one.
	Replaces bool `json:"replaces"`
	Fixed    bool `json:"fixed"`
	Status
	Limits
	// Each is the schema of a list's items, Properties those of a map's keys; nil if they may
	// be anything.
	Each       *Property            `json:"each"`
	Properties map[string]*Property `json:"properties"`

	made sync.Once // for like
	like *hot.Parameter
}

// Limits are the constraints of a property.
type Limits struct {
	Range   []any  `json:"range"`  // minimum and maximum, either may be nil
	Length  []any  `json:"length"` // likewise
	Values  []any  `json:"values"`
	Pattern string `json:"pattern"`
	Step    any    `json:"step"`
	Offset  any    `json:"offset"`
	// Custom is one of Heat's constraints by name: that something exists in the cloud, or the
	// format of an address.
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

// HasAttribute reports whether resources of the type may have an attribute.
func (t *Type) HasAttribute(name string) bool {
	_, has := t.Attributes[name]
	return has || t.Attributes == nil
}
