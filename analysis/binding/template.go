package binding

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// heatsPlaces looks at what Heat evaluates: roles' outputs may be named there too.
func (b *binder) heatsPlaces() {
	b.current, b.bound = nil, nil
	for p := range b.stack.Places {
		switch p.Kind {
		case program.InProperty:
			b.uses(p.Resource.Name, p.Node, b.inProperty(p.Resource))
			b.live(p.Node)
		case program.InMetadata, program.InMember:
			b.uses(p.Resource.Name, p.Node, b.inProperty(p.Resource))
		case program.HandedOver:
			b.uses(p.Resource.Name, p.Node, b.handsOver(p.Nest, p.Entry))
			b.handsMissing(p.Nest, p.Entry)
		case program.InShape:
			b.inShape(p)
		case program.InDependsOn:
			b.dependsOn(p.Resource, p.Node)
		case program.InOutput:
			b.heatsOutput(p.Output)
		}
	}
}

// uses calls found for each use of a role's output in a value, and notes the
// dependencies on other resources.
func (b *binder) uses(owner string, value *hot.Node, found func(*Read)) {
	b.dangling = false
	b.usesBelow(owner, value, found)
	if b.dangling {
		b.leadsNowhere(value)
	}
}

func (b *binder) usesBelow(owner string, n *hot.Node, found func(*Read)) {
	if ref := b.template.RefAt(n); ref.OfResource() || ref.Kind == hot.ToAttribute || ref.Kind == hot.ToParameter {
		b.use(owner, n, ref, found)
	}
	for _, x := range n.Items {
		b.usesBelow(owner, x, found)
	}
	for _, e := range n.Entries {
		b.usesBelow(owner, e.Value, found)
	}
}

// leadsNowhere says what is wrong with a reference in a value of Heat's, unless it
// stands in a branch that is not taken, or may not be.
func (b *binder) leadsNowhere(value *hot.Node) {
	fold := func() (*hot.Expr, error) {
		return b.asHeat(func() (*hot.Expr, error) { return b.template.Fold(value, b.resolve) })
	}
	if _, err := b.look(fold); errors.Is(err, errReported) {
		_, _ = fold()
	}
}

func (b *binder) use(owner string, call *hot.Node, ref hot.NodeRef, found func(*Read)) {
	if ref.Kind == hot.ToParameter {
		b.useOfArgument(call, ref, found)
		return
	}
	resource := ref.Name
	r := b.template.Resource(resource)
	if r == nil {
		return // references says so
	}
	if ref.Kind == hot.ToAttribute && b.stack.Absent(resource) {
		b.missing = b.missing || program.BlockOf(r) != nil || b.stack.Type(r) != roles.ServerType
		return
	}
	if ref.Kind == hot.ToAttribute && len(ref.Parts) > 1 {
		if nest := b.stack.NestOf(resource); nest != nil && len(nest.Members) > 0 {
			if b.useOfNest(call, ref, found) {
				return
			}
		} else if b.stack.Type(r) == roles.ServerType && b.useOfServer(call, ref, found) {
			return
		}
	}
	if owner != "" {
		path := b.stack.PathOf(owner)
		b.analysis.Edges[path] = append(b.analysis.Edges[path], Edge{On: b.stack.PathOf(resource), At: b.template.Place(call)})
	}
}

// useOfServer says whether a role's output is read.
func (b *binder) useOfServer(call *hot.Node, ref hot.NodeRef, found func(*Read)) bool {
	path := b.stack.PathOf(ref.Name)
	s := b.program.Server(path)
	attribute, ok := b.attributeName(ref.Parts[1], s)
	if !ok {
		b.whichAttribute(b.template.Place(call), ref.Name)
		return false
	}
	if s != nil {
		if o := s.Output(attribute); o != nil {
			found(&Read{Call: call, Arg: ref.Arg, Path: ref.Parts[2:], Output: o, Outputs: []*program.Output{o}})
			return true
		}
	}
	if !roles.IsServerAttribute(attribute) {
		b.unknownOutput(b.template.Place(call), path, attribute)
	}
	return false
}

