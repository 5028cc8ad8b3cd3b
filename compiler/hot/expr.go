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
	return newExprReader(file, n, table).read(n, table.expressions)
}

// newCondition reads a node as a condition, which has functions of its own.
func newCondition(file *source.File, n *Node, table Table) *Expr {
	return newExprReader(file, n, table).read(n, table.conditions)
}

// exprReader reads expressions into room that is made for all of their parts at
// once.
type exprReader struct {
	file  *source.File
	table Table
	exprs []Expr
	items []*Expr
	keys  []string
}

func newExprReader(file *source.File, n *Node, table Table) *exprReader {
	nodes, keys := 0, 0
	n.count(&nodes, &keys)
	r := &exprReader{file: file, table: table, exprs: make([]Expr, nodes)}
	if nodes > 1 {
		r.items = make([]*Expr, nodes-1)
	}
	if keys > 0 {
		r.keys = make([]string, keys)
	}
	return r
}

// count adds up the nodes, and the keys of maps that are no calls for sure.
func (n *Node) count(nodes, keys *int) {
	*nodes++
	for _, x := range n.Items {
		x.count(nodes, keys)
	}
	if len(n.Entries) > 1 {
		*keys += len(n.Entries)
	}
	for i := range n.Entries {
		n.Entries[i].Value.count(nodes, keys)
	}
}

// take takes so many from what there is room for.
func take[T any](room *[]T, n int) []T {
	if n > len(*room) {
		return make([]T, n)
	}
	own := (*room)[:n:n]
	*room = (*room)[n:]
	return own
}

// parts takes n expressions.
func (r *exprReader) parts(n int) []*Expr {
	exprs, items := take(&r.exprs, n), take(&r.items, n)
	for i := range items {
		items[i] = &exprs[i]
	}
	return items
}

func (r *exprReader) read(n *Node, functions map[string]*Function) *Expr {
	e := &take(&r.exprs, 1)[0]
	r.readInto(e, n, functions)
	return e
}

// readInto is read in a place that is there already.
func (r *exprReader) readInto(e *Expr, n *Node, functions map[string]*Function) {
	e.At = source.Place{File: r.file, Span: n.Span}
	switch n.Kind {
	case Scalar:
		e.Value = n.Value
	case List:
		e.Kind, e.Items = ListExpr, r.parts(len(n.Items))
		for i, x := range n.Items {
			r.readInto(e.Items[i], x, functions)
		}
	case Map:
		if len(n.Entries) == 1 {
			if f := functions[n.Entries[0].Name]; f != nil {
				r.call(e, f, n.Entries[0].Value, functions)
				return
			}
		}
		e.Kind, e.Items, e.Keys = MapExpr, r.parts(len(n.Entries)), take(&r.keys, len(n.Entries))
		for i := range n.Entries {
			e.Keys[i] = n.Entries[i].Name
			r.readInto(e.Items[i], n.Entries[i].Value, functions)
		}
	}
}

func (r *exprReader) call(e *Expr, f *Function, arg *Node, functions map[string]*Function) {
	e.Kind, e.Func, e.Items = CallExpr, f, r.parts(1)
	if f.usesNames {
		e.names = r.table.names
	}
	if (f == ref || f == cfnRef) && r.table.names != nil {
		e.Func = r.table.names.meaningOfRef(f, arg)
	}
	r.readInto(e.Arg(), arg, functions)
	if f.Meaning() == "if" && arg.Kind == List && len(arg.Items) > 0 {
		e.Arg().Items[0] = r.read(arg.Items[0], r.table.conditions)
	}
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
	values := make([]Value, len(e.Items))
	for i, x := range e.Items {
		values[i] = x.Value
	}
	switch e.Kind {
	case ListExpr:
		return Constant(values, e.At)
	case MapExpr:
		return Constant(DictOf(e.Keys, values), e.At)
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
