package hot

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
)

// if, and the condition functions: equals, not, and, or
// (heat/engine/hot/functions.py: If, IfNullable, Equals, Not, And, Or;
// heat/engine/conditions.py).
//
// Heat decides an `if` when it parses the template: the branch not taken is never
// evaluated, whatever it contains.

var (
	ifElse     = &Function{Name: "if", Check: sized("if", 3, 3, branchesOfIf), Lazy: foldIf, usesNames: true}
	ifNullable = &Function{Name: "if", Check: sized("if", 2, 3, branchesOfIf), Lazy: foldIf, usesNames: true, omittable: true}
	equals     = &Function{Name: "equals", Gives: contract.Boolean, Check: sized("equals", 2, 2, "two values"), Apply: applyEquals, Positional: everyItem}
	not        = &Function{Name: "not", Gives: contract.Boolean, Check: checkNot, Lazy: foldNot, usesNames: true}
	and        = &Function{Name: "and", Gives: contract.Boolean, Check: sized("and", 2, anyNumber, "at least two conditions"), Lazy: foldAll(false), usesNames: true}
	or         = &Function{Name: "or", Gives: contract.Boolean, Check: sized("or", 2, anyNumber, "at least two conditions"), Lazy: foldAll(true), usesNames: true}
)

const branchesOfIf = "the condition, the value if it is true and the value if it is false"

func foldIf(f *folder, call *Expr) (*Expr, error) {
	items, _ := call.arg.list()
	condition, err := f.condition(items[0], call.names)
	if err != nil {
		return nil, err
	}
	if condition.IsValue() {
		switch {
		case condition.Value == true:
			return f.fold(items[1])
		case len(items) == 3:
			return f.fold(items[2])
		}
		return Constant(absent{}, call.At), nil
	}
	branches := append([]*Expr{condition}, lists.Map(items[1:], func(x *Expr) *Expr { return f.branch(call.Func, x) })...)
	return call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: branches}), nil
}

// branch folds a branch that may not be taken: an error in it may never matter.
func (f *folder) branch(fn *Function, e *Expr) *Expr {
	folded, err := f.fold(e)
	switch {
	case err != nil:
		return e
	case folded.isAbsent():
		never := &Expr{Kind: ListExpr, At: e.At, Items: []*Expr{Constant(false, e.At), Constant(nil, e.At)}}
		return NewCall(fn, e.At, never)
	}
	return folded
}

// condition folds a condition: a boolean, the name of a condition, or a call of a
// condition function.
func (f *folder) condition(e *Expr, in *names) (*Expr, error) {
	folded, err := f.fold(e)
	if err != nil {
		return nil, err
	}
	return f.enabled(folded.orNull(), in)
}

// enabled is the truth value of a folded condition: null is true, a string a name.
func (f *folder) enabled(e *Expr, in *names) (*Expr, error) {
	if !e.IsValue() {
		if what := e.surelyNot(contract.Boolean, contract.Number, contract.String); what != "" {
			return nil, errorf(e.At, "a condition must be true, false or the name of a condition, not %s", what)
		}
		return e, nil
	}
	switch v := e.Value.(type) {
	case nil:
		return Constant(true, e.At), nil
	case bool:
		return e, nil
	case string:
		if in == nil || in.conditions[v] == nil {
			return nil, unknownCondition(e, v, in)
		}
		folded, err := f.named(e, v, in.conditions[v])
		if err == nil && !folded.IsValue() {
			err = f.work.spend(perItem * parts(folded, mostOfCondition))
		}
		return folded, err
	}
	return nil, errorf(e.At, "a condition must be true, false or the name of a condition, not %s", value.TypeName(e.Value))
}

