// Package types compares what roles' outputs are declared to be with how they are
// used. Types are inferred through the functions as far as that is certain; what
// is not, is left to the agents. Only a use that must fail, or can only give
// nothing, is reported.
package types

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Type is what a value is known to be; "" is anything.
type Type string

// The types, as outputs declare them. JSON is any value that is made of others.
const (
	Any     Type = ""
	String  Type = "string"
	Number  Type = "number"
	Boolean Type = "boolean"
	List    Type = "list"
	JSON    Type = "json"
)

func (t Type) scalar() bool { return t == String || t == Number || t == Boolean }

// Check reports uses of a type that cannot be.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	c := &checker{outputs: map[string]*program.Output{}, diags: diags}
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			for _, o := range role.Outputs {
				c.outputs[o.Cell()] = o
				c.declared(o)
			}
		}
	}
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			for _, in := range role.Inputs {
				if bound := a.Inputs[in]; bound != nil && bound.Time == binding.Run {
					c.typeOf(bound.Expr)
				}
			}
		}
	}
	for _, out := range a.Outputs {
		c.typeOf(out.Expr)
	}
}

type checker struct {
	outputs map[string]*program.Output // by cell
	diags   *source.Diagnostics
}

// declared compares an output's value with its declared type.
func (c *checker) declared(o *program.Output) {
	if o.Value == nil || !o.Value.IsValue() || o.Type == "" {
		return
	}
	if is := valueType(o.Value.Value); is != Any && is != Type(o.Type) && Type(o.Type) != JSON {
		c.diags.Error(source.WrongType, o.Value.At, fmt.Sprintf("output %q is declared to be a %s, and its value is a %s", o.Name, o.Type, is), "")
	}
}

func valueType(v hot.Value) Type {
	switch v.(type) {
	case nil:
		return Any
	case string:
		return String
	case bool:
		return Boolean
	case []hot.Value:
		return List
	case *hot.Dict:
		return JSON
	}
	return Number
}

// makes is the type that a function's result has, whatever it is given.
func makes(function string) Type {
	switch function {
	case "list_join", "str_replace", "str_replace_strict", "str_replace_vstrict", "digest", "make_url":
		return String
	case "list_concat", "list_concat_unique", "str_split", "repeat":
		return List
	case "map_merge", "map_replace":
		return JSON
	case "contains", "equals", "not", "and", "or":
		return Boolean
	}
	return Any
}

// typeOf is what an expression is known to be; on its way it reports what in it
// cannot be.
func (c *checker) typeOf(e *hot.Expr) Type {
	switch e.Kind {
	case hot.ValueExpr:
		return valueType(e.Value)
	case hot.ListExpr, hot.MapExpr:
		for _, x := range e.Items {
			c.typeOf(x)
		}
		if e.Kind == hot.ListExpr {
			return List
		}
		return JSON
	}
	if e.Func == hot.CellRef {
		return c.cell(e)
	}
	arg := e.Arg()
	var parts []Type
	if arg.Kind == hot.ListExpr {
		for _, x := range arg.Items {
			parts = append(parts, c.typeOf(x))
		}
	} else {
		c.typeOf(arg)
	}
	switch e.Func.Meaning() {
	case "list_join":
		for i := 1; i < len(parts); i++ {
			c.mustNot(parts[i].scalar() || parts[i] == JSON && isMap(arg.Items[i]), arg.Items[i], parts[i], "list_join joins a list")
		}
	case "list_concat", "list_concat_unique":
		for i, is := range parts {
			c.mustNot(is.scalar(), arg.Items[i], is, e.Func.Name+" joins lists")
		}
	case "map_merge":
		for i, is := range parts {
			c.mustNot(is.scalar() || is == List, arg.Items[i], is, "map_merge joins maps")
		}
	case "str_split":
		if len(parts) > 1 {
			c.mustNot(parts[1] == List, arg.Items[1], parts[1], "str_split splits a string")
		}
	case "if":
		if len(parts) == 3 && parts[1] == parts[2] {
			return parts[1]
		}
	}
	return makes(e.Func.Meaning())
}

func isMap(e *hot.Expr) bool { return e.Kind == hot.MapExpr }

func (c *checker) mustNot(wrong bool, e *hot.Expr, is Type, why string) {
	if !wrong {
		return
	}
	d := c.diags.Error(source.WrongType, e.At, fmt.Sprintf("%s, and this is a %s", why, is), "")
	if o, _ := c.output(e); o != nil {
		d.Notes = append(d.Notes, source.Note{At: o.At, Message: fmt.Sprintf("output %q of role %s is declared to be a %s", o.Name, o.Role.Key(), o.Type)})
	}
}

// output is the output that a reference names, and the path into it.
func (c *checker) output(e *hot.Expr) (*program.Output, []hot.Value) {
	if e.Kind != hot.CallExpr || e.Func != hot.CellRef {
		return nil, nil
	}
	switch v := e.Arg().Value.(type) {
	case string:
		return c.outputs[v], nil
	case []hot.Value:
		if name, ok := v[0].(string); ok {
			return c.outputs[name], v[1:]
		}
	}
	return nil, nil
}

// cell is a reference: a part of what has no parts gives nothing.
func (c *checker) cell(e *hot.Expr) Type {
	o, path := c.output(e)
	if o == nil {
		return Any
	}
	is := Type(o.Type)
	if len(path) == 0 {
		return is
	}
	_, key := path[0].(string)
	if is == Number || is == Boolean || key && (is == String || is == List) {
		d := c.diags.Error(source.WrongType, e.At, fmt.Sprintf("%s has no part %s: this would be null", article(is), hot.EncodeJSON(path[0])), "declare the output `type: json` if it is one")
		d.Notes = append(d.Notes, source.Note{At: o.At, Message: fmt.Sprintf("output %q of role %s is declared to be %s", o.Name, o.Role.Key(), article(is))})
	}
	return Any
}

func article(t Type) string { return "a " + string(t) }
