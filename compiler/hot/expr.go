package hot

import (
	"github.com/hotc-dev/hotc/compiler/source"
)

// Expr is an expression: a value, a list or map of expressions, or the call of a
// function. Exprs are never changed once made; folding makes new ones.
type Expr struct {
	Kind  ExprKind
	At    source.Place
	Value Value   // of a value
	Items []*Expr // of a list; the values of a map; the one argument of a call
	Keys  []string
	Func  *Function

	names *names // of a call whose argument may name conditions
}

// ExprKind is what an expression is.
type ExprKind uint8

// The kinds of expressions.
const (
	ValueExpr ExprKind = iota
	ListExpr
	MapExpr
	CallExpr
)

// Constant makes an expression of a value. What it holds is data, even where it
// looks like a call.
func Constant(v Value, at source.Place) *Expr { return &Expr{Kind: ValueExpr, Value: v, At: at} }

// NewCall makes a call of a function.
func NewCall(f *Function, at source.Place, argument *Expr) *Expr {
	return &Expr{Kind: CallExpr, Func: f, At: at, Items: []*Expr{argument}}
}

// Arg is a call's argument.
func (e *Expr) Arg() *Expr { return e.Items[0] }

// IsValue says whether the expression is known.
func (e *Expr) IsValue() bool { return e.Kind == ValueExpr }

// NewExpr reads a node as an expression: a map whose only key is a function of
// the table is a call (heat/engine/template.py, parse).
func NewExpr(file *source.File, n *Node, table Table) *Expr {
	return exprReader{file, table}.read(n, table.expressions)
}

// newCondition reads a node as a condition, which has functions of its own.
func newCondition(file *source.File, n *Node, table Table) *Expr {
	return exprReader{file, table}.read(n, table.conditions)
}

type exprReader struct {
	file  *source.File
	table Table
}

func (r exprReader) read(n *Node, functions map[string]*Function) *Expr {
	e := &Expr{}
	r.readInto(e, n, functions)
	return e
}

// readInto is read in a place that is there already.
func (r exprReader) readInto(e *Expr, n *Node, functions map[string]*Function) {
	e.At = source.Place{File: r.file, Span: n.Span}
	switch n.Kind {
	case Scalar:
		e.Value = n.Value
	case List:
		e.Kind = ListExpr
		items := make([]Expr, len(n.Items))
		e.Items = make([]*Expr, len(n.Items))
		for i, x := range n.Items {
			e.Items[i] = &items[i]
			r.readInto(&items[i], x, functions)
		}
	case Map:
		if len(n.Entries) == 1 {
			if f := functions[n.Entries[0].Name]; f != nil {
				r.call(e, f, n.Entries[0].Value, functions)
				return
			}
		}
		e.Kind = MapExpr
		items := make([]Expr, len(n.Entries))
		e.Keys, e.Items = make([]string, len(n.Entries)), make([]*Expr, len(n.Entries))
		for i := range n.Entries {
			e.Keys[i], e.Items[i] = n.Entries[i].Name, &items[i]
			r.readInto(&items[i], n.Entries[i].Value, functions)
		}
	}
}

func (r exprReader) call(e *Expr, f *Function, arg *Node, functions map[string]*Function) {
	e.Kind, e.Func = CallExpr, f
	if f.usesNames {
		e.names = r.table.names
	}
	if (f == ref || f == cfnRef) && r.table.names != nil {
		e.Func = r.table.names.meaningOfRef(f, arg)
	}
	a := r.read(arg, functions)
	if f.Meaning() == "if" && arg.Kind == List && len(arg.Items) > 0 {
		a.Items[0] = r.read(arg.Items[0], r.table.conditions)
	}
	e.Items = []*Expr{a}
}

// Walk visits an expression and all in it, in the order of the text, until visit
// says not to go deeper.
func (e *Expr) Walk(visit func(*Expr) (deeper bool)) {
	if !visit(e) {
		return
	}
	for _, x := range e.Items {
		x.Walk(visit)
	}
}

// Any says whether something in the expression is so.
func (e *Expr) Any(is func(*Expr) bool) bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || is(x)
		return !found
	})
	return found
}

// CallsAny says whether the expression calls a function of one of these meanings.
func (e *Expr) CallsAny(names ...string) bool {
	return e.Any(func(x *Expr) bool {
		if x.Kind != CallExpr {
			return false
		}
		for _, n := range names {
			if x.Func.Meaning() == n {
				return true
			}
		}
		return false
	})
}

// CallsRemoved says whether the expression calls a function that its version lost, not
// counting what Heat might never look at.
func (e *Expr) CallsRemoved() bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || x.Kind == CallExpr && x.Func.refusal != ""
		return !found && (x.Kind != CallExpr || x.Func.Meaning() != "if")
	})
	return found
}

// collapse makes one value of a list or map whose parts are all known. Parts that
// an `if` without an else left out are gone.
func (e *Expr) collapse() *Expr {
	known, left := true, false
	for _, x := range e.Items {
		known = known && x.IsValue()
		left = left || x.isAbsent()
	}
	if left {
		e = e.withoutAbsent()
	}
	if !known {
		return e
	}
	switch e.Kind {
	case ListExpr:
		list := make([]Value, len(e.Items))
		for i, x := range e.Items {
			list[i] = x.Value
		}
		return Constant(list, e.At)
	case MapExpr:
		d := newDict(len(e.Keys))
		for i, k := range e.Keys {
			d.Set(k, e.Items[i].Value)
		}
		return Constant(d, e.At)
	}
	return e
}

func (e *Expr) withoutAbsent() *Expr {
	out := &Expr{Kind: e.Kind, At: e.At}
	for i, x := range e.Items {
		if x.isAbsent() {
			continue
		}
		out.Items = append(out.Items, x)
		if e.Kind == MapExpr {
			out.Keys = append(out.Keys, e.Keys[i])
		}
	}
	return out
}
