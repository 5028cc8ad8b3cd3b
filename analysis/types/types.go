// Package types compares what roles' outputs are declared to be with how they are
// used. Types are inferred through the functions as far as that is certain; what
// is not, is left to the agents. Only a use that must fail, or can only give
// nothing, is reported.
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

// anything is the type of a value of which no type is known.
const anything contract.Type = ""

// Check reports uses of a type that cannot be.
func Check(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	c := &checker{outputs: map[contract.CellName]*program.Output{}, facts: map[contract.CellName]bool{}, given: map[contract.CellName]*hot.Parameter{}, diags: diags}
	for _, p := range a.Secrets {
		c.given[contract.SecretCell(p.Name)] = p
	}
	for server, facts := range a.Facts {
		for _, fact := range facts {
			c.facts[server.Fact(fact)] = true
		}
	}
	for role := range p.Roles {
		for _, o := range role.Outputs {
			c.outputs[o.Cell()] = o
		}
	}
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

type checker struct {
	outputs map[contract.CellName]*program.Output
	given   map[contract.CellName]*hot.Parameter // cells of parameters that `hotc apply` gives
	facts   map[contract.CellName]bool           // cells of servers' facts
	stack   *program.Stack                       // whose parameters are meant
	diags   *source.Diagnostics
	quiet   bool // only the type is asked for
}

// declared compares an output's value with its declared type.
func (c *checker) declared(o *program.Output) {
	if o.Value == nil {
		return
	}
	if is := c.known(o.Value); isNot(is, o.Type) {
		c.diags.Error(source.WrongType, o.Value.At, fmt.Sprintf("output %q is declared to be a %s, and its value is a %s", o.Name, o.Type, word(is)), "")
	}
}

// input compares an input's expression and its default with its declared type. In
// what only Heat computes, Heat itself finds the functions that cannot work.
func (c *checker) input(in *program.Input, bound *binding.Bound) {
	look := c.known
	if bound.Time == contract.Run {
		look = c.typeOf
	}
	is := look(bound.Expr)
	if isNot(is, in.Type) {
		d := c.diags.Error(source.WrongType, in.Expr.At, fmt.Sprintf("input %q is declared to be a %s, and this is a %s: the role would fail when it reads it", in.Name, in.Type, word(is)), "")
		if o, path := c.output(bound.Expr); o != nil && len(path) == 0 {
			d.Notes = append(d.Notes, declaredAs(o))
		}
	}
	if !in.HasDefault || in.Default == nil {
		return
	}
	if is := valueType(in.Default); isNot(is, in.Type) {
		c.diags.Error(source.WrongType, in.At, fmt.Sprintf("input %q is declared to be a %s, and its default is a %s", in.Name, in.Type, word(is)), "")
	}
}

// known is the type of an expression, without a look at what in it cannot be.
func (c *checker) known(e *hot.Expr) contract.Type {
	c.quiet = true
	defer func() { c.quiet = false }()
	return c.typeOf(e)
}

// isNot says whether a value of this type is surely not what is declared. Declared
// as json, it may be anything; found to be json, it is a map.
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

// typeOf is what an expression is known to be; on its way it reports what in it
// cannot be.
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

// choice is what both branches of an `if` are.
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

// operands reports what a call works on and cannot.
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
	d := c.diags.Error(source.WrongType, e.At, fmt.Sprintf("%s, and this is a %s", why, word(is)), "")
	if o, _ := c.output(e); o != nil {
		d.Notes = append(d.Notes, declaredAs(o))
	}
}

func declaredAs(o *program.Output) source.Note {
	return source.Note{At: o.At, Message: fmt.Sprintf("output %q of role %s is declared to be a %s", o.Name, o.Role.Key(), o.Type)}
}

// parameter is the type of a parameter that is left to Heat.
func (c *checker) parameter(r hot.Ref) contract.Type {
	p := c.stack.Template.Parameter(r.Name)
	if r.Computed || len(r.Path) > 0 || p == nil {
		return anything
	}
	return ofParameter(p)
}

func ofParameter(p *hot.Parameter) contract.Type {
	switch p.Type {
	case "string", "number", "boolean":
		return contract.Type(p.Type)
	case "comma_delimited_list":
		return contract.List
	}
	return anything // json is a map or a list
}

// output is the output that a reference names, and the path into it.
func (c *checker) output(e *hot.Expr) (*program.Output, []value.Value) {
	if r := e.Ref(); r.Kind == hot.ToCell {
		return c.outputs[r.Cell()], r.Path
	}
	return nil, nil
}

// cell is a reference: a part of what has no parts gives nothing.
func (c *checker) cell(e *hot.Expr) contract.Type {
	switch r := e.Ref(); {
	case len(r.Path) > 0:
	case c.facts[r.Cell()]:
		return contract.String
	case c.given[r.Cell()] != nil:
		return ofParameter(c.given[r.Cell()])
	}
	o, path := c.output(e)
	if o == nil || o.Type == contract.JSON {
		return anything
	}
	is := o.Type
	if len(path) == 0 {
		return is
	}
	_, key := path[0].(string)
	if (is == contract.Number || is == contract.Boolean || key && (is == contract.String || is == contract.List)) && !c.quiet {
		d := c.diags.Error(source.WrongType, e.At, fmt.Sprintf("a %s has no part %s: this would be null", is, value.EncodeJSON(path[0])), "declare the output `type: json` if it is one")
		d.Notes = append(d.Notes, declaredAs(o))
	}
	return anything
}
