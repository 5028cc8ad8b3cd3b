package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Checker is what a rule sees: a template, and the stacks that use it.
type Checker struct {
	Program  *program.Program
	Template *hot.Template
	Uses     []*program.Stack
	Types    *resourcetype.Catalogue

	environment *environment.Environment
	shell       func(script string) []Advice
	lint        bool // running as `hotc lint`
	now         time.Time
	rule        *Rule
	diags       *source.Diagnostics
	typed       *typed
	calls       map[*yaml.Node]*call
	whole       []placed // all calls in wholeOf
	wholeOf     *hot.Template
	resources   []*hot.Resource   // the present ones
	near        map[string]string // results of nearFunction

	boot   []*bootText
	booted bool // boot is computed
}

// call is a function call in the template, parsed once for all rules.
type call struct {
	expr *hot.Expr
	ref  hot.Ref
}

func (l *Checker) call(n *yaml.Node) *call {
	c := l.calls[n]
	if c == nil {
		e := l.Template.Expr(n)
		if c = (&call{e, e.Ref()}); l.calls == nil {
			l.calls = map[*yaml.Node]*call{}
		}
		l.calls[n] = c
	}
	return c
}

// Ref is what a call refers to; the zero Ref if the node is not a call.
func (l *Checker) Ref(n *yaml.Node) hot.Ref {
	if n == nil || !l.IsCall(n) {
		return hot.Ref{}
	}
	if r, is := l.Template.NamedAt(n); is {
		return r
	}
	return l.call(n).ref
}

// Report adds a finding of the rule, unless the place has an error already.
func (l *Checker) Report(at source.Spanned, message, hint string) *source.Diagnostic {
	return l.ReportAt(l.Template.Place(at), message, hint)
}

// ReportType is Report for what a type's table says about a known value. It is an error where
// the table is certainly that of the cloud: the user named its release, or the type comes
// from the cloud itself.
func (l *Checker) ReportType(t *resourcetype.Type, at source.Spanned, message string, k Known) *source.Diagnostic {
	severity := l.rule.Severity
	if k.If == "" && (l.Types.Named() || t.Own != "") {
		severity = source.Error
	}
	return l.report(severity, l.Template.Place(at), when(message, k), "")
}

// ReportProperty is ReportType for what is wrong with some of a resource's properties.
func (l *Checker) ReportProperty(b *Block, names []string, at source.Spanned, message string, k Known) *source.Diagnostic {
	d := l.ReportType(b.Type, at, message, k)
	d.Refused = k.If == "" && l.refused(b, names)
	return d
}

// refused reports whether the stock Heat of every release checks some properties of a resource, when it is given the
// template, as the type's table here says. A nested template it checks with what it gets there, and a property with
// what is not known yet only later (heat: engine/properties.py, _find_deps_any_in_init).
func (l *Checker) refused(b *Block, names []string) bool {
	r := b.Resource
	path, _, _ := strings.Cut(b.Path, ".")
	if path != "" {
		names = []string{path}
	}
	return l.always(r) && path != "update_policy" && b.Type.Name != "OS::Senlin::Cluster" && // its validate looks at nothing
		!slices.ContainsFunc(names, func(name string) bool {
			return resourcetype.Varies(b.Type.Name, name) || r.Properties != nil && slices.ContainsFunc(l.callsIn(r.Properties.Value.Get(name)), func(c placed) bool {
				return c.ref.Kind == hot.ToResource || c.ref.Kind == hot.ToAttribute
			})
		})
}

// always reports whether a definition is that of a resource of the template, which every use of it has. A nested
// template is used as others say.
func (l *Checker) always(r *hot.Resource) bool {
	return r.Condition == nil && l.Template.Resource(r.Name) == r && !slices.ContainsFunc(l.Uses, func(s *program.Stack) bool { return s.StackResource != nil })
}

// ReportAt is Report in any file.
func (l *Checker) ReportAt(at source.Place, message, hint string) *source.Diagnostic {
	return l.report(l.rule.Severity, at, message, hint)
}

func (l *Checker) report(severity source.Severity, at source.Place, message, hint string) *source.Diagnostic {
	d := &source.Diagnostic{Code: l.rule.Code, Severity: severity, At: at, Message: message, Hint: hint}
	if !l.diags.FailedAt(d.At) {
		l.diags.Add(d)
	}
	return d
}

// Note adds a place that explains a finding.
func (l *Checker) Note(d *source.Diagnostic, at source.Spanned, message string) {
	d.Note(l.Template.Place(at), message)
}

// Resources visits those that are present in some use of the template and that Heat creates:
// not those with an external_id.
func (l *Checker) Resources(yield func(*hot.Resource) bool) {
	if l.resources == nil {
		l.resources = slices.DeleteFunc(slices.Clone(l.Template.Resources), func(r *hot.Resource) bool {
			return l.Use(r.Name) == nil || r.Entry.Value.Get("external_id") != nil
		})
	}
	for _, r := range l.resources {
		if !yield(r) {
			return
		}
	}
}

// present is a resource that is present in some use of the template, and its type; nil if it
// is present in none.
func (l *Checker) present(name string) (r *hot.Resource, kind string) {
	if r = l.Template.Resource(name); r != nil {
		if s := l.Use(name); s != nil {
			return r, s.Type(r)
		}
	}
	return nil, ""
}

// nested says whether the template is nested in another one.
func (l *Checker) nested() bool { return l.Uses[0].StackResource != nil }

// Use is a stack in which a resource is present; nil if there is none.
func (l *Checker) Use(resource string) *program.Stack {
	return lists.Find(l.Uses, func(s *program.Stack) bool { return !s.Absent(resource) })
}

