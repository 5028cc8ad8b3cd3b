package hot

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/value"
)

// What Heat's function classes look at when a template is parsed: the shape of
// the argument as it is written. A call in it has no shape yet.

// entry finds the expression of a key in a map.
func (e *Expr) entry(key string) (*Expr, bool) {
	switch e.Kind {
	case MapExpr:
		for i, k := range e.Keys {
			if k == key {
				return e.Items[i], true
			}
		}
	case ValueExpr:
		if d, ok := e.Value.(*value.Dict); ok {
			v, found := d.Get(key)
			return Constant(v, e.At), found
		}
	}
	return nil, false
}

// isMap says whether the expression is a map, not a call.
func (e *Expr) isMap() bool {
	_, isDict := e.Value.(*value.Dict)
	return e.Kind == MapExpr || e.Kind == ValueExpr && isDict
}

// isList says whether the expression is a list, not a call.
func (e *Expr) isList() bool {
	_, isList := e.Value.([]value.Value)
	return e.Kind == ListExpr || e.Kind == ValueExpr && isList
}

// text is a string that stands in the text itself.
func (e *Expr) text() (string, bool) {
	s, ok := e.Value.(string)
	return s, ok && e.Kind == ValueExpr
}

// list gives the items of a list.
func (e *Expr) list() ([]*Expr, bool) {
	if e.Kind == ListExpr {
		return e.Items, true
	}
	values, ok := e.Value.([]value.Value)
	if e.Kind != ValueExpr || !ok {
		return nil, false
	}
	items := make([]*Expr, len(values))
	for i, v := range values {
		items[i] = Constant(v, e.At)
	}
	return items, true
}

// size is how many items a list has; ok is false for all else.
func (e *Expr) size() (n int, ok bool) {
	if e.Kind == ListExpr {
		return len(e.Items), true
	}
	values, ok := e.Value.([]value.Value)
	return len(values), ok && e.Kind == ValueExpr
}

// unpacked are the parts that Python unpacks an argument into: a list's items,
// but also a map's keys and a string's characters. ok is false if there are not
// exactly n.
func unpacked(arg *Expr, n int) (parts []*Expr, ok bool) {
	if items, ok := arg.list(); ok {
		return items, len(items) == n
	}
	switch {
	case arg.Kind == CallExpr:
		return nil, false
	case arg.Kind == MapExpr:
		return constants(arg, arg.Keys, n)
	}
	switch v := arg.Value.(type) {
	case *value.Dict:
		return constants(arg, v.Keys(), n)
	case string:
		return constants(arg, characters(v), n)
	}
	return nil, false
}

func constants(at *Expr, texts []string, n int) ([]*Expr, bool) {
	if len(texts) != n {
		return nil, false
	}
	parts := make([]*Expr, n)
	for i, s := range texts {
		parts[i] = Constant(s, at.At)
	}
	return parts, true
}

func characters(s string) []string {
	var out []string
	for _, r := range s {
		out = append(out, string(r))
	}
	return out
}

// called is what an argument is, for a message.
func (e *Expr) called() string {
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

// harmless says that computing the expression cannot fail, so that it may be
// dropped where its value does not matter.
func (e *Expr) harmless() bool {
	switch e.Kind {
	case CallExpr:
		return e.Func.Reference && e.Func != getFile && !e.Func.HeatOnly && e.arg.IsValue()
	case ListExpr, MapExpr:
		for _, x := range e.Items {
			if !x.harmless() {
				return false
			}
		}
	}
	return true
}

// mayBeAbsent says that the item or entry with this expression may be left out.
func (e *Expr) mayBeAbsent() bool { return e.Kind == CallExpr && e.Func.mayLeaveOut }

func wants(name, expected string, arg *Expr) error {
	return fmt.Errorf("%s needs %s, not %s", name, expected, arg.called())
}
