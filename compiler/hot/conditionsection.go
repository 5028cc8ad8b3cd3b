package hot

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Condition is a named condition of the template.
type Condition struct {
	Name  string
	Entry *yaml.Entry
	Expr  *Expr
}

// Condition is the definition of a condition, nil if it does not exist.
func (t *Template) Condition(name string) *Expr { return t.Functions.names.conditions[name] }

// Enabled is the `condition:` of a resource or output as an expression: true, false,
// or what decides it. Without an entry it is true.
func (t *Template) Enabled(condition *yaml.Entry) *Expr {
	if condition == nil {
		return Constant(true, source.Place{})
	}
	at := t.Place(condition.Value)
	e := newCondition(t.File, condition.Value, t.Functions)
	if e.IsValue() {
		if _, isBool := e.Value.(bool); isBool {
			return e
		}
	}
	choice := &Expr{Kind: ListExpr, At: at, Items: []*Expr{e, Constant(true, at), Constant(false, at)}}
	f := ifElse
	for _, name := range []string{ifElse.Name, fnIf.Name} {
		if own := t.Functions.Lookup(name); own != nil {
			f = own
		}
	}
	return &Expr{Kind: CallExpr, Func: f, At: at, arg: choice, names: t.Functions.names}
}

// readConditions reads the conditions section. Each must be true, false or a call, not
// the name of another (heat/engine/conditions.py).
func (t *Template) readConditions(diags *source.Diagnostics) {
	name := t.Keywords().Conditions
	n := t.Root.Get(name)
	if n == nil || !t.Version.hasConditions() {
		return
	}
	if n.Kind != yaml.Map {
		what, at := n.Kind.String(), source.Spanned(n)
		if n.IsNull() { // unlike the other sections
			what, at = "null", t.Root.Entry(name).Key
		}
		diags.Error(source.BadSection, t.Place(at), name+" must be a map, not "+what, "")
		return
	}
	for _, e := range n.Entries {
		c := &Condition{Name: e.Name, Entry: &e, Expr: newCondition(t.File, e.Value, t.Functions)}
		if _, isBool := c.Expr.Value.(bool); !isBool && c.Expr.Kind != CallExpr {
			diags.Error(source.BadSection, t.Place(e.Value),
				fmt.Sprintf("the condition %q must be true, false or a function such as equals, not %s", e.Name, shown(e.Value.Data())), "")
		}
		c.Expr.Walk(func(x *Expr) bool {
			removed := x.Kind == CallExpr && x.Func.refusal != "" && x.Func.Check == nil
			if removed {
				diags.Error(source.UnknownFunction, x.At, x.Func.refusal, replacementOf[x.Func.Name])
			}
			return !removed
		})
		t.Conditions = append(t.Conditions, c)
		t.Functions.names.conditions[c.Name] = c.Expr
	}
}
