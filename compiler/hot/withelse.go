package hot

import (
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
)

// WithElse is an expression of the same value in which every `if` has an else, as far
// as that can be expressed. Heat before 23.0.0 fails on a resource with one whose
// condition is false: it copies the definition to hash it, and an Ellipsis cannot be
// copied (heat/engine/rsrc_defn.py, _hash_data; heat/engine/function.py,
// Macro.__reduce__).
//
// A whole value that would be omitted becomes null. The list or map around an item or
// entry is joined from pieces, one of which may be empty.
func (e *Expr) WithElse() *Expr {
	switch {
	case !e.Any((*Expr).MayBeOmitted):
		return e
	case e.MayBeOmitted():
		return e.addElse((*Expr).WithElse, Constant(nil, e.At))
	}
	switch e.Kind {
	case ListExpr:
		return e.joined(listConcat, Constant([]value.Value{}, e.At))
	case MapExpr:
		return e.joined(mapMerge, Constant(value.NewDict(), e.At))
	case CallExpr:
		return e.withArg(e.argumentWithElse())
	case ValueExpr:
	}
	return e
}

// MayBeOmitted reports whether a call is an `if` that may omit the item or entry around it.
func (e *Expr) MayBeOmitted() bool {
	if !e.mayBeAbsent() {
		return false
	}
	items, ok := e.arg.list()
	if !ok || len(items) == 0 { // malformed, which is diagnosed elsewhere
		return false
	}
	vanishes := len(items) == 2
	for _, branch := range items[1:] {
		vanishes = vanishes || branch.MayBeOmitted()
	}
	return vanishes
}

// addElse adds the else nothing to an `if` without one, and maps its values. Anything
// else is a value.
func (e *Expr) addElse(value func(*Expr) *Expr, nothing *Expr) *Expr {
	if !e.MayBeOmitted() {
		return value(e)
	}
	items, _ := e.arg.list()
	branches := append([]*Expr{items[0]}, lists.Map(items[1:], func(x *Expr) *Expr { return x.addElse(value, nothing) })...)
	if len(branches) == 2 {
		branches = append(branches, nothing)
	}
	return e.withArg(e.arg.with(branches))
}

// joined turns a list or map with a part that may vanish into a call that joins its
// pieces.
func (e *Expr) joined(by *Function, empty *Expr) *Expr {
	var pieces []*Expr
	open := false // the last piece can be extended
	for i, x := range e.Items {
		piece := func(x *Expr) *Expr {
			one := &Expr{Kind: e.Kind, At: e.At, Items: []*Expr{x.WithElse()}}
			if e.Kind == MapExpr {
				one.Keys = []string{e.Keys[i]}
			}
			return one
		}
		switch one := x.addElse(piece, empty); {
		case x.MayBeOmitted():
			pieces, open = append(pieces, one), false
		case open:
			last := pieces[len(pieces)-1]
			last.Items, last.Keys = append(last.Items, one.Items...), append(last.Keys, one.Keys...)
		default:
			pieces, open = append(pieces, one), true
		}
	}
	if len(pieces) == 1 && open {
		return pieces[0]
	}
	return NewCall(by, e.At, &Expr{Kind: ListExpr, At: e.At, Items: pieces})
}

// argumentWithElse is the argument of a call, which must stay a literal list or map for
// the function. What is omitted in it becomes null in a fixed position, otherwise an
// empty piece.
func (e *Expr) argumentWithElse() *Expr {
	arg := e.arg
	if arg.Kind != ListExpr && arg.Kind != MapExpr {
		return arg.WithElse()
	}
	items := make([]*Expr, len(arg.Items))
	for i, x := range arg.Items {
		switch {
		case !x.MayBeOmitted(), arg.Kind == MapExpr && e.Func.Name != "make_url", i < e.Func.Positional:
			items[i] = x.WithElse()
		case e.Func == mapMerge:
			items[i] = x.addElse((*Expr).WithElse, Constant(value.NewDict(), x.At))
		case e.Func.joinsLists():
			items[i] = x.addElse((*Expr).WithElse, Constant([]value.Value{}, x.At))
		default:
			items[i] = x // there is no equivalent
		}
	}
	return arg.with(items)
}

// joinsLists reports whether the function joins the lists in its argument.
func (f *Function) joinsLists() bool {
	return f.Name == "list_concat" || f.Name == "list_concat_unique" || f.Name == "list_join"
}