// Known is a value that is known before the stack is created.
type Known struct {
	Value value.Value
	// If is the assumption behind it, "" if none: "the parameter x is left to its default".
	If string
}

// maxUses bounds how many uses of a template are searched for values.
const maxUses = 16

// Values are the distinct known values that a node has in the uses of the template; without
// any function, the literal one.
func (l *Checker) Values(n *yaml.Node) []Known { return l.appendValues(nil, n) }

func (l *Checker) appendValues(out []Known, n *yaml.Node) []Known {
	if !l.computed(n) {
		return append(out, Known{Value: n.Data()})
	}
	if r := l.Ref(n); (r.Kind == hot.ToResource || r.Kind == hot.ToAttribute) && !r.Computed {
		return nil // like most calls
	}
	for _, s := range l.Uses[:min(len(l.Uses), maxUses)] {
		k := Known{}
		var known bool
		if k.Value, known = l.valueIn(s, n, &k); !known || k.If != "" && l.offByDefault(n, s) {
			continue
		}
		if !slices.ContainsFunc(out, func(o Known) bool { return value.Equal(o.Value, k.Value) }) {
			out = append(out, k)
		}
	}
	return out
}

// valueIn is the value of a call in one use of the template. Its errors are reported
// elsewhere.
func (l *Checker) valueIn(s *program.Stack, n *yaml.Node, k *Known) (v value.Value, known bool) {
	if r, is := l.Template.NamedAt(n); is && r.Kind == hot.ToParameter {
		return l.parameter(s, r, k)
	}
	folded, err := hot.Fold(l.call(n).expr, func(call *hot.Expr) (*hot.Expr, error) { return l.supplied(s, call, k) })
	if err != nil || !folded.IsValue() {
		return nil, false
	}
	return folded.Value, true
}

// offByDefault says whether a node is in a resource that is absent if all parameters
// are left to their defaults: then a default is not a value of the node.
func (l *Checker) offByDefault(n *yaml.Node, s *program.Stack) bool {
	r := lists.Find(l.Template.Resources, func(r *hot.Resource) bool { return r.Entry.Value.Span.Contains(n.Span) })
	if r == nil || r.Condition == nil {
		return false
	}
	folded, err := hot.Fold(l.Template.Enabled(r.Condition), func(call *hot.Expr) (*hot.Expr, error) { return l.supplied(s, call, &Known{}) })
	return err == nil && folded.IsValue() && folded.Value == false
}

// Value is the value that a node has in all uses of the template; false if it is unknown, or
// differs.
func (l *Checker) Value(n *yaml.Node) (Known, bool) {
	if values := l.Values(n); len(values) == 1 {
		return values[0], true
	}
	return Known{}, false
}

// Number is the integer that a node has in all uses of the template, if it is known.
func (l *Checker) Number(n *yaml.Node) (number int64, k Known, known bool) {
	if n.IsNull() {
		return 0, k, false
	}
	k, known = l.Value(n)
	whole, isWhole := value.Integer(k.Value)
	number, is := whole.(int64)
	return number, k, known && isWhole && is
}

// supplied resolves a reference in a use of the template as far as it is known. Files are not
// read: they are large, and no property's value.
func (l *Checker) supplied(s *program.Stack, call *hot.Expr, k *Known) (*hot.Expr, error) {
	if r := call.Ref(); r.Kind == hot.ToParameter && !r.Computed {
		if v, known := l.parameter(s, r, k); known {
			return hot.Constant(v, call.At), nil
		}
	}
	return call, nil
}

// parameter is the known value of a reference to a parameter in a use of the template, the
// default included, unless the enclosing stack passes a value.
func (l *Checker) parameter(s *program.Stack, r hot.Ref, k *Known) (v value.Value, known bool) {
	if v, known := s.Supplied.Parameters[r.Name]; known {
		return hot.SelectParam(v, r.Path), true
	}
	p := l.Template.Parameter(r.Name)
	if p == nil || p.Default == nil || p.Hidden || s.Arguments[r.Name] != nil {
		return nil, false
	}
	v, err := p.Cast(p.Default.Data())
	if err != nil { // reported where the parameter is declared
		return nil, false
	}
	k.If = fmt.Sprintf("the parameter %q is left to its default", r.Name)
	return hot.SelectParam(v, r.Path), true
}

// computed says whether a node contains a function call.
func (l *Checker) computed(n *yaml.Node) bool {
	for range l.Template.Calls(n) {
		return true
	}
	return false
}

// mayBeNull says whether a node may be null.
func (l *Checker) mayBeNull(n *yaml.Node) bool {
	if n.IsNull() || !l.IsCall(n) {
		return n.IsNull()
	}
	switch r := l.Ref(n); r.Kind {
	case hot.ToResource, hot.ToFile:
		return false
	case hot.ToParameter: // never null
		return len(r.Path) > 0 || r.Computed
	}
	return true
}

// IsCall says whether a node is a function call.
func (l *Checker) IsCall(n *yaml.Node) bool { return l.Template.IsCall(n) }

// when adds the assumption to a message.
func when(message string, k Known) string {
	if k.If != "" {
		message += ", if " + k.If
	}
	return message
}

// meant is a hint that suggests a name.
func meant(near string) string { return fmt.Sprintf("did you mean %q?", near) }

// firstName is the key of a map with one entry; otherwise "".
func firstName(n *yaml.Node) string {
	if n.Kind == yaml.Map && len(n.Entries) == 1 {
		return n.Entries[0].Name
	}
	return ""
}
