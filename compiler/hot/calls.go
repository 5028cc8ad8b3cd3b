package hot

import (
	"github.com/hotc-dev/hotc/compiler/source"
)

// Calls that the compiler makes itself, as a version says them.

// AttributeCall reads an attribute of a resource, and a part of it where there is a path.
func (v Version) AttributeCall(at source.Place, resource, attribute string, path ...Value) *Expr {
	f := getAttr
	switch {
	case v == V20130523:
		f = getAttrThenSelect
	case v >= V20151015:
		f = getAttrAll
	}
	return NewCall(f, at, Constant(append([]Value{resource, attribute}, path...), at))
}

// Choice is an `if` whose condition and branches are still to come.
func Choice(at source.Place) *Expr { return &Expr{Kind: CallExpr, Func: ifElse, At: at} }

// ParameterCall reads an entry of a parameter that is a map.
func ParameterCall(at source.Place, parameter, key string) *Expr {
	return NewCall(getParam, at, Constant([]Value{parameter, key}, at))
}

// CallOf says what a node calls, if it is a call: the function's meaning and the
// argument.
func (t *Template) CallOf(n *Node) (meaning string, arg *Node) {
	if n.Kind != Map || len(n.Entries) != 1 {
		return "", nil
	}
	e := n.Entries[0]
	f := t.Functions.Lookup(e.Name)
	if f == nil {
		return "", nil
	}
	if f == ref || f == cfnRef {
		f = t.Functions.names.meaningOfRef(f, e.Value)
	}
	return f.Meaning(), e.Value
}
