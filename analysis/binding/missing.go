package binding

import (
	"errors"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// What is not in the deployment: a resource whose condition is false is no mistake
// where an `if` of the same condition leaves the reference to it out. So places that
// Heat evaluates are folded, with what is given, before anything is said.

// live reports a reference to the roles of a resource that is not there, if Heat would
// evaluate it.
func (b *binder) live(n *hot.Node) {
	if !b.missing {
		return
	}
	b.missing = false
	_, err := hot.Fold(b.template.Expr(n), func(call *hot.Expr) (*hot.Expr, error) {
		if name := firstString(call.Arg()); call.Func.Meaning() == "get_attr" && b.stack.Absent(name) {
			return nil, b.absence(call, name)
		}
		return b.stack.Given.Peek(call)
	})
	if errors.Is(err, errAbsent) {
		b.failed(b.template.Place(n), err)
	}
}

// leftOut says whether an output's condition is false. If the output needs what a role
// writes, what decides the condition is pinned.
func (b *binder) leftOut(o *hot.Output) bool {
	e, err := hot.Fold(b.template.Enabled(o.Condition), b.stack.Given.Peek)
	if err != nil || !e.IsValue() || e.Value == true {
		return false
	}
	needs := false
	b.uses("", o.Value, func(*Read) { needs = true })
	if needs || b.missing {
		_, _ = hot.Fold(b.template.Enabled(o.Condition), b.stack.Given.Resolve)
	}
	b.missing = false
	return true
}
