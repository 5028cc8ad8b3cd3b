package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
)

type object = map[string]any

// template returns the schema of HOT templates, for completion and errors in editors. It accepts
// whatever stock Heat may accept, since it knows no functions and no clouds; the linter checks
// the rest.
func template(types *resourcetype.Catalogue) []byte {
	kinds, definitions := []string{}, object{
		"call": object{"type": "object", "minProperties": 1, "maxProperties": 1, "description": "a function, such as {get_param: name}"},
	}
	var cases []object
	for _, name := range types.Names() {
		t := types.Lookup(name)
		definitions[name] = properties(t.Properties)
		cases = append(cases, object{
			"if":   object{"required": []string{"type"}, "properties": object{"type": object{"const": name}}},
			"then": object{"properties": object{"properties": object{"anyOf": []object{{"$ref": "#/definitions/" + name}, {"type": "null"}}}}},
		})
		if !t.Hidden {
			kinds = append(kinds, name)
		}
	}
	definitions["resource"] = object{
		"type": "object", "required": []string{"type"}, "additionalProperties": false, "allOf": cases,
		"properties": object{
			"type":       object{"anyOf": []object{{"enum": kinds}, {"type": "string"}}, "description": "a resource type, or the file of a nested template"},
			"properties": object{}, "metadata": object{}, "description": object{}, "external_id": object{}, "condition": object{}, "update_policy": object{},
			"deletion_policy": object{},
			"depends_on":      object{"type": []string{"string", "array", "object", "null"}, "items": object{"type": []string{"string", "object"}}},
		},
	}
	of := func(what object) object {
		return object{"type": []string{"object", "null"}, "additionalProperties": what}
	}
	versions := hot.Versions()
	text, err := json.MarshalIndent(object{
		"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://hotc.dev/schema/template-1.json",
		"title": fmt.Sprintf("A HOT template; resource types are those of Heat %s", types.Release()),
		"type":  "object", "required": []string{"heat_template_version"}, "additionalProperties": false,
		"properties": object{
			"heat_template_version": object{"anyOf": []object{{"enum": versions}, {"type": "string", "pattern": "^[a-z]+$"}}},
			"description":           object{}, "conditions": of(object{}), "parameter_groups": object{"type": []string{"array", "null"}},
			"parameters": of(object{
				"type": "object", "required": []string{"type"}, "additionalProperties": false,
				"properties": object{
					"type":  object{"enum": []string{"string", "number", "comma_delimited_list", "json", "boolean"}},
					"label": object{}, "description": object{}, "default": object{}, "hidden": object{}, "immutable": object{}, "tags": object{},
					"constraints": object{"type": "array", "items": object{"type": "object"}},
				},
			}),
			"resources": of(object{"$ref": "#/definitions/resource"}),
			"outputs": of(object{
				"type": "object", "additionalProperties": false,
				"properties": object{"value": object{}, "description": object{}, "condition": object{}},
			}),
		},
		"definitions": definitions,
	}, "", " ")
	if err != nil {
		panic(err) // it consists of strings and maps
	}
	return append(text, '\n')
}

// properties describes those of a resource type, or of a map in one.
func properties(of map[string]*resourcetype.Property) object {
	all, needed := object{}, []string{}
	for name, p := range of {
		all[name] = property(p)
		if p.Required && p.Instead == "" {
			needed = append(needed, name)
		}
	}
	out := object{"type": "object", "additionalProperties": false, "properties": all}
	if len(needed) > 0 {
		slices.Sort(needed)
		out["required"] = needed
	}
	return out
}

// property describes a value, a function that returns it, or what Heat converts to it.
func property(p *resourcetype.Property) object {
	forms := []object{{"$ref": "#/definitions/call"}, {"type": "null"}}
	add := func(o object) { forms = append([]object{o}, forms...) }
	switch p.Kind {
	case resourcetype.Map:
		add(object{"type": "string"}) // JSON
		if p.Properties != nil {
			add(properties(p.Properties))
		} else {
			add(object{"type": "object"})
		}
	case resourcetype.List:
		add(object{"type": "string"})
		list := object{"type": "array"}
		if p.Each != nil {
			list["items"] = property(p.Each)
		}
		add(list)
	case resourcetype.Integer, resourcetype.Number, resourcetype.Boolean, resourcetype.String:
		add(object{"type": []string{"string", "number", "boolean"}})
		if len(p.Values) > 0 {
			add(object{"enum": p.Values})
		}
	case resourcetype.Any:
		forms = []object{{}}
	}
	out := object{"anyOf": forms}
	if p.Default != nil {
		out["default"] = p.Default
	}
	if p.Deprecated != nil {
		out["deprecated"], out["description"] = true, *p.Deprecated
	}
	return out
}
