package hot

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// What is certain of a value that is not known yet.

// surelyNot describes the value of an unknown expression that can have none of some types,
// JSON meaning a map; "" if it may have one.
func (e *Expr) surelyNot(may ...contract.Type) string {
	is := contract.Type("")
	switch r := e.Ref(); {
	case e.Kind == ListExpr:
		is = contract.List
	case e.Kind == MapExpr:
		is = contract.JSON
	case r.Kind != ToParameter && e.Kind == CallExpr:
		is = e.Func.Gives
	case e.names != nil && !r.Computed && len(r.Path) == 0:
		if p := e.names.parameter(r.Name); p != nil {
			is = p.Gives()
		}
	}
	switch {
	case is == "" || slices.Contains(may, is):
		return ""
	case is == contract.JSON:
		return "a map"
	}
	return "a " + string(is)
}

// unfit finds an operand of a call that is unknown, but certainly none that the function
// accepts; list_join has more to say (join.go).
func (e *Expr) unfit() error {
	items, _ := e.arg.list()
	switch name := e.Func.Meaning(); name {
	case "digest":
		return unfit("digest needs strings", items, contract.String)
	case "str_split":
		return unfit("str_split splits a string", items[min(1, len(items)):min(2, len(items))], contract.String)
	case "map_merge":
		return unfit("map_merge joins maps", items, contract.JSON)
	case "map_replace":
		return unfit("map_replace works on maps", items, contract.JSON)
	case "list_concat", "list_concat_unique":
		return unfit(name+" joins lists", items, contract.List)
	case "contains":
		return unfit("contains looks into a list or string", items[min(1, len(items)):], contract.List, contract.String)
	case "repeat":
		each, _ := e.arg.entry("for_each")
		if _, items = each.entries(); each.Kind == CallExpr {
			return unfit("repeat: for_each must be a map", []*Expr{each}, contract.JSON)
		}
		return unfit("repeat: for_each must have lists", items, contract.List, contract.JSON)
	case "str_replace", "str_replace_strict", "str_replace_vstrict":
		template, _ := e.arg.entry("template")
		params, _ := e.arg.entry("params")
		if err := unfit(name+": template must be a string", []*Expr{template}, contract.String); err != nil {
			return err
		}
		return unfit(name+": params must be a map", []*Expr{params}, contract.JSON)
	}
	return nil
}

func unfit(why string, operands []*Expr, may ...contract.Type) error {
	for _, x := range operands {
		if what := x.surelyNot(may...); what != "" {
			return errorf(x.At, "%s, not %s", why, what)
		}
	}
	return nil
}
