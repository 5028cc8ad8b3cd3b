package roles

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// schema is the published JSON Schema of the metadata block.
//
//go:embed schema.json
var schema []byte

// separator joins the keys of a violation's context; a key may contain a dot.
const separator = "\x00"

// The schema, and parts of it, each compiled when first needed.
var (
	blockSchema = sync.OnceValue(func() *gojsonschema.Schema { return compiledSchema("") })
	inputSchema = sync.OnceValue(func() *gojsonschema.Schema { return compiledSchema("#/definitions/input") }) // in detailed form
	groupSchema = sync.OnceValue(func() *gojsonschema.Schema { return compiledSchema("#/definitions/group") }) // a group's own block
)

// compiledSchema compiles a part of the schema, or all of it.
func compiledSchema(part string) *gojsonschema.Schema {
	const id = "https://hotc.dev/schema/metadata-1.json"
	loader := gojsonschema.NewSchemaLoader()
	err := loader.AddSchema(id, gojsonschema.NewBytesLoader(schema))
	if err == nil {
		var compiled *gojsonschema.Schema
		if compiled, err = loader.Compile(gojsonschema.NewStringLoader(`{"$ref": "` + id + part + `"}`)); err == nil {
			return compiled
		}
	}
	panic("roles: schema.json: " + err.Error()) // embedded, and tested
}

// check validates a node against a schema; each violation is a diagnostic at its own
// place.
func (l *lowering) check(schema *gojsonschema.Schema, n *yaml.Node, what string) bool {
	result, err := schema.Validate(gojsonschema.NewRawLoader(plainJSON(n)))
	if err != nil {
		l.diags.Error(source.BadMetadata, l.template.Place(n), what+" cannot be checked: "+err.Error(), "")
		return false
	}
	for _, violation := range result.Errors() {
		if violation.Type() == "condition_then" || violation.Type() == "condition_else" {
			continue // its causes are reported separately
		}
		l.report(n, violation, what)
	}
	return result.Valid()
}

func (l *lowering) report(root *yaml.Node, v gojsonschema.ResultError, what string) {
	path := strings.Split(v.Context().String(separator), separator)[1:]
	node, key := walk(root, path)
	place := l.template.Place(node)
	where := what
	if len(path) > 0 {
		where = path[len(path)-1]
	}
	if _, err := strconv.Atoi(where); err == nil && len(path) > 1 {
		where = "an item of " + path[len(path)-2]
	}
	message, hint := "", ""
	cannot := func() string { return fmt.Sprintf("%s cannot be %s", where, shown(node)) }
	details := v.Details()
	kind := v.Type()
	if where == "fact" && slices.Contains([]string{"invalid_type", "enum", "array_min_items", "array_max_items"}, kind) {
		kind = "fact"
	}
	switch kind {
	case "fact":
		message, hint = cannot(), factHint
	case "additional_property_not_allowed":
		name := fmt.Sprint(details["property"])
		if e := node.Entry(name); e != nil {
			place = l.template.Place(e.Key)
		}
		message, hint = fmt.Sprintf("%s has an unknown key %q", where, name), suggestKey(name, where)
	case "required":
		if key != nil {
			place = l.template.Place(key)
		}
		message = fmt.Sprintf("%s requires the key %q", where, details["property"])
	case "invalid_type":
		message = fmt.Sprintf("%s must be %s, not %s", where, article(fmt.Sprint(details["expected"])), value.TypeName(node.Data()))
		hint = formHint(where, node, fmt.Sprint(details["expected"]))
	case "enum":
		message, hint = cannot(), "one of "+fmt.Sprint(details["allowed"])
	case "number_one_of":
		message, hint = where+" has both a `value` and a `fact`", "remove one of them"
	case "pattern":
		message, hint = cannot(), patternHint(fmt.Sprint(details["pattern"]))
	case "number_gt":
		message = where + " must be greater than 0"
	case "const":
		message, hint = cannot(), "it must be "+fmt.Sprint(details["allowed"])
	case "array_min_items", "array_max_items":
		message = where + " is empty"
	default:
		message = where + ": " + strings.ToLower(v.Description())
	}
	l.diags.Error(source.BadMetadata, place, message, hint)
}

const factHint = "one of id, name, first_address, index, group_size, [addresses, NETWORK, N]; to pass a map with this key, write `value: {fact: …}`"

