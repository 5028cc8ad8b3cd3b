package contract

import (
	"bytes"
	"encoding/json"
)

// Type is the type of a role's input or output.
type Type string

// The types. JSON is any value.
const (
	String  Type = "string"
	Number  Type = "number"
	Boolean Type = "boolean"
	List    Type = "list"
	JSON    Type = "json"
)

// TypeOf returns the type of a JSON value: JSON for maps and null.
func TypeOf(value json.RawMessage) Type {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0:
		return JSON
	case value[0] == '"':
		return String
	case value[0] == '[':
		return List
	case value[0] == 't', value[0] == 'f':
		return Boolean
	case value[0] == '{', value[0] == 'n':
		return JSON
	}
	return Number
}

// Scalar reports whether values of the type have no parts.
func (t Type) Scalar() bool { return t == String || t == Number || t == Boolean }

// Types are the types of the cells of roles' outputs.
func (p *Plan) Types() map[CellName]Type {
	types := map[CellName]Type{}
	for _, r := range p.EachRole() {
		for _, o := range r.Outputs {
			if o.Type != JSON {
				types[o.Cell] = o.Type
			}
		}
	}
	return types
}
