package hot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
)

// list_concat, list_concat_unique, contains and filter
// (heat/engine/hot/functions.py: ListConcat, ListConcatUnique, Contains, Filter).

var (
	listConcat       = &Function{Name: "list_concat", Gives: GivesList, works: JoinedLists, Apply: concat("list_concat", false), Partial: concatPartial("list_concat", false)}
	listConcatUnique = &Function{Name: "list_concat_unique", Gives: GivesList, works: JoinedLists, Apply: concat("list_concat_unique", true),
		Partial: concatPartial("list_concat_unique", true)}
	contains = &Function{Name: "contains", Gives: GivesBoolean, Check: sized("contains", 2, 2, "the value and the list"), Apply: applyContains,
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

// withoutRepeats keeps the first of equal items.
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

// concatPartial makes one list of lists that stand side by side; if all stand in
// the text the call is gone.
func concatPartial(name string, unique bool) func(*folder, *Expr) (*Expr, error) {
	return func(_ *folder, call *Expr) (*Expr, error) {
		arg := call.arg
		if arg.Kind != ListExpr {
			if arg.Kind == MapExpr {
				return nil, wants(name, "a list of lists", arg)
			}
			return call, nil
		}
		lists := []*Expr{}
		for _, a := range arg.Items {
			items, ok := a.list()
			last := len(lists) - 1
			switch {
			case a.IsValue() && a.Value == nil:
			case !ok && a.Kind != CallExpr:
				return nil, fmt.Errorf("%s joins lists, not %s", name, a.called())
			case ok && last >= 0 && lists[last].Kind == ListExpr:
				lists[last] = &Expr{Kind: ListExpr, At: lists[last].At, Items: slices.Concat(lists[last].Items, items)}
			case ok:
				lists = append(lists, &Expr{Kind: ListExpr, At: a.At, Items: items})
			default:
				lists = append(lists, a)
			}
		}
		if len(lists) == 1 && lists[0].Kind == ListExpr && !unique {
			return lists[0].collapse(), nil
		}
		if len(lists) == len(arg.Items) {
			return call, nil
		}
		for i, l := range lists {
			lists[i] = l.collapse()
		}
		return call.withArg(&Expr{Kind: ListExpr, At: arg.At, Items: lists}), nil
	}
}

func applyContains(_ *work, arg value.Value) (value.Value, error) {
	args := arg.([]value.Value)
	switch sequence := args[1].(type) {
	case []value.Value:
		return in(sequence, args[0]), nil
	case string: // a sequence of characters
		s, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("contains: only a string can be within a string, not %s", value.TypeName(args[0]))
		}
		return strings.Contains(sequence, s), nil
	}
	return nil, fmt.Errorf("contains looks into a list, not %s", value.TypeName(args[1]))
}

// containsPartial decides as soon as a known item is equal.
func containsPartial(_ *folder, call *Expr) (*Expr, error) {
	val, list := call.arg.Items[0], call.arg.Items[1]
	switch {
	case list.Kind == MapExpr || list.IsValue() && !list.isList() && value.TypeName(list.Value) != "a string":
		return nil, fmt.Errorf("contains looks into a list, not %s", list.called())
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

// foldFilter looks at the list first: of an empty one Heat returns whatever it
// is, and never computes the values.
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
		return nil, fmt.Errorf("filter works on a list, not %s", list.called())
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
		return nil, fmt.Errorf("filter takes a list of values out, not %s", values.called())
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
