// Package resourcetype is what stock Heat says of its own resource types: the names
// of their attributes, and their properties with types, constraints and deprecation.
//
// The table is Heat's: `go test ./compiler/resourcetype -update` asks Debian's
// python3-heat for it (schemas.py), and the tests compare both. A cloud may have other
// types, by plug-ins, and another release of Heat may know a little more or less of
// these; so what follows from the table is a warning, and a type that is not in it is
// left alone.
package resourcetype

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/hot"
)

//go:embed heat.jsonl
var table string

// Type is a resource type.
type Type struct {
	Name string `json:"type"`
	// Attributes are sorted; nil if only Heat knows, such as those of a group.
	Attributes   []string             `json:"attributes"`
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
	// Replaces says that another value makes another resource.
	Replaces bool `json:"replaces"`
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

// Cache keeps the types that were looked up.
type Cache map[string]*Type

// Lookup finds a type. It returns nil if stock Heat has none of that name.
func (c Cache) Lookup(name string) *Type {
	t, looked := c[name]
	if !looked {
		if known, is := parsed.Load(name); is {
			t = known.(*Type)
		} else if t = read(name); t != nil {
			parsed.Store(name, t)
		}
		c[name] = t
	}
	return t
}

// parsed are the lines of the table that were read already, by whatever template: the table
// never changes, and nobody changes a Type.
var parsed sync.Map

// read reads a type's line.
func read(name string) *Type {
	key, err := json.Marshal(name)
	if err != nil {
		return nil
	}
	_, line, found := strings.Cut(table, "\n{\"type\":"+string(key)+",")
	if !found {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	t := &Type{Name: name}
	if err := json.Unmarshal([]byte("{"+line), t); err != nil {
		panic(fmt.Sprintf("the table's line of %s: %v", name, err)) // it is part of the program
	}
	return t
}

// HasAttribute says whether resources of the type may have an attribute.
func (t *Type) HasAttribute(name string) bool {
	if t.Attributes == nil {
		return true
	}
	_, has := slices.BinarySearch(t.Attributes, name)
	return has
}

// Names are those of all types in the table, sorted.
func Names() []string {
	var names []string
	for rest, found := table, true; ; {
		if _, rest, found = strings.Cut(rest, "\n{\"type\":\""); !found {
			return names
		}
		name, _, _ := strings.Cut(rest, "\"")
		names = append(names, name)
	}
}

// Release is the version of Heat that the table is from.
func Release() string {
	var head struct{ Heat string }
	line, _, _ := strings.Cut(table, "\n")
	if err := json.Unmarshal([]byte(line), &head); err != nil {
		panic(fmt.Sprintf("the table's first line: %v", err))
	}
	return head.Heat
}
