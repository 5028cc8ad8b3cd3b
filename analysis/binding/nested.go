package binding

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// References from one stack to another: into a nested stack through its parameters,
// out of it through its outputs. What an agent can compute crosses as an expression;
// the parts that only Heat can compute cross as parameters and outputs (passing.go).
//
// A property that passes a role's output stays in the template, but Heat cannot know
// its value: it gets a placeholder, and the parameter may be used in roles' inputs
// only. An output that needs a role's output is removed from the nested template, and
// its readers read the role's output instead.

// absentError says that a resource, thus its roles, is not in the deployment.
type absentError struct {
	resource contract.ServerPath
	at       source.Place
	why      *program.Removal
}

var errAbsent = errors.New("absent")

func (e *absentError) Error() string {
	return fmt.Sprintf("this value does not exist: %q is not in the deployment", e.resource)
}

// Is lets errors.Is find any absence.
func (e *absentError) Is(target error) bool { return target == errAbsent }

// reference identifies a value that is followed from stack to stack.
type reference struct {
	stack *program.Stack
	name  string
}

// follow evaluates an expression of another stack for a call in this one.
func (b *binder) follow(call *hot.Expr, to *program.Stack, name string, e *hot.Expr) (*hot.Expr, error) {
	return b.followed(reference{to, name}, name+" of "+to.Called(), e, b.through(call, to))
}

// maxFollowed bounds how many values one reference expands to: where each is made of two
// others, they grow exponentially.
const maxFollowed = 100_000

// followed evaluates an expression in the scope of another binder.
func (b *binder) followed(at reference, name string, e *hot.Expr, in *binder) (*hot.Expr, error) {
	if len(b.following) == 0 {
		*b.steps = 0
	}
	*b.steps++
	switch {
	case b.following[at]:
		return nil, fmt.Errorf("the value depends on itself: %s", name)
	case *b.steps > maxFollowed:
		return nil, fmt.Errorf("the value is made of more than %d others, such as %s", maxFollowed, name)
	}
	b.following[at] = true
	defer delete(b.following, at)
	return hot.Fold(e, in.resolve)
}

// argumentValue is what is known of an argument.
type argumentValue struct {
	time contract.Time
	expr *hot.Expr // as Heat would evaluate it, in the enclosing stack
}

// argumentValue finds out when the value of a parameter is known. Facts count as Heat's,
// as Heat evaluates the property.
func (b *binder) argumentValue(s *program.Stack, name string) argumentValue {
	at := reference{s, name}
	if h, known := b.arguments[at]; known {
		return h
	}
	a := s.Arguments[name]
	e, err := b.asHeat().follow(a, s.StackResource.In, "the parameter "+name, a)
	h := argumentValue{time: contract.Deploy, expr: e}
	switch {
	case err == nil:
		h.time = TimeOf(e)
	case errors.Is(err, errAbsent):
		h.time = contract.Run // so that the input that needs it reports it
	}
	b.arguments[at] = h
	return h
}

// argument resolves a call of get_param to the argument that was passed. It returns nil if
// only Heat knows it.
func (b *binder) argument(call *hot.Expr, name string, a *hot.Expr) (*hot.Expr, error) {
	h := b.argumentValue(b.stack, name)
	p := b.template.Parameter(name)
	if h.time == contract.Deploy || p == nil || p.Hidden && h.time == contract.Static {
		return nil, nil
	}
	nest := b.stack.StackResource
	e, err := b.follow(call, nest.In, "the parameter "+name, a)
	if err != nil {
		return nil, err
	}
	if TimeOf(e) == contract.Run {
		if e, err = b.passDown(nest, e); err != nil {
			return nil, err
		}
	}
	e = nest.Indexed(e, b.stack.Member().Name)
	if e.IsValue() {
		cast, err := p.Cast(e.Value)
		if err != nil {
			return nil, err
		}
		e = hot.Constant(cast, call.At)
		b.note(call, contract.Static, "the enclosing stack passes a known value", "", "")
	}
	return b.part(call, e, call.Ref().Path)
}