func unknownCondition(e *Expr, name string, in *names) error {
	err := errorf(e.At, "unknown condition %q", name)
	err.NoCondition = true
	if in != nil {
		if near := Nearest(name, slices.Sorted(maps.Keys(in.conditions))); near != "" {
			err.Message += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	return err
}

// mostOfCondition bounds the parts of a condition: where each of a few dozen names the one before it
// twice, the last would have more parts than a memory holds.
const mostOfCondition = 1_000

// parts counts the parts of an expression, up to one more than most.
func parts(e *Expr, most int) (n int) {
	e.Walk(func(*Expr) bool {
		n++
		return n <= most
	})
	return n
}

// named folds the definition of a condition, once per run.
func (f *folder) named(e *Expr, name string, definition *Expr) (*Expr, error) {
	if f.conditions == nil {
		f.conditions = map[*Expr]*Expr{}
	}
	if folded, begun := f.conditions[definition]; begun {
		if folded == nil {
			return nil, errorf(e.At, "the condition %q depends on itself", name)
		}
		return folded, nil
	}
	f.conditions[definition] = nil
	folded, err := f.fold(definition)
	if err == nil && folded.IsValue() {
		if _, isBool := folded.Value.(bool); !isBool {
			err = errorf(definition.At, "the condition %q must be true or false, not %s", name, shown(folded.Value))
		}
	}
	if err == nil && !folded.IsValue() {
		if what := folded.surelyNot(contract.Boolean, contract.Number); what != "" { // a number may be true, too (Heat: Schema.str_to_num)
			err = errorf(definition.At, "the condition %q must be true or false, not %s", name, what)
		}
	}
	if err == nil && parts(folded, mostOfCondition) > mostOfCondition {
		err = errorf(definition.At, "the condition %q has more than %d parts if those that it names are put into it", name, mostOfCondition)
	}
	if err != nil {
		delete(f.conditions, definition)
		return nil, err
	}
	f.conditions[definition] = folded
	return folded, nil
}

func applyEquals(_ *work, arg value.Value) (value.Value, error) {
	args := arg.([]value.Value)
	return value.Equal(args[0], args[1]), nil
}

func checkNot(arg *Expr) error {
	if arg.IsValue() && arg.Value == nil {
		return fmt.Errorf("not needs a condition")
	}
	return nil
}

func foldNot(f *folder, call *Expr) (*Expr, error) {
	arg, err := f.condition(call.negated(), call.names)
	if err != nil {
		return nil, err
	}
	if arg.IsValue() {
		return Constant(arg.Value == false, call.At), nil
	}
	if call.Func.Name == fnNotName {
		return call.withOpen([]*Expr{arg}), nil
	}
	return call.withArg(arg), nil
}

const fnNotName = "Fn::Not"

// negated is the operand of `not`; Fn::Not has it in a list.
func (e *Expr) negated() *Expr {
	if e.Func.Name == fnNotName {
		items, _ := e.arg.list()
		return items[0]
	}
	return e.arg
}

// foldAll folds `and` and `or`. The first decisive item ends the evaluation; of those
// after it only calls are still evaluated, not names.
func foldAll(decisive bool) func(*folder, *Expr) (*Expr, error) {
	return func(f *folder, call *Expr) (*Expr, error) {
		items, _ := call.arg.list()
		folded, err := f.fold(&Expr{Kind: ListExpr, At: call.arg.At, Items: items})
		if err != nil {
			return nil, err
		}
		items, _ = folded.list()
		var open []*Expr
		certain := true // the open items cannot fail
		for i, item := range items {
			x, err := f.enabled(item, call.names)
			switch {
			case err != nil && len(open) == 0:
				return nil, err
			case err != nil: // it may never be reached
				open, certain = append(open, item), false
			case !x.IsValue():
				open = append(open, x)
				certain = certain && x.isTruth()
			case x.Value == decisive:
				if rest := doubtful(items[i+1:]); !certain || len(rest) > 0 {
					return call.withOpen(append(append(open, x), rest...)), nil
				}
				return Constant(decisive, call.At), nil
			}
		}
		switch {
		case len(open) == 0:
			return Constant(!decisive, call.At), nil
		case len(open) == 1 && certain:
			return open[0], nil
		case len(open) == 1:
			open = append(open, Constant(!decisive, call.At))
		}
		return call.withOpen(open), nil
	}
}

// doubtful are the items that may fail, and that Heat evaluates although the result is
// decided.
func doubtful(items []*Expr) (out []*Expr) {
	return lists.Only(items, func(x *Expr) bool { return !x.harmless() && !x.isTruth() })
}

func (e *Expr) withOpen(items []*Expr) *Expr {
	return e.withArg(&Expr{Kind: ListExpr, At: e.arg.At, Items: items})
}

// isTruth reports that an expression is certainly true or false, and cannot fail.
func (e *Expr) isTruth() bool {
	if e.Kind == ValueExpr {
		_, isBool := e.Value.(bool)
		return isBool
	}
	if e.Kind != CallExpr {
		return false
	}
	switch e.Func.Meaning() {
	case "equals":
		return e.arg.harmless()
	case "not":
		return e.negated().isTruth()
	case "and", "or":
		return !slices.ContainsFunc(e.arg.Items, func(x *Expr) bool { return !x.isTruth() })
	}
	return false
}