// attributeName is the name of an attribute as it stands in the text, or as it is
// known; what decides that is pinned only if it is a role's output.
func (b *binder) attributeName(n *hot.Node, s *program.Server) (name string, known bool) {
	if name, known = n.Text(); known {
		return name, true
	}
	e := b.template.Expr(n)
	folded, err := hot.Fold(e, b.stack.Given.Peek)
	if err != nil || !folded.IsValue() {
		return "", false
	}
	name, known = folded.Value.(string)
	if s != nil && s.Output(name) != nil {
		_, _ = hot.Fold(e, b.stack.Given.Resolve)
	}
	return name, known
}

// whichAttribute warns of a read that may mean a role's output: Heat does not know
// those.
func (b *binder) whichAttribute(at source.Place, resource string) {
	var names []string
	for _, s := range b.program.Servers {
		if in, ok := strings.CutPrefix(s.Path, b.stack.PathOf(resource)); !ok || in != "" && in[0] != '/' {
			continue
		}
		for _, r := range s.Roles {
			for _, o := range r.Outputs {
				names = append(names, o.Attribute)
			}
		}
	}
	if len(names) > 0 && !b.quiet {
		b.diags.Warning(source.UnknownOutput, at, fmt.Sprintf("which attribute of %q this reads is left to Heat, which does not know what roles write (%s)", resource, strings.Join(names, ", ")),
			"write the name out, or give the parameter that decides it with -P")
	}
}

func (b *binder) dependsOn(r *hot.Resource, n *hot.Node) {
	items := n.Items
	if n.Kind == hot.Scalar {
		items = []*hot.Node{n}
	}
	path := b.stack.PathOf(r.Name)
	for _, item := range items {
		on, ok := item.Text()
		switch {
		case !ok:
		case b.template.Resource(on) != nil:
			b.analysis.Edges[path] = append(b.analysis.Edges[path], Edge{On: b.stack.PathOf(on), At: b.template.Place(item)})
		default:
			b.dependsOnRole(r, item, on)
		}
	}
}

// inProperty is for what Heat needs to make a resource: it waits for the role. A
// parameter has its value already, the stack around has waited.
func (b *binder) inProperty(r *hot.Resource) func(*Read) {
	return func(read *Read) {
		if read.Argument == nil && !b.known(read) {
			b.property(r.Name, read)
		}
	}
}

// known takes a use of an output that has a value of its own.
func (b *binder) known(read *Read) bool {
	if read.Expr != nil || read.Argument != nil || read.Output.Value == nil {
		return false
	}
	if len(read.Path) > 0 {
		b.diags.Error(source.NotYet, b.template.Place(read.Call), fmt.Sprintf("hotc does not select a part of output %q outside of roles yet", read.Output.Attribute), "")
	}
	read.Template = b.template
	b.analysis.Reads = append(b.analysis.Reads, read)
	return true
}

// heatsOutput looks at an output of a stack.
func (b *binder) heatsOutput(o *hot.Output) {
	switch {
	case b.leftOut(o):
	case b.stack.Nest == nil:
		b.stackOutput(o)
	default:
		b.nestedOutput(o)
	}
}

func (b *binder) stackOutput(o *hot.Output) {
	needsRun := false
	b.uses("", o.Value, func(read *Read) {
		if b.known(read) {
			return
		}
		needsRun = true
		if read.Expr != nil { // again, this time noting what it needs
			if e, err := b.template.Fold(read.Call, b.resolve); err == nil {
				read.Expr = e
			}
		}
		read.Template = b.template
		b.analysis.Reads = append(b.analysis.Reads, read)
	})
	b.live(o.Value)
	if !needsRun && !b.options.AllOutputs {
		return
	}
	b.current, b.bound = nil, &Bound{}
	e, err := b.template.Fold(o.Value, b.resolve)
	if err != nil {
		b.failed(b.template.Place(o.Value), err)
		return
	}
	b.checkNumbers(e)
	b.analysis.Outputs = append(b.analysis.Outputs, &StackOutput{Output: o, Expr: e, References: b.bound.References})
}
