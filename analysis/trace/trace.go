// Package trace follows an expression back to its origins: through roles' outputs
// with a value of their own, arguments that one stack passes to another, outputs of
// nested stacks and groups, and OS::Heat::Value. It answers one kind of question,
// "does anything of this kind reach this place, and by which path?", and caches the
// answer for each parameter and output on the path.
package trace

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Origin is a source of values: a parameter, the output of a role, or a resource with a
// secret attribute.
type Origin struct {
	Stack     *program.Stack
	Parameter *hot.Parameter
	Output    *program.Output
	Secret    *hot.Resource
}

// Path is the path from an expression to an origin.
type Path struct {
	At   source.Place // the reference in the expression itself
	Hops []source.Note
	Origin
	// Via is the resource on the path whose attribute is read; nil if there is none.
	Via *hot.Resource
}

// Finder finds the path from expressions to one kind of origin.
type Finder struct {
	// Wanted selects the origins to find.
	Wanted func(Origin) bool
	// Blocks selects calls that block the path; nil for none.
	Blocks func(call *hot.Expr) bool
	// Properties says that attributes of a resource derive from all of its properties, except
	// those of servers, whose agents report their facts.
	Properties bool
	// SkipConditions says that the condition of an `if` is not part of its value.
	SkipConditions bool

	known map[station]*Path
}

// station is a part of a named value on the path.
type station struct {
	stack  *program.Stack
	name   string // of a parameter; of a nested output after "//", of a resource after "/"
	output *program.Output
	part   string // the path to it, as JSON
}

// maxParts bounds how many parts of values are distinguished. Beyond that, values that
// derive from each other in a cycle, with longer and longer paths, count as a whole.
const maxParts = 10000

// maxPath is the longest path that is told from the whole value: one that reads itself grows with each
// round.
const maxPath = 100

// NewFinder returns a finder for a program.
func NewFinder(wanted func(Origin) bool, ends func(*hot.Expr) bool) *Finder {
	return &Finder{Wanted: wanted, Blocks: ends, known: map[station]*Path{}}
}

// Find finds the first path, in template order; nil if there is none.
func (f *Finder) Find(s *program.Stack, e *hot.Expr) *Path { return f.part(s, e, nil) }

// part is Find for the part of an expression that a path selects. Where the part is
// unknown, it is the whole.
func (f *Finder) part(s *program.Stack, e *hot.Expr, path []value.Value) *Path {
	switch e.Kind {
	case hot.ValueExpr:
		return nil
	case hot.CallExpr:
		return f.call(s, e, path)
	}
	if len(path) > 0 {
		if x, told := itemOf(e, path[0]); x != nil {
			return f.part(s, x, path[1:])
		} else if told {
			return nil
		}
	}
	return f.first(s, e.Items, nil)
}

// itemOf is the item that a step selects in a list or map; told says that the item is certain.
func itemOf(e *hot.Expr, step value.Value) (x *hot.Expr, told bool) {
	if e.Kind == hot.MapExpr {
		name, isName := step.(string)
		if i := slices.Index(e.Keys, name); isName && i >= 0 {
			return e.Items[i], true
		}
		return nil, true
	}
	if i, isIndex := step.(int64); isIndex && i >= 0 && i < int64(len(e.Items)) {
		return e.Items[i], true
	}
	return nil, false
}

func (f *Finder) first(s *program.Stack, items []*hot.Expr, path []value.Value) *Path {
	for _, x := range items {
		if found := f.part(s, x, path); found != nil {
			return found
		}
	}
	return nil
}

func (f *Finder) call(s *program.Stack, call *hot.Expr, path []value.Value) *Path {
	if f.Blocks != nil && f.Blocks(call) {
		return nil
	}
	choice, is := call.If()
	operands, merged, _ := call.Operands()
	switch {
	case call.Ref().Kind == hot.ToParameter, call.Ref().Kind == hot.ToResource, call.Ref().Kind == hot.ToAttribute:
		if found := f.reference(s, call, path); found != nil {
			return found
		}
	case is:
		if !f.SkipConditions {
			if found := f.part(s, choice.Condition, nil); found != nil {
				return found
			}
		}
		return f.first(s, choice.Branches(), path)
	case operands == hot.MergedMaps:
		return f.first(s, merged, path)
	}
	return f.first(s, slices.Collect(call.Inside()), nil)
}

func (f *Finder) reference(s *program.Stack, call *hot.Expr, path []value.Value) *Path {
	r := call.Ref()
	steps := r.Steps()
	if !r.Computed {
		steps = slices.Concat(steps, path)
	}
	switch {
	case r.Name == "":
		return nil
	case r.Kind == hot.ToParameter:
		return f.parameter(s, call, r.Name, steps)
	case r.Kind == hot.ToResource:
		if x := s.Template.Resource(r.Name); x != nil && GivesSecret(s.Type(x), Reference) {
			return f.secret(s, call, x)
		}
		return nil
	}
	return f.attribute(s, call, r.Name, steps, r.Computed)
}

// secret is the path to a resource with a secret attribute, if that is wanted.
func (f *Finder) secret(s *program.Stack, call *hot.Expr, r *hot.Resource) *Path {
	if o := (Origin{Stack: s, Secret: r}); !s.Absent(r.Name) && f.Wanted(o) {
		return &Path{At: call.At, Origin: o}
	}
	return nil
}

func (f *Finder) parameter(s *program.Stack, call *hot.Expr, name string, path []value.Value) *Path {
	p := s.Template.Parameter(name)
	if p == nil {
		return nil
	}
	if o := (Origin{Stack: s, Parameter: p}); f.Wanted(o) {
		return &Path{At: call.At, Origin: o}
	}
	a := s.Arguments[name]
	if a == nil {
		return nil
	}
	around := s.Around()
	return f.through(station{stack: s, name: name}, call, around, a, path, fmt.Sprintf("%s passes it as %q", nameOf(around), name))
}

