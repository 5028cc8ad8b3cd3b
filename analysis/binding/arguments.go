package binding

import (
	"errors"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// passesArgument is for properties that become parameters. Where Heat itself evaluates
// the parameter, the stack resource waits for the value. Where only roles need it, they
// read it themselves; a value passed through from the enclosing stack stays, and Heat
// evaluates it to the placeholder.
func (b *binder) passesArgument(n *program.StackResource, e *yaml.Entry) func(*Read) {
	waits := b.inProperty(n.Resource)
	return func(read *Read) {
		switch {
		case b.heatNeeds(n, e.Name):
			waits(read)
		case b.known(read) || read.Argument != nil:
		default:
			if p := n.First().Stack.Template.Parameter(e.Name); p != nil {
				b.analysis.Placeholders[e.Value] = p
			}
		}
	}
}

// useOfArgument is a use of a parameter in a place that Heat evaluates.
func (u *usage) useOfArgument(call *yaml.Node, ref hot.NodeRef) {
	name := ref.Name
	a := u.stack.Arguments[name]
	if a == nil {
		return
	}
	h := u.argumentValue(u.stack, name)
	if outputs := u.outputsOf(h.expr); h.time == contract.Run && len(outputs) > 0 {
		u.found(&Read{Call: call, Arg: ref.Arg, Output: outputs[0], Outputs: outputs, Argument: a})
	}
}

// useOfStackResource says whether a read through a nested stack or a group needs a
// role's output.
func (u *usage) useOfStackResource(call *yaml.Node, ref hot.NodeRef) bool {
	e, err := u.template.Fold(call, u.asHeat().resolve)
	if err != nil {
		u.dangling = u.dangling || errors.Is(err, errReported)
		return false // other errors are Heat's to report
	}
	outputs := u.outputsOf(e)
	if len(outputs) == 0 {
		return false
	}
	u.found(&Read{Call: call, Arg: ref.Arg, Path: ref.Parts[min(2, len(ref.Parts)):], Output: outputs[0], Outputs: outputs, Expr: e})
	return true
}

// outputsOf are the outputs behind the cells of an expression.
func (b *binder) outputsOf(e *hot.Expr) []*program.Output {
	if e == nil {
		return nil
	}
	var out []*program.Output
	for _, cell := range e.Cells() {
		if o := b.analysis.Cells[cell].Output; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// nestedOutput checks an output of a nested stack: one that needs a role's output
// is removed from the template. A value that is only passed through stays.
func (b *binder) nestedOutput(o *hot.Output) {
	missing := b.uses("", o.Value, func(read *Read) {
		if !b.known(read) && read.Argument == nil {
			b.analysis.Removed[o] = true
		}
	})
	b.live(o.Value, missing)
}
