package binding

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// heatsPlaces looks at what Heat evaluates: properties, metadata, conditions and
// outputs. Roles' outputs may be named there too.
func (b *binder) heatsPlaces() {
	for _, r := range b.template.Resources {
		for _, e := range r.Entry.Value.Entries {
			switch e.Name {
			case "properties":
				b.uses(r.Name, e.Value, b.inProperty(r))
			case "metadata":
				for _, m := range e.Value.Entries {
					if m.Name != "hotc" {
						b.uses(r.Name, m.Value, b.inProperty(r))
					}
				}
			case "depends_on":
				b.dependsOn(r, e.Value)
			case "condition", "type", "deletion_policy", "update_policy":
				b.uses(r.Name, e.Value, b.inShape(e.Name))
			}
		}
	}
	if n := b.template.Root.Get("conditions"); n != nil {
		b.uses("", n, b.inShape("conditions"))
	}
	for _, o := range b.template.Outputs {
		b.stackOutput(o)
	}
}

// uses calls found for each use of a role's output below a node, and notes the
// dependencies on other resources.
func (b *binder) uses(owner string, n *hot.Node, found func(*Read)) {
	if name, arg := b.callOf(n); name != "" {
		b.use(owner, n, name, arg, found)
		b.uses(owner, arg, found)
		return
	}
	for _, x := range n.Items {
		b.uses(owner, x, found)
	}
	for _, e := range n.Entries {
		b.uses(owner, e.Value, found)
	}
}

// callOf tells whether a node is a call of a reference.
func (b *binder) callOf(n *hot.Node) (name string, arg *hot.Node) {
	if n.Kind != hot.Map || len(n.Entries) != 1 {
		return "", nil
	}
	switch e := n.Entries[0]; e.Name {
	case "get_attr", "get_resource":
		return e.Name, e.Value
	}
	return "", nil
}

func (b *binder) use(owner string, call *hot.Node, name string, arg *hot.Node, found func(*Read)) {
	resource, _ := arg.Text()
	if name == "get_attr" && len(arg.Items) > 0 {
		resource, _ = arg.Items[0].Text()
	}
	r := b.template.Resource(resource)
	if r == nil {
		return // Heat says so itself, and the linter will
	}
	if name == "get_attr" && len(arg.Items) > 1 && r.Type == roles.ServerType {
		attribute, ok := arg.Items[1].Text()
		if s := b.program.Server(resource); ok && s != nil {
			if o := s.Output(attribute); o != nil {
				found(&Read{Call: call, Arg: arg, Path: arg.Items[2:], Output: o})
				return
			}
		}
		if ok && !roles.IsServerAttribute(attribute) {
			b.unknownOutput(b.template.Place(call), resource, attribute)
		}
	}
	if owner != "" {
		b.analysis.Edges[owner] = append(b.analysis.Edges[owner], Edge{On: resource, At: b.template.Place(call)})
	}
}

func (b *binder) dependsOn(r *hot.Resource, n *hot.Node) {
	items := n.Items
	if n.Kind == hot.Scalar {
		items = []*hot.Node{n}
	}
	for _, item := range items {
		on, ok := item.Text()
		switch {
		case !ok:
		case b.template.Resource(on) != nil:
			b.analysis.Edges[r.Name] = append(b.analysis.Edges[r.Name], Edge{On: on, At: b.template.Place(item)})
		case b.roleNamed(on) != nil:
			b.diags.Error(source.NotYet, b.template.Place(item), fmt.Sprintf("%q depends on the role %s; hotc does not make wait conditions for resources yet", r.Name, on),
				"let a role depend on it, under `depends_on:` in the role")
		}
	}
}

func (b *binder) roleNamed(key string) *program.Role {
	for _, s := range b.program.Servers {
		for _, r := range s.Roles {
			if r.Key() == key {
				return r
			}
		}
	}
	return nil
}

// inProperty is for what Heat needs to make a resource: a value that a role
// writes is not there yet.
func (b *binder) inProperty(r *hot.Resource) func(*Read) {
	return func(read *Read) {
		if b.known(read) {
			return
		}
		d := b.diags.Error(source.RunTimeInProperty, b.template.Place(read.Call),
			fmt.Sprintf("resource %q needs %s.%s, which is known only when a role has run; hotc does not carry such values into properties yet",
				r.Name, read.Output.Role.Server.Path, read.Output.Attribute), "if it is known before, give the output a `value:`")
		d.Notes = append(d.Notes, source.Note{At: read.Output.At, Message: "the role's output"})
	}
}

func (b *binder) inShape(what string) func(*Read) {
	return func(read *Read) {
		if b.known(read) {
			return
		}
		d := b.diags.Error(source.RunTimeInShape, b.template.Place(read.Call),
			fmt.Sprintf("%s decides the shape of the stack and cannot wait for %s.%s, which a role writes", what, read.Output.Role.Server.Path, read.Output.Attribute),
			"decide it by a parameter")
		d.Notes = append(d.Notes, source.Note{At: read.Output.At, Message: "the role's output"})
	}
}

// known takes a use of an output that has a value of its own.
func (b *binder) known(read *Read) bool {
	if read.Output.Value == nil {
		return false
	}
	if len(read.Path) > 0 {
		b.diags.Error(source.NotYet, b.template.Place(read.Call), fmt.Sprintf("hotc does not select a part of output %q outside of roles yet", read.Output.Attribute), "")
	}
	b.analysis.Reads = append(b.analysis.Reads, read)
	return true
}

func (b *binder) stackOutput(o *hot.Output) {
	needsRun := false
	b.uses("", o.Value, func(read *Read) {
		if !b.known(read) {
			needsRun = true
			b.analysis.Reads = append(b.analysis.Reads, read)
		}
	})
	if c := o.Entry.Value.Get("condition"); c != nil {
		b.uses("", c, b.inShape("condition"))
	}
	if !needsRun && !b.options.AllOutputs {
		return
	}
	b.current, b.bound = nil, nil
	e, err := hot.Fold(b.template.Expr(o.Value), b.resolve)
	if err != nil {
		b.failed(b.template.Place(o.Value), err)
		return
	}
	b.analysis.Outputs = append(b.analysis.Outputs, &StackOutput{Output: o, Expr: e})
}
