package binding

import (
	"errors"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
)

// nestProperties looks at the properties of a resource that stands for stacks or
// servers: some are handed over, the others are Heat's.
func (b *binder) nestProperties(n *program.Nest, properties *hot.Node) {
	for i := range properties.Entries {
		e := &properties.Entries[i]
		switch {
		case !n.Group:
			b.uses(n.Resource.Name, e.Value, b.handsOver(n, e))
			b.handsMissing(n, e)
		case e != n.Definition.Entry && e.Name != n.Definition.Entry.Name:
			b.inShape(n.Resource.Name, e.Name, e.Value)
		default:
			b.definition(n, e.Value)
		}
	}
}

// definition looks at what a group says of its members.
func (b *binder) definition(n *program.Nest, definition *hot.Node) {
	for _, e := range definition.Entries {
		switch e.Name {
		case "type":
			b.inShape(n.Resource.Name, "type", e.Value)
		case "properties":
			for i := range e.Value.Entries {
				p := &e.Value.Entries[i]
				if n.Inline() {
					b.uses(n.Resource.Name, p.Value, b.inProperty(n.Resource))
				} else {
					b.uses(n.Resource.Name, p.Value, b.handsOver(n, p))
					b.handsMissing(n, p)
				}
			}
		default:
			for _, m := range e.Value.Entries {
				if m.Name != "hotc" {
					b.uses(n.Resource.Name, m.Value, b.inProperty(n.Resource))
				}
			}
		}
	}
}

// handsOver is for properties that become parameters. Where Heat itself evaluates
// the parameter, the nest waits for the value. Where only roles need it, they get it
// themselves, and what is handed through from the stack around stays: Heat evaluates
// it to the placeholder.
func (b *binder) handsOver(n *program.Nest, e *hot.Entry) func(*Read) {
	waits := b.inProperty(n.Resource)
	return func(read *Read) {
		switch {
		case b.heatNeeds(n, e.Name):
			waits(read)
		case b.known(read) || read.Argument != nil:
		default:
			if p := n.Members[0].Stack.Template.Parameter(e.Name); p != nil {
				b.analysis.Placeholders[e.Value] = p
			}
		}
	}
}

// useOfArgument is a use of a parameter in a place that Heat evaluates.
func (b *binder) useOfArgument(call, arg *hot.Node, found func(*Read)) {
	name, _ := arg.Text()
	if len(arg.Items) > 0 {
		name, _ = arg.Items[0].Text()
	}
	a := b.stack.Arguments[name]
	if a == nil {
		return
	}
	h := b.handed(b.stack, name)
	if outputs := b.outputsOf(h.expr); h.time == Run && len(outputs) > 0 {
		found(&Read{Call: call, Arg: arg, Output: outputs[0], Outputs: outputs, Argument: a})
	}
}

// useOfNest says whether what is read through a nested stack or a group needs a
// role's output.
func (b *binder) useOfNest(call, arg *hot.Node, found func(*Read)) bool {
	e, err := b.look(func() (*hot.Expr, error) {
		return b.asHeat(func() (*hot.Expr, error) { return b.template.Fold(call, b.resolve) })
	})
	if err != nil {
		b.dangling = b.dangling || errors.Is(err, errReported)
		return false // else Heat says what is wrong
	}
	outputs := b.outputsOf(e)
	if len(outputs) == 0 {
		return false
	}
	found(&Read{Call: call, Arg: arg, Path: arg.Items[min(2, len(arg.Items)):], Output: outputs[0], Outputs: outputs, Expr: e})
	return true
}

// outputsOf are the outputs behind the cells of an expression.
func (b *binder) outputsOf(e *hot.Expr) []*program.Output {
	if e == nil {
		return nil
	}
	var out []*program.Output
	for _, cell := range e.Cells() {
		if o := b.analysis.Cells[cell]; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// nestedOutput looks at an output of a nested stack: one that needs a role's output
// leaves the template. What is only handed through stays.
func (b *binder) nestedOutput(o *hot.Output) {
	if b.leftOut(o) {
		return
	}
	b.uses("", o.Value, func(read *Read) {
		if !b.known(read) && read.Argument == nil {
			b.analysis.Removed[o] = true
		}
	})
	b.live(o.Value)
	if o.Condition != nil {
		b.inShape("", o.Condition.Name, o.Condition.Value)
	}
}
