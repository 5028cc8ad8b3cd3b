package hot

import (
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Ref is the target of a reference. Only this file reads it from a call.
type Ref struct {
	Kind RefKind
	// Name is that of the parameter, resource, file or cell; "" if computed.
	Name string
	// Attribute is that of a resource; "" if there is none, or it is computed.
	Attribute string
	Path      []value.Value // after these, up to the first computed part
	// Computed says that a part is computed; what follows it is unknown.
	Computed bool
	At       source.Place

	steps []value.Value
}

// RefKind is the kind of a reference's target.
type RefKind uint8

// The kinds of references.
const (
	NoRef RefKind = iota
	ToParameter
	ToResource
	ToAttribute
	ToFile
	ToCell
	ToDeploy
)

// Ref is the target of a call; its kind is NoRef for anything but a reference.
func (e *Expr) Ref() Ref {
	if e.Kind != CallExpr || e.Func.refers == NoRef {
		return Ref{At: e.At}
	}
	r := Ref{Kind: e.Func.refers, At: e.At}
	arg := e.arg
	switch v := arg.Value.(type) {
	case []value.Value:
		r.read(v)
	case string:
		r.Name = v
	default:
		known := 0
		for known < len(arg.Items) && arg.Items[known].IsValue() {
			known++
		}
		r.Computed = arg.Kind != ValueExpr
		if arg.Kind == ListExpr {
			parts := make([]value.Value, known)
			for i := range parts {
				parts[i] = arg.Items[i].Value
			}
			r.read(parts)
		}
	}
	return r
}

// read sets the known parts of a reference.
func (r *Ref) read(parts []value.Value) {
	if len(parts) == 0 {
		return
	}
	r.Name, _ = parts[0].(string)
	parts = parts[1:]
	r.steps = parts
	if r.Kind == ToAttribute && len(parts) > 0 {
		r.Attribute, _ = parts[0].(string)
		parts = parts[1:]
	}
	r.Path = parts
}

// Names reports whether the reference is to that resource.
func (r Ref) Names(resource string) bool { return r.OfResource() && r.Name == resource }

// Cell is the name of the cell, for a reference to one.
func (r Ref) Cell() contract.CellName { return contract.CellName(r.Name) }

// OfResource reports whether the reference is to a resource known by name.
func (r Ref) OfResource() bool {
	return (r.Kind == ToAttribute || r.Kind == ToResource) && r.Name != ""
}

// Steps are the parts after the name, the attribute first, up to the first computed one.
func (r Ref) Steps() []value.Value { return r.steps }

// NodeRef is a reference in a template, with the nodes of its parts.
type NodeRef struct {
	Ref
	Arg   *yaml.Node
	Parts []*yaml.Node // of a list: the name's, the attribute's, those of the path
}

// NamedAt is the parameter, resource or file to which the call in a node refers by a literal
// name, as most do, without building an expression.
func (t *Template) NamedAt(n *yaml.Node) (r Ref, is bool) {
	f, arg := t.callOf(n)
	if f == nil || f.refers != ToParameter && f.refers != ToResource && f.refers != ToFile {
		return Ref{}, false
	}
	name, is := arg.Text()
	return Ref{Kind: f.refers, Name: name, At: t.Place(n)}, is && name != ""
}

// RefAt is the target of the call in a node.
func (t *Template) RefAt(n *yaml.Node) NodeRef {
	f, arg := t.callOf(n)
	if f == nil || f.refers == NoRef {
		return NodeRef{Ref: Ref{At: t.Place(n)}}
	}
	r := NodeRef{Ref: Ref{Kind: f.refers, At: t.Place(n)}, Arg: arg, Parts: arg.Items}
	r.Name, _ = arg.Text()
	parts := make([]value.Value, 0, len(arg.Items))
	for _, x := range arg.Items {
		e := Constant(x.Value, r.At)
		if x.Kind != yaml.Scalar {
			e = t.Expr(x)
		}
		if r.Computed = !e.IsValue(); r.Computed {
			break
		}
		parts = append(parts, e.Value)
	}
	r.read(parts)
	r.Computed = r.Computed || arg.Kind == yaml.Map
	return r
}
