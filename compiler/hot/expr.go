package hot

import (
	"iter"
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Expr is an expression: a value, a list or map of expressions, or a function call.
// Exprs are immutable; folding creates new ones.
type Expr struct {
	Kind  ExprKind
	At    source.Place
	Value value.Value // of a value
	Items []*Expr     // of a list; the values of a map
	Keys  []string
	Func  *Function

	arg   *Expr  // of a call; other packages read it through view.go
	names *names // of a call whose argument may name conditions
}

// ExprKind is the kind of an expression.
type ExprKind uint8

// The kinds of expressions.
const (
	ValueExpr ExprKind = iota
	ListExpr
	MapExpr
	CallExpr
)

// Constant makes an expression of a value, which is data even if it looks like a call.
func Constant(v value.Value, at source.Place) *Expr { return &Expr{Kind: ValueExpr, Value: v, At: at} }

// NewCall builds a function call.
func NewCall(f *Function, at source.Place, argument *Expr) *Expr {
	return &Expr{Kind: CallExpr, Func: f, At: at, arg: argument}
}

// IsValue reports whether the expression is known.
func (e *Expr) IsValue() bool { return e.Kind == ValueExpr }

// NewExpr reads a node as an expression: a map whose only key is a function of the
// table is a call (heat/engine/template.py, parse). A tree without calls is one value.
func NewExpr(file *source.File, n *yaml.Node, table Table) *Expr {
	r := exprReader{file: file, table: table, parts: new(partStack)}
	return r.read(n, table.expressions)
}

// newCondition reads a node as a condition, with the condition functions.
func newCondition(file *source.File, n *yaml.Node, table Table) *Expr {
	r := exprReader{file: file, table: table, parts: new(partStack)}
	return r.read(n, table.conditions)
}

// exprReader reads expressions. Most of a template is plain data, for which it
// allocates none.
type exprReader struct {
	file  *source.File
	table Table
	parts *partStack // of the lists and maps being read
	// folder, if not nil, folds calls as soon as they are read; err is the first failure.
	folder *folder
	err    error
}

func (r *exprReader) place(n *yaml.Node) source.Place {
	return source.Place{File: r.file, Span: n.Extent()}
}

func (r *exprReader) read(n *yaml.Node, functions map[string]*Function) *Expr {
	return r.part(n, functions).at(r.place(n))
}

func (r *exprReader) part(n *yaml.Node, functions map[string]*Function) part {
	if n == nil { // missing means null, as in Heat
		return part{}
	}
	switch n.Kind {
	case yaml.List:
		mark := len(*r.parts)
		for _, x := range n.Items {
			r.parts.push(r.part(x, functions))
		}
		return r.collection(n, mark)
	case yaml.Map:
		if len(n.Entries) == 1 {
			if f := functions[n.Entries[0].Name]; f != nil {
				return r.folded(r.call(n, f, functions))
			}
		}
		mark := len(*r.parts)
		for i := range n.Entries {
			r.parts.push(r.part(n.Entries[i].Value, functions))
		}
		return r.collection(n, mark)
	}
	return part{value: n.Value}
}

// collection makes a list or map of the parts after a mark: a value if all are known.
func (r *exprReader) collection(n *yaml.Node, mark int) part {
	parts := (*r.parts)[mark:]
	defer func() { *r.parts = (*r.parts)[:mark] }()
	switch {
	case !allKnown(parts):
		return part{expr: r.apart(n, parts).collapse()}
	case n.Kind == yaml.List:
		return part{value: valuesOf(parts)}
	}
	d := value.SizedDict(len(parts))
	for i, p := range parts {
		v, _ := p.known()
		d.Set(n.Entries[i].Name, v)
	}
	return part{value: d}
}

// apart makes a list or map of separate expressions.
func (r *exprReader) apart(n *yaml.Node, parts []part) *Expr {
	if n.Kind == yaml.Map {
		e := newMap(r.place(n), len(parts))
		for i, p := range parts {
			e.Keys[i], e.Items[i] = n.Entries[i].Name, p.at(r.place(n.Entries[i].Value))
		}
		return e
	}
	e := &Expr{Kind: ListExpr, At: r.place(n), Items: make([]*Expr, len(parts))}
	for i, p := range parts {
		e.Items[i] = p.at(r.place(n.Items[i]))
	}
	return e
}

// fewItems is how many items are allocated together with their expression.
const fewItems = 2

// newMap makes a map with room for count entries.
func newMap(at source.Place, count int) *Expr {
	if count > fewItems {
		return &Expr{Kind: MapExpr, At: at, Items: make([]*Expr, count), Keys: make([]string, count)}
	}
	made := &struct {
		Expr
		items [fewItems]*Expr
		keys  [fewItems]string
	}{Expr: Expr{Kind: MapExpr, At: at}}
	made.Items, made.Keys = made.items[:count:count], made.keys[:count:count]
	return &made.Expr
}

// folded folds a call, if the reader folds and nothing has failed yet.
func (r *exprReader) folded(call *Expr) (p part) {
	if r.folder == nil || r.err != nil {
		return part{expr: call}
	}
	p, r.err = r.folder.part(call)
	return p
}

// call reads a map that is a call, without folding what is inside.
func (r *exprReader) call(n *yaml.Node, f *Function, functions map[string]*Function) *Expr {
	folder := r.folder
	r.folder = nil
	defer func() { r.folder = folder }()
	arg := n.Entries[0].Value
	if (f == ref || f == cfnRef) && r.table.names != nil {
		f = r.table.names.meaningOfRef(f, arg)
	}
	var e *Expr
	if p := r.argument(f, arg, functions); p.expr == nil {
		e = callOf(f, r.place(n), p.value, r.place(arg))
	} else {
		e = NewCall(f, r.place(n), p.expr)
	}
	if f.usesNames || f.refers == ToParameter {
		e.names = r.table.names
	}
	return e
}

// callOf builds a call whose argument is a value, as most are, in one allocation.
func callOf(f *Function, at source.Place, arg value.Value, argAt source.Place) *Expr {
	made := &struct{ call, arg Expr }{Expr{Kind: CallExpr, Func: f, At: at}, Expr{Kind: ValueExpr, Value: arg, At: argAt}}
	made.call.arg = &made.arg
	return &made.call
}

// argument reads a call's argument. A list that may name conditions keeps its items
// apart, so that an error can point at the name.
func (r *exprReader) argument(f *Function, arg *yaml.Node, functions map[string]*Function) part {
	if !f.usesNames || arg.Kind != yaml.List {
		return r.part(arg, functions)
	}
	mark := len(*r.parts)
	for i, x := range arg.Items {
		if i == 0 && f.Meaning() == "if" {
			r.parts.push(r.part(x, r.table.conditions))
			continue
		}
		r.parts.push(r.part(x, functions))
	}
	e := r.apart(arg, (*r.parts)[mark:])
	*r.parts = (*r.parts)[:mark]
	return part{expr: e}
}

// Inside yields the items of a list, the values of a map, or the calls and single values in
// the argument of a call; how that is structured only view.go knows.
func (e *Expr) Inside() iter.Seq[*Expr] {
	if e.Kind == CallExpr {
		return func(yield func(*Expr) bool) { e.arg.leaves(yield) }
	}
	return slices.Values(e.Items)
}

// leaves yields the calls and single values of an argument until yield returns false.
func (e *Expr) leaves(yield func(*Expr) bool) bool {
	_, items := e.entries()
	if e.Kind == CallExpr || len(items) == 0 {
		return yield(e)
	}
	return !slices.ContainsFunc(items, func(x *Expr) bool { return !x.leaves(yield) })
}

// Walk visits an expression and everything inside, in source order; visit decides
// whether to descend.
func (e *Expr) Walk(visit func(*Expr) (deeper bool)) {
	if !visit(e) {
		return
	}
	if e.Kind == CallExpr {
		e.arg.leaves(func(x *Expr) bool { x.Walk(visit); return true })
	}
	for _, x := range e.Items {
		x.Walk(visit)
	}
}

// Parts are an expression and everything inside, in source order.
func (e *Expr) Parts() iter.Seq[*Expr] { return func(yield func(*Expr) bool) { e.each(yield) } }

// Calls are the function calls in an expression, in source order.
func (e *Expr) Calls() iter.Seq[*Expr] {
	return func(yield func(*Expr) bool) {
		e.each(func(x *Expr) bool { return x.Kind != CallExpr || yield(x) })
	}
}

func (e *Expr) each(yield func(*Expr) bool) bool {
	if !yield(e) || e.Kind == CallExpr && !e.arg.leaves(func(x *Expr) bool { return x.each(yield) }) {
		return false
	}
	return !slices.ContainsFunc(e.Items, func(x *Expr) bool { return !x.each(yield) })
}

// Any reports whether the predicate holds for any part of the expression.
func (e *Expr) Any(is func(*Expr) bool) bool {
	return !e.each(func(x *Expr) bool { return !is(x) })
}

// CallsRemoved reports whether the expression calls a function removed from its version,
// outside of branches that Heat might never evaluate.
func (e *Expr) CallsRemoved() bool {
	found := false
	e.Walk(func(x *Expr) bool {
		found = found || x.Kind == CallExpr && x.Func.refusal != ""
		return !found && (x.Kind != CallExpr || x.Func.Meaning() != "if")
	})
	return found
}

// collapse turns a list or map of known parts into one value. Parts that an `if`
// without an else omitted are dropped.
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
	values := make([]value.Value, len(e.Items))
	for i, x := range e.Items {
		values[i] = x.Value
	}
	switch e.Kind {
	case ListExpr:
		return Constant(values, e.At)
	case MapExpr:
		return Constant(value.DictOf(e.Keys, values), e.At)
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
