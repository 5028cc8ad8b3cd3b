package hot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// list_join (heat/engine/hot/functions.py: Join until 2015-04-30, JoinMultiple
// since) and Fn::Join, which works as the older one.

var (
	listJoinOne = &Function{Name: "list_join", Gives: contract.String, works: JoinedItems, Check: sized("list_join", 2, 2, joinedOne), Apply: applyJoinOne("list_join"),
		Partial: joinPartial("list_join", false), Positional: everyItem}
	listJoin = &Function{Name: "list_join", Gives: contract.String, works: JoinedItems, Check: sized("list_join", 2, anyNumber, "the delimiter and one or more lists"), Apply: applyJoin,
		Partial: joinPartial("list_join", true), Positional: 1}
	fnJoin = &Function{Name: "Fn::Join", Check: sized("Fn::Join", 2, 2, joinedOne), Apply: applyJoinOne("Fn::Join"),
		Partial: joinPartial("Fn::Join", false), Positional: everyItem}
)

const joinedOne = "the delimiter and one list"

func applyJoinOne(name string) func(*work, value.Value) (value.Value, error) {
	return func(w *work, arg value.Value) (value.Value, error) {
		args := arg.([]value.Value)
		list, ok := args[1].([]value.Value)
		if !ok && args[1] != nil {
			return nil, fmt.Errorf("%s joins a list, not %s", name, value.TypeName(args[1]))
		}
		delimiter, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("%s: the delimiter must be a string, not %s", name, value.TypeName(args[0]))
		}
		return join(w, name, false, delimiter, list)
	}
}

func applyJoin(w *work, arg value.Value) (value.Value, error) {
	args := arg.([]value.Value)
	if len(args) == 0 {
		return nil, fmt.Errorf("list_join needs a delimiter")
	}
	var items []value.Value
	for _, a := range args[1:] {
		list, ok := a.([]value.Value)
		if !ok && value.Truthy(a) {
			return nil, fmt.Errorf("list_join joins lists, not %s", value.TypeName(a))
		}
		items = append(items, list...)
	}
	delimiter, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("list_join: the delimiter must be a string, not %s", value.TypeName(args[0]))
	}
	return join(w, "list_join", true, delimiter, items)
}

func join(w *work, name string, structures bool, delimiter string, items []value.Value) (value.Value, error) {
	texts := make([]string, len(items))
	size := len(delimiter) * max(0, len(items)-1)
	for i, x := range items {
		var err error
		if texts[i], err = joinItem(name, structures, x); err != nil {
			return nil, err
		}
		size += len(texts[i])
	}
	if err := w.spend(size); err != nil {
		return nil, err
	}
	return strings.Join(texts, delimiter), nil
}

func joinItem(name string, structures bool, v value.Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []value.Value, *value.Dict:
		if structures {
			return value.InsertedJSON(v), nil
		}
	}
	return "", fmt.Errorf("%s joins %s, not %s", name, joined(structures), value.TypeName(v))
}

func joined(structures bool) string {
	if structures {
		return "strings, maps and lists"
	}
	return "strings"
}

// unknownItem finds an item that is unknown, but certainly cannot be joined.
func unknownItem(name string, structures bool, x *Expr) error {
	what := x.surelyNot(contract.String)
	if structures {
		what = x.surelyNot(contract.String, contract.List, contract.JSON)
	}
	if what == "" {
		return nil
	}
	return errorf(x.At, "%s joins %s, not %s", name, joined(structures), what)
}

// joinPartial merges adjacent known items into one, and adjacent literal lists into one
// list.
func joinPartial(name string, structures bool) func(*folder, *Expr) (*Expr, error) {
	return func(_ *folder, call *Expr) (*Expr, error) {
		args := call.arg.Items
		delimiter, ok := args[0].text()
		switch {
		case args[0].IsValue() && !ok:
			return nil, fmt.Errorf("%s: the delimiter must be a string, not %s", name, args[0].described())
		case !ok:
			if what := args[0].surelyNot(contract.String); what != "" {
				return nil, fmt.Errorf("%s: the delimiter must be a string, not %s", name, what)
			}
			return call, nil
		}
		j := joiner{name: name, structures: structures, delimiter: delimiter}
		for _, a := range args[1:] {
			if err := j.list(a); err != nil {
				return nil, err
			}
		}
		j.flush()
		j.close()
		if !j.changed || !structures && len(j.lists) != 1 {
			return call, nil
		}
		return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: append([]*Expr{args[0]}, j.lists...)}), nil
	}
}

type joiner struct {
	name, delimiter string
	structures      bool
	lists           []*Expr // done
	items           []*Expr // of the list being built
	texts           []string
	around          *Expr // the list that texts are from
	changed         bool
}

func (j *joiner) list(a *Expr) error {
	items, ok := a.list()
	switch {
	case ok:
		j.changed = j.changed || len(j.items)+len(j.texts) > 0
	case a.IsValue() && (a.Value == nil || j.structures && !value.Truthy(a.Value)):
		j.changed = true
		return nil
	case a.IsValue():
		return fmt.Errorf("%s joins lists, not %s", j.name, a.described())
	case a.Kind == CallExpr && !j.structures && a.surelyNot(contract.List) != "":
		return errorf(a.At, "%s joins lists, not %s", j.name, a.surelyNot())
	case a.Kind == CallExpr:
		j.flush()
		j.close()
		j.lists = append(j.lists, a)
		return nil
	default:
		return fmt.Errorf("%s joins lists, not %s", j.name, a.described())
	}
	j.around = a
	for _, x := range items {
		if !x.IsValue() {
			if err := unknownItem(j.name, j.structures, x); err != nil {
				return err
			}
			j.flush()
			j.items = append(j.items, x)
			continue
		}
		text, err := joinItem(j.name, j.structures, x.Value)
		if err != nil {
			return err
		}
		j.texts = append(j.texts, text)
	}
	return nil
}

// flush turns the texts so far into one item.
func (j *joiner) flush() {
	if len(j.texts) == 0 {
		return
	}
	j.changed = j.changed || len(j.texts) > 1
	j.items = append(j.items, Constant(strings.Join(j.texts, j.delimiter), j.around.At))
	j.texts = nil
}

// close ends a list.
func (j *joiner) close() {
	if len(j.items) > 0 {
		e := &Expr{Kind: ListExpr, At: j.around.At, Items: slices.Clone(j.items)}
		j.lists, j.items = append(j.lists, e.collapse()), nil
	}
}
