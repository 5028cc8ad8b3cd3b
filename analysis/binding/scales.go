package binding

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// scaledAttribute is what is read of the members of a group that scales. Agents know of
// slots only, so that what roles write can be had as a list.
func (b *binder) scaledAttribute(call *hot.Expr, n *program.StackResource, sel program.Selection) (*hot.Expr, error) {
	name, rest := sel.Attribute, sel.Path
	if sel.Gives == program.ListOfAll {
		e, err := b.gather(call, n, name, rest, false)
		if err == nil && e != call && needsMember(e, n) {
			return nil, b.notTold(call, fmt.Sprintf("a part of %q is known to Heat only, for each member of %q, and which of Heat's members is which of the agents' nobody knows", name, n.Resource.Name),
				"let a role write the whole of it as an output of its own")
		}
		return e, err
	}
	if n.Inline() && roles.IsServerAttribute(name) {
		return b.leave(call, "agents do not know which members these are"), nil
	}
	e, err := b.looking().memberAttribute(call, n, n.First(), name, rest)
	if err == nil && (TimeOf(e) == contract.Run || n.Inline()) {
		return nil, b.notTold(call, fmt.Sprintf("a role writes %q, and which of the members of %q is which of Heat's nobody but Heat knows", name, n.Resource.Name),
			fmt.Sprintf("read the list of all: {get_attr: [%s, %s, %s]}", n.Resource.Name, program.OutputsList, name))
	}
	return b.leave(call, "an output of a nested stack that only Heat knows"), nil
}

// notTold refuses what nobody can tell.
func (b *binder) notTold(call *hot.Expr, message, hint string) error {
	b.report(source.Error, source.NotYet, call.At, message, hint)
	return errReported
}

// needsMember says whether Heat needs a group's members to know an expression.
func needsMember(e *hot.Expr, n *program.StackResource) bool {
	return e.Any(func(x *hot.Expr) bool { return x.Ref().Names(n.Resource.Name) })
}
