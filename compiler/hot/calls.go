package hot

import (
	"maps"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Calls that the compiler makes itself, as a version says them.

// AttributeCall reads an attribute of a resource, and a part of it where there is a path.
func (v Version) AttributeCall(at source.Place, resource, attribute string, path ...Value) *Expr {
	f := getAttr
	switch {
	case v.CFN():
		f = fnGetAtt
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
func (v Version) ParameterCall(at source.Place, parameter, key string) *Expr {
	if !v.CFN() {
		return NewCall(getParam, at, Constant([]Value{parameter, key}, at))
	}
	whole := NewCall(refParameter, at, Constant(parameter, at))
	return NewCall(fnSelect, at, &Expr{Kind: ListExpr, At: at, Items: []*Expr{Constant(key, at), whole}})
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

// RoleExpr reads a node of a hotc block as an expression: there get_file may be used
// in CloudFormation templates too, which have no word for it.
func (t *Template) RoleExpr(n *Node) *Expr {
	if !t.Version.CFN() {
		return t.Expr(n)
	}
	table := t.Functions
	table.expressions = maps.Clone(table.expressions)
	table.expressions[getFile.Name] = getFile
	return NewExpr(t.File, n, table)
}
