// Package types compares the declared types of roles' outputs with their uses. Types
// are inferred through functions where that is certain; other checks are left to the
// agents. Only a use that must fail, or always yields null, is reported.
package types

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// anything is the type of a value of unknown type.
const anything contract.Type = ""

// Check reports uses of values of the wrong type.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	c := &checker{cells: a.Cells, diags: diags}
	for _, s := range p.Servers {
		c.stack = s.Stack
		for _, role := range s.Roles {
			for _, o := range role.Outputs {
				c.declared(o)
			}
			for in, bound := range a.Bound(role) {
				c.input(in, bound)
			}
		}
	}
	c.stack = p.Root
	for _, out := range a.Outputs {
		c.typeOf(out.Expr)
	}
}

// Inference infers types, without reporting anything.
type Inference struct{ checker *checker }

// Infer returns an Inference for the expressions of an analysed program.
func Infer(a *binding.Analysis) *Inference {
	return &Inference{&checker{cells: a.Cells, diags: &source.Diagnostics{}}}
}

// Of is the type of a folded expression in a stack; "" if it is not certain.
func (i *Inference) Of(in *program.Stack, e *hot.Expr) contract.Type {
	i.checker.stack = in
	return i.checker.known(e)
}

type checker struct {
	cells map[contract.CellName]binding.Cell
	stack *program.Stack // whose parameters are read
	diags *source.Diagnostics
	quiet bool // infer the type without reporting
}

// declared compares an output's value with its declared type.
func (c *checker) declared(o *program.Output) {
	if o.Value == nil {
		return
	}
	if is := c.known(o.Value); isNot(is, o.Type) {
		c.diags.Error(source.WrongType, o.Value.At, fmt.Sprintf("output %q is declared as a %s, but its value is a %s", o.Name, o.Type, word(is)), "")
	}
}

// input compares an input's expression and its default with its declared type. In
// expressions that Heat computes, Heat itself finds invalid arguments.
func (c *checker) input(in *program.Input, bound *binding.Bound) {
	look := c.known
	if bound.Time == contract.Run {
		look = c.typeOf
	}
	is := look(bound.Expr)
	if isNot(is, in.Type) {
		d := c.diags.Error(source.WrongType, in.Expr.At, fmt.Sprintf("input %q is declared as a %s, but this is a %s: the role would fail when it reads it", in.Name, in.Type, word(is)), "")
		if o, path := c.output(bound.Expr); o != nil && len(path) == 0 {
			d.Notes = append(d.Notes, declaredAs(o))
		}
	}
	if !in.HasDefault || in.Default == nil {
		return
	}
	if is := valueType(in.Default); isNot(is, in.Type) {
		c.diags.Error(source.WrongType, in.At, fmt.Sprintf("input %q is declared as a %s, but its default is a %s", in.Name, in.Type, word(is)), "")
	}
}

// known is the type of an expression, without reporting anything.
func (c *checker) known(e *hot.Expr) contract.Type {
	c.quiet = true
	defer func() { c.quiet = false }()
	return c.typeOf(e)
}

// isNot says whether a value of this type certainly contradicts the declared type. As a
// declared type json allows anything; as an inferred type it is a map.
func isNot(t, declared contract.Type) bool {
	return t != anything && declared != anything && declared != contract.JSON && t != declared
}

func word(t contract.Type) string {
	if t == contract.JSON {
		return "map"
	}
	return string(t)
}

func valueType(v value.Value) contract.Type {
	switch v.(type) {
	case nil:
		return anything
	case string:
		return contract.String
	case bool:
		return contract.Boolean
	case []value.Value:
		return contract.List
	case *value.Dict:
		return contract.JSON
	}
	return contract.Number
}

