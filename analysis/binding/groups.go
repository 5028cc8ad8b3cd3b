package binding

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// stackResourceAttribute is an attribute of a stack resource.
func (b *binder) stackResourceAttribute(call *hot.Expr, n *program.StackResource, attribute string, path []value.Value) (*hot.Expr, error) {
	sel := n.Select(attribute, path, false)
	switch {
	case n.Scales() && sel.Gives == program.HeatsOwn:
		return b.leave(call, "an attribute of a group is Heat's"), nil
	case sel.Name != "" && sel.Member == nil && !n.Scales():
		return nil, b.noMember(call, n, sel.Name)
	case sel.Name != "" && sel.Gives == program.HeatsOwn:
		return b.leave(call, "the id of a member is Heat's"), nil
	case sel.Gives == program.HeatsOwn:
		return b.leave(call, "an attribute of a group is Heat's"), nil
	case sel.Attribute == "":
		return b.leave(call, "only Heat can tell which attribute this is"), nil
	case n.Scales():
		return b.scaledAttribute(call, n, sel)
	case sel.Gives == program.OfOne && !n.Group():
		return b.memberAttribute(call, n, sel.Member, sel.Attribute, sel.Path)
	case sel.Gives == program.OfOne:
		e, err := b.memberAttribute(call, n, sel.Member, sel.Attribute, sel.Path)
		if err == nil {
			e = b.ifMember(call, n, sel.Member, e)
		}
		return e, err
	}
	all, err := b.gather(call, n, sel.Attribute, sel.Path, sel.Gives == program.MapOfAll)
	if err != nil || all == call {
		return all, err
	}
	return b.part(call, all, sel.Then)
}

// emptyGroup is a read through a group without members: Heat gives an empty list or map.
func (b *binder) emptyGroup(call *hot.Expr, n *program.StackResource, attribute string) (*hot.Expr, error) {
	switch {
	case strings.HasPrefix(attribute, "resource."):
		return nil, b.absence(call, n.Resource.Name)
	case b.reader != nil && attribute != "refs" && attribute != "refs_map" && len(n.Blocks()) > 0:
		b.report(source.Warning, source.MissingProducer, call.At, fmt.Sprintf("input %s reads from an empty group: no server writes a value", b.reader.Name), "",
			b.stack.Removed(n.Resource.Name).Note(b.stack.PathOf(n.Resource.Name)))
	}
	return b.leave(call, "the group has no members"), nil
}

// noMember reports a reference to a member that does not exist.
func (b *binder) noMember(call *hot.Expr, n *program.StackResource, name string) error {
	message, hint, why := fmt.Sprintf("the group %q has no member %q", n.Resource.Name, name), "", "the group has no such member"
	number, err := strconv.Atoi(name)
	isNumber := err == nil && number >= 0
	if n.Open() && isNumber {
		why += fmt.Sprintf(": it was compiled for at most %d", n.Most())
		message += fmt.Sprintf(": it was compiled for at most %d, the first being resource.0", n.Most())
		hint = fmt.Sprintf("raise the limit: `%s` in the group's hotc block, or the constraints of the parameter that sets the number", nesting.MaxMembers)
	}
	if n.Unbounded && isNumber {
		return errReported
	}
	if isNumber && b.toleratesAbsence() {
		return &absentError{resource: n.In.PathOf(n.Resource.Name + "/" + name), at: call.At, why: &program.Removal{Why: why, At: n.SizeAt}}
	}
	b.report(source.Error, source.UnknownResource, call.At, message, hint, source.Note{At: n.SizeAt, Message: "the group's size"})
	return errReported
}

// toleratesAbsence says whether the input that is being bound may lack a value.
func (b *binder) toleratesAbsence() bool {
	return b.reader != nil && (b.reader.HasDefault || b.reader.Optional)
}

// gather reads an attribute of all members. If only Heat knows all of them, the
// call stays as it is.
func (b *binder) gather(call *hot.Expr, n *program.StackResource, attribute string, path []value.Value, named bool) (*hot.Expr, error) {
	out := &hot.Expr{Kind: hot.ListExpr, At: call.At}
	if named {
		out.Kind = hot.MapExpr
	}
	ours := false
	for m := range n.Members {
		e, err := b.memberAttribute(call, n, m, attribute, path)
		if err != nil {
			return nil, err
		}
		if ours = ours || e != call; e == call {
			e = b.memberCall(call, n, m, attribute, path)
		}
		out.Items = append(out.Items, e)
		if named {
			out.Keys = append(out.Keys, m.Name)
		}
	}
	if !ours {
		return call, nil
	}
	b.noteGather(n, out)
	if n.Open() {
		return b.firstMembers(call, n, out)
	}
	if b.joins(out) {
		return hot.NewJoined(hot.NewMembers(call.At, hot.Members{Group: groupName(call, n), Count: hot.Constant(int64(n.Most()), call.At), Items: out})), nil
	}
	return hot.Fold(out, func(call *hot.Expr) (*hot.Expr, error) { return call, nil })
}

// memberCall is how the stack around reads an attribute of one member.
func (b *binder) memberCall(call *hot.Expr, n *program.StackResource, m *program.Member, attribute string, path []value.Value) *hot.Expr {
	if n.Open() { // Heat may not have the member
		arg := append([]value.Value{n.Resource.Name, attribute}, path...)
		return hot.NewItem(hot.NewCall(call.Func, call.At, hot.Constant(arg, call.At)), n.Number(m))
	}
	arg := append([]value.Value{n.Resource.Name, "resource." + m.Name + "." + attribute}, path...)
	return hot.NewCall(call.Func, call.At, hot.Constant(arg, call.At))
}

// joins says whether the gathered value covers the members that are in the group at the
// time: the input is watched.
func (b *binder) joins(gathered *hot.Expr) bool {
	return b.reader != nil && b.reader.WatchAt.Known() && TimeOf(gathered) == contract.Run
}

// groupName is how a plan names a group.
func groupName(call *hot.Expr, n *program.StackResource) *hot.Expr {
	return hot.Constant(string(n.OwnPath()), call.At)
}

// Gather is an input's read of a value of all members of a group.
type Gather struct {
	Input         *program.Input
	StackResource *program.StackResource
	// Cells are those read from the last of its possible members.
	Cells []contract.CellName
}

// Group is the group's path.
func (g *Gather) Group() string { return string(g.StackResource.OwnPath()) }

func (b *binder) noteGather(n *program.StackResource, all *hot.Expr) {
	if b.reader == nil || len(all.Items) == 0 {
		return
	}
	if cells := all.Items[len(all.Items)-1].Cells(); len(cells) > 0 {
		g := &Gather{Input: b.reader, StackResource: n, Cells: cells}
		b.effects.add(func() { b.analysis.Gathers = append(b.analysis.Gathers, g) })
	}
}
