package hot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// What Heat's function classes check when a template is parsed: the form of the
// argument as written. A call in it has no form yet.

// entry finds the expression of a key in a map.
func (e *Expr) entry(key string) (*Expr, bool) {
	switch e.Kind {
	case MapExpr:
		if i := slices.Index(e.Keys, key); i >= 0 {
			return e.Items[i], true
		}
	case ValueExpr:
		if d, ok := e.Value.(*value.Dict); ok {
			v, found := d.Get(key)
			return Constant(v, e.At), found
		}
	}
	return nil, false
}

// isMap reports whether the expression is a map, not a call.
func (e *Expr) isMap() bool {
	_, isDict := e.Value.(*value.Dict)
	return e.Kind == MapExpr || e.Kind == ValueExpr && isDict
}

// isList reports whether the expression is a list, not a call.
func (e *Expr) isList() bool {
	_, isList := e.Value.([]value.Value)
	return e.Kind == ListExpr || e.Kind == ValueExpr && isList
}

// text returns a literal string.
func (e *Expr) text() (string, bool) {
	s, ok := e.Value.(string)
	return s, ok && e.Kind == ValueExpr
}

// list returns the items of a list.
func (e *Expr) list() ([]*Expr, bool) {
	if e.Kind == ListExpr {
		return e.Items, true
	}
	values, ok := e.Value.([]value.Value)
	if e.Kind != ValueExpr || !ok {
		return nil, false
	}
	return constants(values, e.At), true
}

// size is the length of a list; ok is false for anything else.
func (e *Expr) size() (n int, ok bool) {
	if e.Kind == ListExpr {
		return len(e.Items), true
	}
	values, ok := e.Value.([]value.Value)
	return len(values), ok && e.Kind == ValueExpr
}

// unpacked returns what Python unpacks an argument into: a list's items, but also
// a map's keys and a string's characters. ok is false unless there are exactly n.
func unpacked(arg *Expr, n int) (parts []*Expr, ok bool) {
	if items, ok := arg.list(); ok {
		return items, len(items) == n
	}
	texts := arg.Keys
	switch v := arg.Value.(type) {
	case *value.Dict:
		texts = v.Keys()
	case string:
		texts = characters(v)
	}
	return constants(value.Texts(texts), arg.At), arg.Kind != CallExpr && len(texts) == n
}

func constants(values []value.Value, at source.Place) []*Expr {
	return lists.Map(values, func(v value.Value) *Expr { return Constant(v, at) })
}

func characters(s string) []string { return strings.Split(s, "") }

// described names the kind of an argument, for a message.
func (e *Expr) described() string {
	switch e.Kind {
	case ListExpr:
		return "a list"
	case MapExpr:
		return "a map"
	case CallExpr:
		return "a call of " + e.Func.Name
	}
	return value.TypeName(e.Value)
}

// harmless reports that evaluating the expression cannot fail, so that it can be
// dropped where its value does not matter.
func (e *Expr) harmless() bool {
	switch e.Kind {
	case CallExpr:
		return e.Func.Reference && e.Func != getFile && !e.Func.HeatOnly && e.arg.IsValue()
	case ListExpr, MapExpr:
		return !slices.ContainsFunc(e.Items, func(x *Expr) bool { return !x.harmless() })
	}
	return true
}

// mayBeAbsent reports that the item or entry with this expression may be omitted.
func (e *Expr) mayBeAbsent() bool { return e.Kind == CallExpr && e.Func.omittable }

// anyNumber is the upper bound of lists of any length.
const anyNumber = 1 << 30

// sized checks the length of a list argument; what describes its items.
func sized(name string, least, most int, what string) func(*Expr) error {
	return func(arg *Expr) error {
		if n, ok := arg.size(); !ok || n < least || n > most {
			return wants(name, "a list of "+what, arg)
		}
		return nil
	}
}

func wants(name, expected string, arg *Expr) error {
	return fmt.Errorf("%s needs %s, not %s", name, expected, arg.described())
}
