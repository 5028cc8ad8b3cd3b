package hot

import (
	"slices"
	"sync"

	"github.com/hotc-dev/hotc/compiler/value"
)

// HOT is the expression as a template says it. ok is false if no template can:
// a plan's references, and data that every template would read as a call.
func (e *Expr) HOT() (v value.Value, ok bool) {
	switch e.Kind {
	case ValueExpr:
		return e.Value, !hasCallShape(e.Value)
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

// looksLikeCall says whether a template would read the map as a call.
func (e *Expr) looksLikeCall(isFunction func(string) bool) bool {
	return e.Kind == MapExpr && len(e.Keys) == 1 && isFunction(e.Keys[0])
}

// hasCallShape says whether there is a map in the value that some version of HOT
// reads as a call.
func hasCallShape(v value.Value) bool { return hasCallOf(v, isFunctionName) }

// hasCallOf says whether there is a map in the value whose only key is a function's name.
func hasCallOf(v value.Value, isName func(string) bool) bool {
	has := func(x value.Value) bool { return hasCallOf(x, isName) }
	switch v := v.(type) {
	case []value.Value:
		return slices.ContainsFunc(v, has)
	case *value.Dict:
		return v.Len() == 1 && isName(v.Keys()[0]) || slices.ContainsFunc(v.Values(), has)
	}
	return false
}

// functionNames are those of all functions of some version of HOT, in expressions or
// conditions.
var functionNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, s := range slices.Concat(functions, conditionFunctions, cfnFunctions, cfnConditionFunctions) {
		names[s.function.Name] = true
	}
	return names
})

// isFunctionName asks for them; functions ask their folder, since they are listed there.
func isFunctionName(name string) bool { return functionNames()[name] }
