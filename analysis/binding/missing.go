package binding

import (
	"errors"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// References to what is not in the deployment: that a resource's condition is false is no
// mistake where an `if` on the same condition omits the reference to it. So places that
// Heat evaluates are folded with the supplied values before anything is reported.

// live reports a reference to the roles of an absent resource, if Heat would evaluate it.
func (b *binder) live(n *yaml.Node, missing bool) {
	if !missing {
		return
	}
	if _, err := b.missed(n); err != nil {
		b.failed(b.template.Place(n), err)
	}
}

// nullWhereOff notes the references of a stack's output to what the roles of a server write that
// the given parameters switch off: Heat gets null, as where it decides the same itself.
func (b *binder) nullWhereOff(o *hot.Output) {
	for {
		call, _ := b.missed(o.Value)
		if call == nil {
			return
		}
		ref := call.Ref()
		if r := b.template.Resource(ref.Name); !b.stack.Removed(ref.Name).Given || b.stack.ServerType(r) == nil || !b.wasRoles(call) {
			return
		}
		b.analysis.SwitchedOff[call.At] = true
	}
}

// missed is the first reference to an absent resource in a value that Heat evaluates, with
// its error; nil if Heat would evaluate none.
func (b *binder) missed(n *yaml.Node) (missed *hot.Expr, err error) {
	_, err = b.template.Fold(n, func(call *hot.Expr) (*hot.Expr, error) {
		if r := call.Ref(); r.Kind == hot.ToAttribute && b.stack.Absent(r.Name) {
			if b.analysis.SwitchedOff[call.At] {
				return hot.Constant(nil, call.At), nil
			}
			missed = call
			return nil, b.absence(call, r.Name)
		}
		return b.stack.Supplied.Peek(call)
	})
	if !errors.Is(err, errAbsent) {
		return nil, nil
	}
	return missed, err
}

// passesMissing is for a property that passes the output of an absent role on to roles, which
// do without it or report it. Heat gets a placeholder, as if it had decided the absence
// itself.
func (b *binder) passesMissing(n *program.StackResource, e *yaml.Entry, missing bool) {
	if !missing {
		return
	}
	p := n.First().Stack.Template.Parameter(e.Name)
	if p == nil || b.heatNeeds(n, e.Name) {
		b.live(e.Value, true)
		return
	}
	if call, _ := b.missed(e.Value); call != nil && b.wasRoles(call) {
		b.analysis.Placeholders[e.Value] = p
	}
}

// wasRoles says whether a reference to an absent resource may have meant a role's
// output. What an absent nested stack contains is unknown.
func (b *binder) wasRoles(call *hot.Expr) bool {
	ref := call.Ref()
	r := b.template.Resource(ref.Name)
	if r == nil {
		return false
	}
	if kind := b.stack.ServerType(r); kind != nil {
		return len(b.stack.Blocks(r)) > 0 && ref.Attribute != "" && !kind.Gives(ref.Attribute)
	}
	return nesting.IsStackResource(b.stack.Type(r))
}

// leftOut says whether an output's condition is false. If the output needs what a role
// writes, what decides the condition is pinned.
func (b *binder) leftOut(o *hot.Output) bool {
	e, err := hot.Fold(b.template.Enabled(o.Condition), b.stack.Supplied.Peek)
	if err != nil || !e.IsValue() || e.Value == true {
		return false
	}
	needs := false
	u := &usage{binder: b, found: func(*Read) { needs = true }} // dangling references do no harm here
	if u.below(o.Value); needs || u.missing {
		_, _ = hot.Fold(b.template.Enabled(o.Condition), b.stack.Supplied.Resolve)
	}
	return true
}
