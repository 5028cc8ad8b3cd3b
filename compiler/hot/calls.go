package hot

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Calls that the compiler makes itself, as a version says them.

// AttributeCall reads an attribute of a resource, and a part of it where there is a path.
func (v Version) AttributeCall(at source.Place, resource, attribute string, path ...value.Value) *Expr {
	f := getAttr
	switch {
	case v == V20130523:
		f = getAttrThenSelect
	case v >= V20151015:
		f = getAttrAll
	}
	return NewCall(f, at, Constant(append([]value.Value{resource, attribute}, path...), at))
}

// ParameterCall reads an entry of a parameter that is a map.
func ParameterCall(at source.Place, parameter, key string) *Expr {
	return NewCall(getParam, at, Constant([]value.Value{parameter, key}, at))
}

// CellCall reads a cell, and a part of its value where there is a path.
func CellCall(at source.Place, cell contract.CellName, path []value.Value) *Expr {
	if len(path) == 0 {
		return NewCall(CellRef, at, Constant(string(cell), at))
	}
	return NewCall(CellRef, at, Constant(append([]value.Value{string(cell)}, path...), at))
}

// Short is a call as the user would write it, in short.
func (e *Expr) Short() string {
	text := "…"
	switch v := e.arg.Value.(type) {
	case string:
		text = v
	case []value.Value:
		parts := lists.Map(v, value.ToString)
		text = "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + e.Func.Name + ": " + text + "}"
}

// IsCall says whether a node is the call of a function.
func (t *Template) IsCall(n *yaml.Node) bool {
	return n.Kind == yaml.Map && len(n.Entries) == 1 && t.Functions.Lookup(n.Entries[0].Name) != nil
}

// TextAt is the text that the call in a node passes on, with other words in the place of
// params where there are any; nil if the call does no such thing.
func (t *Template) TextAt(n *yaml.Node) (text, params *yaml.Node) {
	switch f, arg := t.callOf(n); {
	case f == nil:
	case f.Name == "Fn::Base64": // which encodes nothing
		return arg, nil
	case strings.HasPrefix(f.Name, "str_replace"):
		return arg.Get("template"), arg.Get("params")
	}
	return nil, nil
}

func (t *Template) callOf(n *yaml.Node) (f *Function, arg *yaml.Node) {
	if n == nil || n.Kind != yaml.Map || len(n.Entries) != 1 {
		return nil, nil
	}
	e := n.Entries[0]
	f = t.Functions.Lookup(e.Name)
	if f == ref || f == cfnRef {
		f = t.Functions.names.meaningOfRef(f, e.Value)
	}
	return f, e.Value
}
