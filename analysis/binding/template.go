package binding

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// bindHeatPlaces binds the places that Heat evaluates: they may read roles' outputs too.
func (b *binder) bindHeatPlaces() {
	for p := range b.stack.Places {
		b := b.at(p.Resource)
		switch p.Kind {
		case program.InProperty:
			b.live(p.Node, b.uses(p.Resource.Name, p.Node, b.inProperty(p.Resource)))
		case program.InMetadata, program.InMember:
			b.uses(p.Resource.Name, p.Node, b.inProperty(p.Resource))
		case program.InArgument:
			b.passesMissing(p.StackResource, p.Entry, b.uses(p.Resource.Name, p.Node, b.passesArgument(p.StackResource, p.Entry)))
		case program.InTopology:
			b.topologyPlace(p)
		case program.InDependsOn:
			b.dependsOn(p.Resource, p.Node)
		case program.InOutput:
			b.bindOutput(p.Output)
		}
	}
}

// uses calls found for each use of a role's output in a value, and notes the
// dependencies on other resources. It says whether the value names absent roles.
func (b *binder) uses(owner string, value *yaml.Node, found func(*Read)) (missing bool) {
	u := &usage{binder: b, owner: owner, found: found}
	u.below(value)
	if u.dangling {
		b.leadsNowhere(value)
	}
	return u.missing
}

// usage looks for uses in a value.
type usage struct {
	*binder
	owner string // the resource; "" for the sections
	found func(*Read)
	// dangling says that a use names something unknown, missing that one names absent roles.
	dangling, missing bool
}

func (u *usage) below(n *yaml.Node) {
	for call := range u.template.Calls(n) {
		if ref := u.template.RefAt(call); ref.OfResource() || ref.Kind == hot.ToAttribute || ref.Kind == hot.ToParameter {
			u.use(call, ref)
		}
	}
}

// leadsNowhere reports a dangling reference in a value that Heat evaluates, unless it
// is in a branch that is not, or may not be, taken.
func (b *binder) leadsNowhere(value *yaml.Node) {
	heat := b.asHeat()
	if _, err := b.template.Fold(value, heat.resolve); errors.Is(err, errReported) {
		b.effects.take(heat.effects)
	}
}

func (u *usage) use(call *yaml.Node, ref hot.NodeRef) {
	if ref.Kind == hot.ToParameter {
		u.useOfArgument(call, ref)
		return
	}
	resource := ref.Name
	r := u.template.Resource(resource)
	if r == nil {
		return // package references reports it
	}
	if own := u.stack.Owned(resource); own != nil {
		if o := own.Output(ref.Attribute); o != nil && !ref.Computed {
			u.found(&Read{Call: call, Arg: ref.Arg, Path: ref.Parts[2:], Output: o, Outputs: []*program.Output{o}})
		} else {
			u.dangling = true
		}
		return
	}
	if ref.Kind == hot.ToAttribute && u.stack.Absent(resource) {
		u.missing = u.missing || len(u.stack.Blocks(r)) > 0 || u.stack.ServerType(r) == nil
		return
	}
	if ref.Kind == hot.ToAttribute && len(ref.Parts) > 1 {
		if nest := u.stack.StackResourceOf(resource); nest != nil && nest.Most() > 0 {
			if u.useOfStackResource(call, ref) {
				return
			}
		} else if u.stack.ServerType(r) != nil && u.useOfServer(call, ref, u.stack.ServerType(r)) {
			return
		}
	}
	if u.owner != "" {
		path := u.stack.PathOf(u.owner)
		u.analysis.Edges[path] = append(u.analysis.Edges[path], Edge{On: u.stack.PathOf(resource), At: u.template.Place(call)})
	}
}

// useOfServer says whether a role's output is read.
func (u *usage) useOfServer(call *yaml.Node, ref hot.NodeRef, kind *program.ServerType) bool {
	path := u.stack.PathOf(ref.Name)
	s := u.program.Server(path)
	attribute, ok := u.attributeName(ref.Parts[1], s)
	if !ok {
		u.whichAttribute(u.template.Place(call), ref.Name)
		return false
	}
	if s != nil {
		if o := s.Output(attribute); o != nil {
			u.found(&Read{Call: call, Arg: ref.Arg, Path: ref.Parts[2:], Output: o, Outputs: []*program.Output{o}})
			return true
		}
	}
	if !kind.Gives(attribute) {
		u.dangling = true // unless it is in a branch that is not taken
	}
	return false
}

// attributeName is the name of an attribute, literal or folded; the values that decide it
// are pinned only if it is a role's output.
func (b *binder) attributeName(n *yaml.Node, s *program.Server) (name string, known bool) {
	if name, known = n.Text(); known {
		return name, true
	}
	e := b.template.Expr(n)
	folded, err := hot.Fold(e, b.stack.Supplied.Peek)
	if err != nil || !folded.IsValue() {
		return "", false
	}
	name, known = folded.Value.(string)
	if s != nil && s.Output(name) != nil {
		_, _ = hot.Fold(e, b.stack.Supplied.Resolve)
	}
	return name, known
}

// whichAttribute warns of a read that may mean a role's output, which Heat does not know.
func (b *binder) whichAttribute(at source.Place, resource string) {
	var names []string
	for _, s := range b.program.Servers {
		if in, ok := strings.CutPrefix(string(s.Path), string(b.stack.PathOf(resource))); !ok || in != "" && in[0] != '/' {
			continue
		}
		names = append(names, s.Attributes()...)
	}
	if len(names) > 0 {
		b.report(source.Warning, source.UnknownOutput, at, fmt.Sprintf("Heat decides which attribute of %q this reads, and does not know what roles write (%s)", resource, strings.Join(names, ", ")),
			"write the name out, or supply the parameter that decides it with -P")
	}
}

func (b *binder) dependsOn(r *hot.Resource, n *yaml.Node) {
	path := b.stack.PathOf(r.Name)
	for _, item := range n.OneOrMore() {
		on, ok := item.Text()
		switch {
		case !ok:
		case b.stack.Owned(on) != nil:
			b.dependsOnOwned(r, item, on)
		case b.template.Resource(on) != nil:
			b.analysis.Edges[path] = append(b.analysis.Edges[path], Edge{On: b.stack.PathOf(on), At: b.template.Place(item)})
		default:
			b.dependsOnRole(r, item, on)
		}
	}
}

// inProperty is for what Heat needs to create a resource: it waits for the role. A
// parameter has its value already: the enclosing stack has waited.
func (b *binder) inProperty(r *hot.Resource) func(*Read) {
	return func(read *Read) {
		if read.Argument == nil && !b.known(read) {
			b.property(r.Name, read)
		}
	}
}

// known handles a use of an output that has a value of its own.
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

// bindOutput binds an output of a stack.
func (b *binder) bindOutput(o *hot.Output) {
	switch {
	case b.leftOut(o):
	case b.stack.StackResource == nil:
		b.stackOutput(o)
	default:
		b.nestedOutput(o)
	}
}

func (b *binder) stackOutput(o *hot.Output) {
	needsRun := false
	missing := b.uses("", o.Value, func(read *Read) {
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
	if missing {
		b.nullWhereOff(o)
	}
	b.live(o.Value, missing)
	if !needsRun && !b.options.AllOutputs {
		return
	}
	inner := b.reading(nil)
	e, err := b.template.Fold(o.Value, inner.resolve)
	if err != nil {
		b.failed(b.template.Place(o.Value), err)
		return
	}
	b.checkNumbers(e)
	b.analysis.Outputs = append(b.analysis.Outputs, &StackOutput{Output: o, Expr: e, References: inner.effects.references})
}