// walk follows a path of keys and indexes; key is the last key's own node.
func walk(n *yaml.Node, path []string) (node *yaml.Node, key *yaml.Key) {
	for _, step := range path {
		if n.Kind == yaml.List {
			if i, err := strconv.Atoi(step); err == nil && i < len(n.Items) {
				n, key = n.Items[i], nil
			}
			continue
		}
		if e := n.Entry(step); e != nil {
			n, key = e.Value, &e.Key
		}
	}
	return n, key
}

func shown(n *yaml.Node) string {
	text := string(value.EncodeJSON(n.Data()))
	if len(text) > 60 {
		text = text[:57] + "…"
	}
	return text
}

func article(kind string) string {
	names := map[string]string{"object": "a map", "array": "a list", "string": "a string", "number": "a number", "boolean": "true or false", "null": "null"}
	var out []string
	for _, k := range strings.FieldsFunc(kind, func(r rune) bool { return r == '/' || r == ',' || r == '[' || r == ']' || r == ' ' }) {
		out = append(out, cmp.Or(names[k], k))
	}
	return strings.Join(out, " or ")
}

// formHint shows how to write a value of the wrong form.
func formHint(where string, n *yaml.Node, wanted string) string {
	switch {
	case wanted == "object" && n.Kind == yaml.List:
		return mapHint(where, n)
	case where == "depends_on":
		return "write a list of roles: [SERVER.ROLE]"
	case wanted == "array" && n.Kind == yaml.Map && len(n.Entries) > 0:
		if n.Get("name") != nil {
			return "write a list: put `- ` before the keys of each role"
		}
		return fmt.Sprintf("write a list: [{name: %s, …}]", n.Entries[0].Name)
	case wanted == "boolean":
		if text, isText := n.Text(); isText {
			switch strings.ToLower(text) {
			case "yes", "on", "true", "y":
				return "write true, without quotes"
			case "no", "off", "false", "n":
				return "write false, without quotes"
			}
		}
	}
	return ""
}

// mapHint shows a list, of names or as in Heat's software configs, as the expected map.
func mapHint(where string, n *yaml.Node) string {
	var entries []string
	for _, x := range n.Items {
		name, is := x.Text()
		if x.Kind == yaml.Map {
			name, is = x.Get("name").Text()
		}
		value := "{}"
		if where == "inputs" {
			value = "VALUE"
		}
		if !is {
			return ""
		}
		entries = append(entries, name+": "+value)
	}
	if len(entries) > 2 {
		entries = append(entries[:1], "…")
	}
	if len(entries) == 0 {
		return ""
	}
	return "write {" + strings.Join(entries, ", ") + "}"
}

func patternHint(pattern string) string {
	switch {
	case strings.Contains(pattern, "(s|m|h)"):
		return "seconds, or a number with s, m or h: 90, 90s, 5m, 2h"
	case strings.Contains(pattern, "{64}"):
		return "64 hex digits"
	}
	return "use letters, digits, _ and -; no dots or slashes, as SERVER.ROLE is split at the last dot"
}

// suggestKey finds the key that was probably meant.
func suggestKey(name, where string) string {
	known := []string{"name", "driver", "source", "inputs", "outputs", "depends_on", "hooks", "actions", "idempotent", "timeout",
		"files", "install", "roles", "defaults", "type", "secret", "attribute", "value", "publish", "default", "optional", "if_down", "eager", "watch", "at_least", "bind", "max_members"}
	if slices.Contains(known, name) {
		return fmt.Sprintf("%s belongs elsewhere: docs/metadata.md lists the keys of %s", name, where)
	}
	sort.Strings(known)
	return hot.DidYouMean(name, known, "docs/metadata.md lists the keys")
}

// plainJSON converts a node to what the schema library decodes from JSON; infinities,
// which JSON does not have, become strings.
func plainJSON(n *yaml.Node) any {
	switch n.Kind {
	case yaml.List:
		return lists.Map(n.Items, plainJSON)
	case yaml.Map:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Name] = plainJSON(e.Value)
		}
		return m
	}
	switch v := n.Value.(type) {
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case *big.Int:
		return json.Number(v.String())
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return value.FormatFloat(v)
		}
		return json.Number(value.FormatFloat(v))
	}
	return n.Value
}
