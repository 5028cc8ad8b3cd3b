package hot

import (
	"iter"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Calls that the compiler builds itself, in a version's notation.

// AttributeCall reads an attribute of a resource, or the part of it at path.
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

// ParameterCall reads one key of a map parameter.
func ParameterCall(at source.Place, parameter, key string) *Expr {
	return NewCall(getParam, at, Constant([]value.Value{parameter, key}, at))
}

// CellCall reads a cell, or the part of its value at path.
func CellCall(at source.Place, cell contract.CellName, path []value.Value) *Expr {
	if len(path) == 0 {
		return NewCall(CellRef, at, Constant(string(cell), at))
	}
	return NewCall(CellRef, at, Constant(append([]value.Value{string(cell)}, path...), at))
}

// Short abbreviates a call as the user would write it.
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

// IsCall reports whether a node is a function call.
func (t *Template) IsCall(n *yaml.Node) bool {
	return n.Kind == yaml.Map && len(n.Entries) == 1 && t.Functions.Lookup(n.Entries[0].Name) != nil
}

// Calls are the function calls in a node, outer ones first.
func (t *Template) Calls(n *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		for x := range n.Nodes() {
			if t.IsCall(x) && !yield(x) {
				return
			}
		}
	}
}

// TextAt returns the text that the call in a node yields, and the params that it replaces
// in it, if any; nil for all other calls.
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