// typeOf infers the type of an expression, and reports invalid uses inside it.
func (c *checker) typeOf(e *hot.Expr) contract.Type {
	switch e.Kind {
	case hot.ValueExpr:
		return valueType(e.Value)
	case hot.ListExpr, hot.MapExpr:
		for _, x := range e.Items {
			c.typeOf(x)
		}
		if e.Kind == hot.ListExpr {
			return contract.List
		}
		return contract.JSON
	}
	if e.Func == hot.CellRef {
		return c.cell(e)
	}
	if choice, is := e.If(); is {
		return c.choice(choice)
	}
	if members, are := e.Members(); are {
		c.typeOf(members.Group)
		c.typeOf(members.Count)
		return c.typeOf(members.Items)
	}
	c.operands(e)
	if r := e.Ref(); r.Kind == hot.ToParameter {
		return c.parameter(r)
	}
	return e.Func.Gives
}

// choice is the type of an `if` with branches of the same type.
func (c *checker) choice(e hot.If) contract.Type {
	c.typeOf(e.Condition)
	then := c.typeOf(e.Then)
	if e.Else == nil {
		return anything
	}
	if otherwise := c.typeOf(e.Else); then == otherwise || e.Else.Kind == hot.CallExpr && e.Else.Func == hot.AbsentRef {
		return then
	}
	return anything
}

// operands reports invalid operands of a call.
func (c *checker) operands(e *hot.Expr) {
	kind, parts, others := e.Operands()
	if kind == hot.OtherOperands {
		others = slices.Collect(e.Inside())
	}
	for _, x := range others {
		c.typeOf(x)
	}
	for _, x := range parts {
		switch is := c.typeOf(x); kind {
		case hot.JoinedItems:
			c.mustNot(is.Scalar() || is == contract.JSON && x.Kind == hot.MapExpr, x, is, "list_join joins a list")
		case hot.JoinedLists:
			c.mustNot(is.Scalar(), x, is, e.Func.Name+" joins lists")
		case hot.MergedMaps:
			c.mustNot(is.Scalar() || is == contract.List, x, is, "map_merge joins maps")
		case hot.SplitText:
			c.mustNot(is == contract.List, x, is, "str_split splits a string")
		}
	}
}

func (c *checker) mustNot(wrong bool, e *hot.Expr, is contract.Type, why string) {
	if !wrong || c.quiet {
		return
	}
	d := c.diags.Error(source.WrongType, e.At, fmt.Sprintf("%s, but this is a %s", why, word(is)), "")
	if o, _ := c.output(e); o != nil {
		d.Notes = append(d.Notes, declaredAs(o))
	}
}

func declaredAs(o *program.Output) source.Note {
	return source.Note{At: o.At, Message: fmt.Sprintf("output %q of role %s is declared as a %s", o.Name, o.Role.Key(), o.Type)}
}

// parameter is the type of a parameter that is left to Heat.
func (c *checker) parameter(r hot.Ref) contract.Type {
	p := c.stack.Template.Parameter(r.Name)
	if r.Computed || len(r.Path) > 0 || p == nil {
		return anything
	}
	return p.Gives()
}

// output is the output that a reference names, and the path into it.
func (c *checker) output(e *hot.Expr) (*program.Output, []value.Value) {
	if r := e.Ref(); r.Kind == hot.ToCell {
		return c.cells[r.Cell()].Output, r.Path
	}
	return nil, nil
}

// cell is the type of a reference; a part of a scalar is reported, as it would be null.
func (c *checker) cell(e *hot.Expr) contract.Type {
	o, path := c.output(e)
	switch cell := c.cells[e.Ref().Cell()]; {
	case len(path) > 0 || o != nil:
	case cell.Parameter != nil:
		return cell.Parameter.Gives()
	case cell.Server != "":
		return contract.String // a fact
	}
	if o == nil || o.Type == contract.JSON {
		return anything
	}
	is := o.Type
	if len(path) == 0 {
		return is
	}
	_, key := path[0].(string)
	if (is == contract.Number || is == contract.Boolean || key && (is == contract.String || is == contract.List)) && !c.quiet {
		d := c.diags.Error(source.WrongType, e.At, fmt.Sprintf("a %s has no element %s: this would be null", is, value.EncodeJSON(path[0])), "declare the output as `type: json`, if it is a map")
		d.Notes = append(d.Notes, declaredAs(o))
	}
	return anything
}
