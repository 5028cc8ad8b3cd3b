package hot

import (
	"iter"
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Expr is an expression: a value, a list or map of expressions, or the call of a
// function. Exprs are never changed once made; folding makes new ones.
type Expr struct {
	Kind  ExprKind
	At    source.Place
	Value value.Value // of a value
	Items []*Expr     // of a list; the values of a map
	Keys  []string
	Func  *Function

	arg   *Expr  // of a call; other packages see it by what it says (view.go)
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
func Constant(v value.Value, at source.Place) *Expr { return &Expr{Kind: ValueExpr, Value: v, At: at} }

// NewCall makes a call of a function.
func NewCall(f *Function, at source.Place, argument *Expr) *Expr {
	return &Expr{Kind: CallExpr, Func: f, At: at, arg: argument}
}

// IsValue says whether the expression is known.
func (e *Expr) IsValue() bool { return e.Kind == ValueExpr }

// NewExpr reads a node as an expression: a map whose only key is a function of
// the table is a call (heat/engine/template.py, parse). What holds no call is one
// value, however deep.
func NewExpr(file *source.File, n *yaml.Node, table Table) *Expr {
	r := exprReader{file: file, table: table, parts: new(partStack)}
	return r.read(n, table.expressions)
}

// newCondition reads a node as a condition, which has functions of its own.
func newCondition(file *source.File, n *yaml.Node, table Table) *Expr {
	r := exprReader{file: file, table: table, parts: new(partStack)}
	return r.read(n, table.conditions)
}

// exprReader reads expressions. Most of a template is plain data, for which no
// expressions are made.
type exprReader struct {
	file  *source.File
	table Table
	parts *partStack // of the lists and maps that are being read
	// folder, if there is one, folds the calls as soon as they are read; err is what
	// the first one that fails fails with.
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
	if n == nil { // what is missing is null, as it is to Heat
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

// collection makes a list or map of the parts from a mark on: a value if all of them
// are known.
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

// apart makes a list or map whose parts are expressions of their own.
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

// newMap makes a map of some entries, which are still to come; few have their room
// fewItems is how many items have their room within the expression.
const fewItems = 2

// within it.
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

// folded folds a call, if that is to be done and nothing has failed before.
func (r *exprReader) folded(call *Expr) (p part) {
	if r.folder == nil || r.err != nil {
		return part{expr: call}
	}
	p, r.err = r.folder.part(call)
	return p
}

// call reads a map that is a call; what is in it is not folded yet.
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
	if f.usesNames {
		e.names = r.table.names
	}
	return e
}

// callOf is a call with a value for its argument, as most are, made at once.
func callOf(f *Function, at source.Place, arg value.Value, argAt source.Place) *Expr {
	made := &struct{ call, arg Expr }{Expr{Kind: CallExpr, Func: f, At: at}, Expr{Kind: ValueExpr, Value: arg, At: argAt}}
	made.call.arg = &made.arg
	return &made.call
}

// argument reads a call's argument. A name in a list of them is told where it stands,
// so that list is not a value.
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

// Inside are the items of a list or the values of a map, and what stands in the argument of a
// call: the calls and single values, not how they stand there, which only views tell (view.go).
func (e *Expr) Inside() iter.Seq[*Expr] {
	if e.Kind == CallExpr {
		return func(yield func(*Expr) bool) { e.arg.scatter(yield) }
	}
	return slices.Values(e.Items)
}

// scatter visits the calls and single values of an argument until yield says to stop.
func (e *Expr) scatter(yield func(*Expr) bool) bool {
	_, items := e.entries()
	if e.Kind == CallExpr || len(items) == 0 {
		return yield(e)
	}
	return !slices.ContainsFunc(items, func(x *Expr) bool { return !x.scatter(yield) })
}

// Walk visits an expression and all in it, in the order of the text, until visit
// says not to go deeper.
func (e *Expr) Walk(visit func(*Expr) (deeper bool)) {
	if !visit(e) {
		return
	}
	for x := range e.Inside() {
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
