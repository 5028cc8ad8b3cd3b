package hot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
)

// list_concat, list_concat_unique, contains and filter
// (heat/engine/hot/functions.py: ListConcat, ListConcatUnique, Contains, Filter).

var (
	listConcat       = &Function{Name: "list_concat", Gives: contract.List, works: JoinedLists, Apply: concat("list_concat", false), Partial: concatenating.partial}
	listConcatUnique = &Function{Name: "list_concat_unique", Gives: contract.List, works: JoinedLists, Apply: concat("list_concat_unique", true),
		Partial: uniting.partial}
	contains = &Function{Name: "contains", Gives: contract.Boolean, Check: sized("contains", 2, 2, "the value and the list"), Apply: applyContains,
		Partial: containsPartial, Positional: everyItem}
	filter = &Function{Name: "filter", Check: sized("filter", 2, 2, "the values and the list"), Lazy: foldFilter}
)

func concat(name string, unique bool) func(*work, value.Value) (value.Value, error) {
	return func(w *work, arg value.Value) (value.Value, error) {
		lists, ok := arg.([]value.Value)
		if !ok {
			return nil, fmt.Errorf("%s needs a list of lists, not %s", name, value.TypeName(arg))
		}
		out := []value.Value{}
		for _, l := range lists {
			items, ok := l.([]value.Value)
			if !ok && l != nil {
				return nil, fmt.Errorf("%s joins lists, not %s", name, value.TypeName(l))
			}
			if err := w.spend(perItem * len(items)); err != nil {
				return nil, err
			}
			out = append(out, items...)
		}
		if unique {
			return withoutRepeats(out), nil
		}
		return out, nil
	}
}

// withoutRepeats keeps only the first of equal items.
func withoutRepeats(list []value.Value) []value.Value {
	texts := map[string]bool{}
	out := []value.Value{}
	for _, x := range list {
		if s, ok := x.(string); ok {
			if !texts[s] {
				texts[s] = true
				out = append(out, x)
			}
		} else if !in(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func in(list []value.Value, v value.Value) bool {
	return slices.ContainsFunc(list, func(x value.Value) bool { return value.Equal(x, v) })
}

// joining is a function that joins several lists, or maps, to one.
type joining struct {
	name, parts string
	is          func(*Expr) bool
	two         func(a, b *Expr) (*Expr, bool) // joins two neighbours; not ok if the result is not known
	unique      bool                           // it drops repeated items, so even a single list may change
}

var (
	concatenating = joining{name: "list_concat", parts: "lists", is: (*Expr).isList, two: (*Expr).followedBy}
	uniting       = joining{name: "list_concat_unique", parts: "lists", is: (*Expr).isList, two: (*Expr).followedBy, unique: true}
	merging       = joining{name: "map_merge", parts: "maps", is: (*Expr).isMap, two: (*Expr).merged}
)

// followedBy is the list with the items of another appended.
func (e *Expr) followedBy(next *Expr) (*Expr, bool) {
	first, _ := e.list()
	second, _ := next.list()
	return &Expr{Kind: ListExpr, At: e.At, Items: slices.Concat(first, second)}, true
}

// partial joins literal neighbours; if all are literal the call disappears.
func (j joining) partial(f *folder, call *Expr) (*Expr, error) {
	arg := call.arg
	if arg.Kind != ListExpr {
		if arg.Kind == MapExpr {
			return nil, wants(j.name, "a list of "+j.parts, arg)
		}
		return call, nil
	}
	joined := []*Expr{}
	for _, a := range arg.Items {
		last := len(joined) - 1
		switch {
		case a.IsValue() && a.Value == nil:
		case a.Kind != CallExpr && !j.is(a):
			return nil, fmt.Errorf("%s joins %s, not %s", j.name, j.parts, a.described())
		case last >= 0 && joined[last].Kind != CallExpr && a.Kind != CallExpr:
			one, ok := j.two(joined[last], a)
			if !ok {
				return call, nil
			}
			joined[last] = one
		default:
			joined = append(joined, a)
		}
	}
	whole := len(joined) == 1 && joined[0].Kind != CallExpr && !j.unique
	if !whole && len(joined) == len(arg.Items) {
		return call, nil
	}
	for i, x := range joined {
		if x.looksLikeCall(f.isFunction) {
			return call, nil
		}
		joined[i] = x.collapse()
	}
	if whole {
		return joined[0], nil
	}
	return call.withArg(&Expr{Kind: ListExpr, At: arg.At, Items: joined}), nil
}

func applyContains(_ *work, arg value.Value) (value.Value, error) {
	args := arg.([]value.Value)
	switch sequence := args[1].(type) {
	case []value.Value:
		return in(sequence, args[0]), nil
	case string: // a sequence of characters
		s, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("contains: only a string can be contained in a string, not %s", value.TypeName(args[0]))
		}
		return strings.Contains(sequence, s), nil
	}
	return nil, fmt.Errorf("contains searches a list, not %s", value.TypeName(args[1]))
}

// containsPartial decides as soon as a known item matches.
func containsPartial(_ *folder, call *Expr) (*Expr, error) {
	val, list := call.arg.Items[0], call.arg.Items[1]
	switch {
	case list.Kind == MapExpr || list.IsValue() && !list.isList() && value.TypeName(list.Value) != "a string":
		return nil, fmt.Errorf("contains searches a list, not %s", list.described())
	case !val.IsValue() || list.Kind != ListExpr:
		return call, nil
	}
	var open []*Expr
	found := false
	for _, x := range list.Items {
		if !x.IsValue() {
			open = append(open, x)
		} else if value.Equal(x.Value, val.Value) {
			found = true
		}
	}
	if found && list.harmless() {
		return Constant(true, call.At), nil
	}
	if found || len(open) == len(list.Items) {
		return call, nil
	}
	left := &Expr{Kind: ListExpr, At: list.At, Items: open}
	return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: []*Expr{val, left}}), nil
}

