package binding

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// scaledAttribute is a read from the members of a group that scales. Agents know only
// replica slots, so roles' outputs are available only as a list.
func (b *binder) scaledAttribute(call *hot.Expr, n *program.StackResource, sel program.Selection) (*hot.Expr, error) {
	name, rest := sel.Attribute, sel.Path
	if sel.Gives == program.ListOfAll {
		e, err := b.gather(call, n, name, rest, false)
		if err == nil && e != call && needsMember(e, n) {
			return nil, b.refuseMember(call, fmt.Sprintf("a part of %q is known only to Heat, for each member of %q, and Heat's members cannot be matched to the agents'", name, n.Resource.Name),
				"write the whole value as an output of a role")
		}
		return e, err
	}
	if n.Inline() && n.ServerType().Gives(name) {
		return b.leave(call, "agents do not know which members these are"), nil
	}
	e, err := b.dryRun().memberAttribute(call, n, n.First(), name, rest)
	if err == nil && (TimeOf(e) == contract.Run || n.Inline()) {
		return nil, b.refuseMember(call, fmt.Sprintf("a role writes %q, and agents cannot tell which member of %q Heat means", name, n.Resource.Name),
			fmt.Sprintf("read the list of all members: {get_attr: [%s, %s, %s]}", n.Resource.Name, program.OutputsList, name))
	}
	return b.leave(call, "an output of a nested stack that only Heat knows"), nil
}

// refuseMember refuses a read whose member is ambiguous.
func (b *binder) refuseMember(call *hot.Expr, message, hint string) error {
	b.report(source.Error, source.NotYet, call.At, message, hint)
	return errReported
}

// needsMember says whether Heat needs a group's members to know an expression.
func needsMember(e *hot.Expr, n *program.StackResource) bool {
	return e.Any(func(x *hot.Expr) bool { return x.Ref().Names(n.Resource.Name) })
}