// nameOf names a stack in a sentence.
func nameOf(s *program.Stack) string {
	if s.Path == "" {
		return "the root stack"
	}
	return fmt.Sprintf("the stack %q", s.Path)
}

func (f *Finder) attribute(s *program.Stack, call *hot.Expr, resource string, path []value.Value, more bool) *Path {
	r := s.Template.Resource(resource)
	if r == nil || s.Absent(resource) {
		return nil
	}
	if n := s.StackResourceOf(resource); n != nil {
		if GivesSecrets(n.Definition().Type) { // any read from such a group
			return f.secret(s, call, r)
		}
		if n.Most() > 0 || n.Sample != nil {
			return f.stackResource(call, n, path, more)
		}
	}
	name := firstName(path) // a computed name is never a role's output: Heat has none
	if s.Type(r) == "OS::Heat::Value" && name == "value" && r.Property("value") != nil {
		return f.through(station{stack: s, name: "/" + r.Name}, call, s, s.Template.Expr(r.Property("value")), path[1:], fmt.Sprintf("through resource %q", r.Name))
	}
	if GivesSecret(s.Type(r), name) || name == "" && GivesSecrets(s.Type(r)) { // without a name it may be any attribute
		return f.secret(s, call, r)
	}
	if own := s.Owned(resource); own != nil {
		return f.output(call, own.Output(name), path[1:])
	}
	if server := s.Server(resource); server != nil && name != "" {
		return f.output(call, server.Output(name), path[1:])
	}
	if f.Properties && s.Type(r) != serverType {
		for _, p := range r.Entries() {
			if found := f.through(station{stack: s, name: "/" + r.Name + "/" + p.Name}, call, s, s.Template.Expr(p.Value), nil, fmt.Sprintf("through resource %q", r.Name)); found != nil {
				found.Via = r
				return found
			}
		}
	}
	return nil
}

const serverType = "OS::Nova::Server"

// firstName is the name at the start of a path, "" if there is none.
func firstName(path []value.Value) string {
	if len(path) == 0 {
		return ""
	}
	name, _ := path[0].(string)
	return name
}

// stackResource follows an attribute of a nested stack, or of the members of a group: a value of
// any of them is part of it.
func (f *Finder) stackResource(call *hot.Expr, n *program.StackResource, path []value.Value, more bool) *Path {
	var sel program.Selection
	if name := firstName(path); name != "" {
		if sel = n.Select(name, path[1:], more); sel.Gives == program.HeatsOwn {
			return nil
		}
		path = slices.Concat(sel.Path, sel.Then)
	}
	var members iter.Seq[*program.Member] = n.Members
	if n.Sample != nil { // it represents every member
		members, sel.Member, sel.Name = slices.Values([]*program.Member{{Stack: n.Sample}}), nil, ""
	}
	for m := range members {
		if sel.Member != nil && m != sel.Member || sel.Name != "" && m.Name != sel.Name {
			continue
		}
		var found *Path
		switch {
		case m.Stack != nil && sel.Attribute == "":
			found = f.outputs(call, m.Stack, func(string) bool { return more }, nil)
		case m.Stack != nil:
			found = f.nested(call, m.Stack, sel.Attribute, path, more)
		case m.Server != nil && sel.Attribute != "":
			found = f.output(call, m.Server.Output(sel.Attribute), path)
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// nested follows an output of a nested stack, or an attribute of a resource in it.
func (f *Finder) nested(call *hot.Expr, s *program.Stack, name string, path []value.Value, more bool) *Path {
	if inner, ok := strings.CutPrefix(name, "resource."); ok { // heat: template_resource.py, get_attribute
		resource, attribute, found := strings.Cut(inner, ".")
		if found {
			path = append([]value.Value{attribute}, path...)
		}
		return f.attribute(s, call, resource, path, more)
	}
	return f.outputs(call, s, func(output string) bool { return output == name }, path)
}

// outputs follows the first of some outputs of a nested stack that has a path.
func (f *Finder) outputs(call *hot.Expr, s *program.Stack, among func(output string) bool, path []value.Value) *Path {
	for _, o := range s.Template.Outputs {
		if !among(o.Name) {
			continue
		}
		if found := f.through(station{stack: s, name: "//" + o.Name}, call, s, s.Template.Expr(o.Value), path, fmt.Sprintf("through output %q of the stack %q", o.Name, s.Path)); found != nil {
			return found
		}
	}
	return nil
}

func (f *Finder) output(call *hot.Expr, o *program.Output, path []value.Value) *Path {
	if o == nil {
		return nil
	}
	if origin := (Origin{Stack: o.Role.Stack, Output: o}); f.Wanted(origin) {
		return &Path{At: call.At, Origin: origin}
	}
	if o.Value == nil {
		return nil
	}
	return f.through(station{output: o}, call, o.Role.Stack, o.Value, path, fmt.Sprintf("through output %q of role %s", o.Name, o.Role.Key()))
}

// through continues from a named value. A value that depends on itself ends the path.
func (f *Finder) through(at station, call *hot.Expr, s *program.Stack, e *hot.Expr, path []value.Value, how string) *Path {
	if len(f.known) > maxParts || len(path) > maxPath {
		path = nil
	}
	at.part = string(value.EncodeJSON(path))
	behind, looked := f.known[at]
	if !looked {
		f.known[at] = nil
		behind = f.part(s, e, path)
		f.known[at] = behind
	}
	if behind == nil {
		return nil
	}
	return &Path{At: call.At, Origin: behind.Origin, Via: behind.Via, Hops: append([]source.Note{{At: behind.At, Message: how}}, behind.Hops...)}
}
