package hot

import (
	"slices"
	"sync"

	"github.com/hotc-dev/hotc/compiler/value"
)

// HOT is the expression in template notation. ok is false if there is none: for a
// plan's references, and for data that a template would read as a call.
func (e *Expr) HOT() (v value.Value, ok bool) {
	switch e.Kind {
	case ValueExpr:
		return e.Value, !containsCall(e.Value)
	case CallExpr:
		ok = e.Func != CellRef && e.Func != DeployRef
	default:
		ok = !e.looksLikeCall(isFunctionName)
	}
	v = e.asValue(func(x *Expr) value.Value {
		part, fine := x.HOT()
		ok = ok && fine
		return part
	})
	return v, ok
}

// looksLikeCall reports whether a template would read the map as a call.
func (e *Expr) looksLikeCall(isFunction func(string) bool) bool {
	return e.Kind == MapExpr && len(e.Keys) == 1 && isFunction(e.Keys[0])
}

// containsCall reports whether the value contains a map that some version of HOT reads
// as a call.
func containsCall(v value.Value) bool { return containsCallOf(v, isFunctionName) }

// containsCallOf reports whether the value contains a map whose only key is a function's name.
func containsCallOf(v value.Value, isName func(string) bool) bool {
	has := func(x value.Value) bool { return containsCallOf(x, isName) }
	switch v := v.(type) {
	case []value.Value:
		return slices.ContainsFunc(v, has)
	case *value.Dict:
		return v.Len() == 1 && isName(v.Keys()[0]) || slices.ContainsFunc(v.Values(), has)
	}
	return false
}

// functionNames are the names of all functions of any version, in expressions or
// conditions.
var functionNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, s := range slices.Concat(functions, conditionFunctions, cfnFunctions, cfnConditionFunctions) {
		names[s.function.Name] = true
	}
	return names
})

// isFunctionName looks a name up in them. Functions use their folder's, since they
// are listed there themselves.
func isFunctionName(name string) bool { return functionNames()[name] }