// foldFilter evaluates the list first: Heat returns an empty one, of whatever type,
// as it is and never evaluates the values.
func foldFilter(f *folder, call *Expr) (*Expr, error) {
	items, _ := call.arg.list()
	list, err := f.fold(items[1])
	if err != nil {
		return nil, err
	}
	list = list.orNull()
	if list.IsValue() && !value.Truthy(list.Value) {
		settled, err := f.unused(items[0])
		if settled || err != nil {
			return list, err
		}
		return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: []*Expr{items[0], list}}), nil
	}
	if list.Kind == MapExpr || list.IsValue() && !list.isList() {
		return nil, fmt.Errorf("filter works on a list, not %s", list.described())
	}
	values, err := f.fold(items[0])
	if err != nil {
		if list.Kind != CallExpr {
			return nil, err
		}
		values = items[0] // the list may yet be empty
	}
	values = values.orNull()
	return filtered(call, values, list)
}

func filtered(call, values, list *Expr) (*Expr, error) {
	left := call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: []*Expr{values, list}})
	if !values.IsValue() {
		return left, nil
	}
	out, ok := values.Value.([]value.Value)
	switch {
	case !value.Truthy(values.Value):
		if list.Kind == CallExpr {
			return left, nil
		}
		return list, nil
	case !ok && list.Kind == CallExpr:
		return left, nil
	case !ok:
		return nil, fmt.Errorf("filter needs a list of values to remove, not %s", values.described())
	case list.Kind == CallExpr:
		return left, nil
	}
	items, _ := list.list()
	kept := (&Expr{Kind: ListExpr, At: list.At, Items: lists.Only(items, func(x *Expr) bool { return !x.IsValue() || !in(out, x.Value) })}).collapse()
	if kept.IsValue() {
		return kept, nil
	}
	return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: []*Expr{values, kept}}), nil
}