// memberAttribute is an attribute of one member of a stack resource: the call itself if
// only Heat knows it.
func (b *binder) memberAttribute(call *hot.Expr, n *program.StackResource, m *program.Member, attribute string, path []value.Value) (*hot.Expr, error) {
	if m.Stack == nil {
		return b.serverAttribute(call, server{Resource: n.Definition(), kind: n.ServerType(), path: n.Path(m), stackResource: n, member: m}, attribute, path)
	}
	t := m.Stack.Template
	if rest, ok := strings.CutPrefix(attribute, "resource."); ok { // template_resource.py, get_attribute
		resource, inner, found := strings.Cut(rest, ".")
		if !found && len(path) == 0 {
			return b.leave(call, "the id of a resource of a nested stack is Heat's"), nil
		}
		if !found {
			inner, found = path[0].(string)
			path = path[1:]
		}
		if !found || t.Resource(resource) == nil {
			return b.leave(call, "an attribute of a nested stack is Heat's"), nil
		}
		return b.across(call, n, m, attribute, t.Version.AttributeCall(call.At, resource, inner), path)
	}
	if o := t.Output(attribute); o != nil {
		return b.across(call, n, m, attribute, t.Expr(o.Value), path)
	}
	if attribute == "show" || attribute == "OS::stack_id" { // attributes of every resource
		return b.leave(call, "an attribute of a nested stack is Heat's"), nil
	}
	b.noOutput(call, t, attribute)
	return nil, errReported
}

// noOutput reports a read of an output that a nested template lacks.
func (b *binder) noOutput(call *hot.Expr, t *hot.Template, name string) {
	b.unknown(source.UnknownOutput, call, fmt.Sprintf("the nested template %s has no output %q", t.File.Name, name), name, t.OutputNames())
}

func (b *binder) leave(call *hot.Expr, rule string) *hot.Expr {
	b.note(call, contract.Deploy, rule, "", "")
	b.effects.add(func() { b.inUserData(call) })
	return call
}

// across evaluates an expression of a member for a call in this stack.
func (b *binder) across(call *hot.Expr, n *program.StackResource, m *program.Member, name string, e *hot.Expr, path []value.Value) (*hot.Expr, error) {
	inner := b.dryRun()
	out, err := inner.follow(call, m.Stack, name, e)
	if err == nil && TimeOf(out) == contract.Deploy {
		return b.leave(call, "an output of a nested stack that only Heat knows"), nil
	}
	b.effects.take(inner.effects)
	if err != nil {
		return nil, err
	}
	if TimeOf(out) == contract.Run {
		if m.Stack.Template.Version.CFN() {
			return nil, &source.Diagnostic{Code: source.NotYet, At: call.At, Message: fmt.Sprintf("this needs a role's output by way of %s: hotc does not follow run-time values through CloudFormation templates", m.Stack.Template.File.Portable),
				Hint: "read the role's output directly"}
		}
		out = b.exportUp(n, m, out)
	}
	return b.part(call, out, path)
}

// part selects a part of a call's value.
func (b *binder) part(call, e *hot.Expr, path []value.Value) (*hot.Expr, error) {
	for len(path) > 0 {
		switch {
		case e.IsValue():
			return hot.Constant(hot.Select(e.Value, path), call.At), nil
		case e.Ref().Kind == hot.ToCell:
			return hot.CellCall(e.At, e.Ref().Cell(), slices.Concat(e.Ref().Path, path)), nil
		case e.Kind == hot.CallExpr && e.Func == hot.AbsentRef:
			return e, nil
		}
		if choice, is := e.If(); is {
			return b.partOfChoice(call, e, choice, path)
		}
		x := itemOf(e, path[0])
		if members, are := e.Members(); are {
			x = memberPart(e, members, path[0])
		}
		if x == nil {
			return nil, &source.Diagnostic{Code: source.NotYet, At: call.At, Message: "hotc cannot select a part of this value, which is known only at run time",
				Hint: "pass the part as a value of its own"}
		}
		e, path = x, path[1:]
	}
	return e, nil
}

// partOfChoice selects a part of each branch.
func (b *binder) partOfChoice(call, e *hot.Expr, choice hot.If, path []value.Value) (out *hot.Expr, err error) {
	if choice.Then, err = b.part(call, choice.Then, path); err != nil {
		return nil, err
	}
	if choice.Else != nil {
		if choice.Else, err = b.part(call, choice.Else, path); err != nil {
			return nil, err
		}
	}
	return e.WithIf(choice), nil
}

// itemOf is an item of a list or map, nil if it is not certain to exist.
func itemOf(e *hot.Expr, key value.Value) *hot.Expr {
	switch k := key.(type) {
	case int64:
		if e.Kind == hot.ListExpr && k >= 0 && int(k) < len(e.Items) {
			return e.Items[k]
		}
	case string:
		if i := slices.Index(e.Keys, k); e.Kind == hot.MapExpr && i >= 0 {
			return e.Items[i]
		}
	}
	return nil
}
