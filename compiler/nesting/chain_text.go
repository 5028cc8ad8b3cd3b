package nesting

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// chainText is what is known of a chain whose template is written.
type chainText struct {
	*loader
	stack      *program.Stack
	resource   *hot.Resource
	types      []string
	templates  []*hot.Template // of the members, nil for a real type
	properties *hot.Entry      // nil if there are none
	concurrent bool
}

// read finds out what has to be known of a chain with roles, and pins it.
func (x *chainText) read(registry *environment.Registry) bool {
	s, r := x.stack, x.resource
	list := r.Property("resources")
	x.fixed(s, list)
	types, _ := x.peek(s, list).([]hot.Value)
	if s.Template.Version.CFN() {
		x.diags.Error(source.NotYet, s.Place(r.Entry.Key), fmt.Sprintf("the chain %q has servers with roles, which hotc compiles in templates of HOT only: the client sends no file that a CloudFormation template names", r.Name),
			"make the chain in a nested template of its own")
		return false
	}
	for i, v := range types {
		name, _ := v.(string)
		t, err := registry.Resolve(name, strconv.Itoa(i))
		if err != nil {
			x.diags.Error(source.BadEnvironment, s.Place(list), err.Error(), "")
			return false
		}
		if environment.IsTemplate(name) {
			x.diags.Error(source.NotYet, s.Place(list), fmt.Sprintf("the client does not send %s, which the chain %q has as its member %d: Heat's chains take types, not files", name, r.Name, i),
				"map a type of your own to it, in the resource_registry of an environment")
			return false
		}
		var template *hot.Template
		if t.File != "" {
			if template = x.template(filepath.Clean(t.File), s.Place(list), t); template == nil {
				return false
			}
		}
		x.types, x.templates = append(x.types, name), append(x.templates, template)
	}
	return x.readConcurrent() && x.readProperties()
}

func (x *chainText) readConcurrent() bool {
	n := x.resource.Property("concurrent")
	if n.IsNull() {
		return true
	}
	var ok bool
	v, err := (&hot.Parameter{Type: "boolean"}).Cast(x.peek(x.stack, n))
	if x.concurrent, ok = v.(bool); err != nil || !ok || !x.fixed(x.stack, n) {
		x.diags.Error(source.NotYet, x.stack.Place(n), fmt.Sprintf("the chain %q has servers with roles, and whether they are made one after the other is left to Heat, which hotc does not compile yet", x.resource.Name),
			"give the parameter when compiling, or write the value out")
		return false
	}
	return true
}

func (x *chainText) readProperties() bool {
	if x.resource.Property(ChainProperties).IsNull() {
		return true
	}
	x.properties = x.resource.Properties.Value.Entry(ChainProperties)
	n := x.properties.Value
	call, _ := x.stack.Template.CallOf(n)
	if n.Kind == hot.Map && call == "" {
		return !slices.ContainsFunc(n.Entries, x.takenOtherwise)
	}
	x.diags.Error(source.NotYet, x.stack.Place(n), fmt.Sprintf("the chain %q has servers with roles, and hotc must see one by one what it hands to them", x.resource.Name),
		"write a map of properties, whose values may be functions")
	return false
}

// takenOtherwise refuses a property that members take in forms that no parameter carries.
func (x *chainText) takenOtherwise(e hot.Entry) bool {
	taken := x.taken(e.Name)
	kinds := map[string]bool{}
	for _, p := range taken {
		kinds[p.Type] = true
	}
	if len(kinds) < 2 || !kinds["json"] && !kinds["comma_delimited_list"] {
		return false
	}
	d := x.diags.Error(source.NotYet, x.stack.Place(e.Key), fmt.Sprintf("members of the chain %q take %q as %s, which hotc cannot hand to all of them yet", x.resource.Name, e.Name, strings.Join(slices.Sorted(maps.Keys(kinds)), " and as ")),
		"declare the parameter with one type in all of them")
	for i, p := range taken {
		if i == 0 || p.Type != taken[i-1].Type {
			d.Notes = append(d.Notes, source.Note{At: p.at, Message: "a " + p.Type})
		}
	}
	return true
}

// text is the template, and what of the user's its parts stand for.
func (x *chainText) text() (string, []source.Origin) {
	var w chainWriter
	place := x.stack.Place
	list := place(x.resource.Property("resources"))
	fmt.Fprintf(&w, "heat_template_version: %s\ndescription: %s\n", hot.MemberVersion, hot.FlowString("Written by hotc. The members of the chain "+x.resource.Name+"."))
	var properties []hot.Entry
	if x.properties != nil {
		properties = x.properties.Value.Entries
	}
	if len(properties) > 0 {
		w.WriteString("parameters:\n")
	}
	for _, e := range properties {
		w.write(place(e.Key), "  %s: %s\n", hot.FlowString(e.Name), hot.FlowText(x.parameter(e.Name)))
	}
	w.WriteString("resources:\n")
	for i, t := range x.types {
		w.write(list, "  '%d':\n    type: %s\n", i, hot.FlowString(t))
		if i > 0 && !x.concurrent {
			w.write(list, "    depends_on: ['%d']\n", i-1)
		}
		if len(properties) > 0 {
			w.WriteString("    properties:\n")
		}
		for _, e := range properties {
			w.write(place(e.Key), "      %s:", hot.FlowString(e.Name))
			w.write(place(e.Value), " %s\n", hot.FlowText(call("get_param", e.Name)))
		}
	}
	w.WriteString("outputs:\n")
	for _, o := range x.outputs() {
		w.write(o.at, "  %s: {value: %s}\n", hot.FlowString(o.name), hot.FlowText(o.value))
	}
	return w.String(), w.origins
}

// chainWriter writes a text whose parts stand for others.
type chainWriter struct {
	strings.Builder
	origins []source.Origin
}

func (w *chainWriter) write(of source.Place, format string, args ...any) {
	start := uint32(w.Len())
	fmt.Fprintf(w, format, args...)
	w.origins = append(w.origins, source.Origin{Part: source.Span{Start: start, End: uint32(w.Len())}, Of: of})
}

func call(function string, argument hot.Value) *hot.Dict {
	d := hot.NewDict()
	d.Set(function, argument)
	return d
}

// parameter declares a property that all members get: as they do, if they agree. A text
// carries what some take as a number or a boolean.
func (x *chainText) parameter(name string) *hot.Dict {
	taken := x.taken(name)
	kind := "json" // of types that say themselves what they make of it
	if len(taken) > 0 {
		kind = taken[0].Type
	}
	alike := true
	for _, p := range taken {
		if p.Type != kind {
			kind, alike = "string", false
		}
	}
	d := call("type", kind)
	if slices.ContainsFunc(taken, func(p memberParameter) bool { return p.Hidden }) {
		d.Set("hidden", true)
	}
	if !alike {
		return d
	}
	if v := preset(taken); v != nil {
		d.Set("default", v)
	}
	if c := constraints(taken); len(c) > 0 {
		d.Set("constraints", c)
	}
	return d
}

// taken are the parameters that get a property.
func (x *chainText) taken(name string) []memberParameter {
	var out []memberParameter
	for _, t := range x.templates {
		if t == nil {
			continue
		}
		if p := t.Parameter(name); p != nil {
			out = append(out, memberParameter{p, t.Place(p.Entry.Key)})
		}
	}
	return out
}

// memberParameter is a member's parameter.
type memberParameter struct {
	*hot.Parameter
	at source.Place
}

// preset is the default that all of some parameters have, nil if there is none.
func preset(of []memberParameter) hot.Value {
	var v hot.Value
	for _, p := range of {
		if p.Default == nil || v != nil && !hot.Equal(v, p.Default.Data()) {
			return nil
		}
		v = p.Default.Data()
	}
	return v
}

// constraints are all of some parameters', so that what stands in a role's value's place
// suits each of them.
func constraints(of []memberParameter) []hot.Value {
	var out []hot.Value
	for _, p := range of {
		if c := p.Entry.Value.Get("constraints"); c != nil {
			list, _ := c.Data().([]hot.Value)
			for _, v := range list {
				if !slices.ContainsFunc(out, func(x hot.Value) bool { return hot.Equal(x, v) }) {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// chainOutput is an output of the template.
type chainOutput struct {
	name  string
	value hot.Value
	at    source.Place // where it is read
}

// outputs are what the template around reads through the chain, but for what a member
// has not, of which the reader is told. By the first it is referred to as the chain would
// be, by the id of its stack.
func (x *chainText) outputs() []chainOutput {
	out := []chainOutput{{"OS::stack_id", call("get_param", "OS::stack_id"), x.stack.Place(x.resource.Entry.Key)}}
	for _, r := range x.reads() {
		name, _ := program.ChainOutput(x.stack.Template.Version, r.path[0].(string), r.path[1:])
		v := x.output(x.stack.Template.Version, r.path)
		if v == nil || !x.allHave(r.path) || slices.ContainsFunc(out, func(o chainOutput) bool { return o.name == name }) {
			continue
		}
		out = append(out, chainOutput{name, v, r.at})
	}
	return out
}

// allHave says whether each member that is a template has the output that a path is about.
func (x *chainText) allHave(path []hot.Value) bool {
	if path[0] == "attributes" {
		path = path[1:]
	}
	name, _ := path[0].(string)
	if name == "refs" || name == "show" || name == "OS::stack_id" || strings.HasPrefix(name, "resource.") {
		return true
	}
	return !slices.ContainsFunc(x.templates, func(t *hot.Template) bool { return t != nil && t.Output(name) == nil })
}

// output is the value of one (resource_chain.py, _nested_output_defns).
func (x *chainText) output(version hot.Version, path []hot.Value) hot.Value {
	if version <= hot.V20130523 {
		path = path[:1]
	}
	attribute := func(i int, path []hot.Value) hot.Value {
		return call("get_attr", append([]hot.Value{strconv.Itoa(i)}, path...))
	}
	var list []hot.Value
	members := hot.NewDict()
	for i := range x.types {
		switch {
		case path[0] == "refs":
			list = append(list, call("get_resource", strconv.Itoa(i)))
		case path[0] != "attributes":
			list = append(list, attribute(i, path))
		case len(path) > 1:
			members.Set(strconv.Itoa(i), attribute(i, path[1:]))
		}
	}
	switch {
	case path[0] != "attributes":
		return list
	case len(path) > 1:
		return members
	}
	return nil // Heat says that a name is missing
}

// chainRead is a path by which attributes of the chain are read.
type chainRead struct {
	path []hot.Value
	at   source.Place
}

// reads are what the template around reads, each path once. Where a name is computed,
// every output that all members have may be meant.
func (x *chainText) reads() []chainRead {
	var out, computed []chainRead
	seen := map[string]bool{}
	add := func(r chainRead) {
		key := string(hot.EncodeJSON(r.path))
		if name, ok := r.path[0].(string); ok && !seen[key] && name != "show" && !strings.HasPrefix(name, "resource.") {
			seen[key] = true
			out = append(out, r)
		}
	}
	var visit func(n *hot.Node)
	visit = func(n *hot.Node) {
		if meaning, arg := x.stack.Template.CallOf(n); meaning == "get_attr" && len(arg.Items) > 1 {
			if name, _ := arg.Items[0].Text(); name == x.resource.Name {
				r := chainRead{at: x.stack.Place(n)}
				if path, ok := written(arg.Items[1:]); ok {
					r.path = path
					add(r)
				} else {
					computed = append(computed, r)
				}
			}
		}
		for _, item := range n.Items {
			visit(item)
		}
		for _, e := range n.Entries {
			visit(e.Value)
		}
	}
	visit(x.stack.Template.Root)
	if len(computed) > 0 {
		for _, name := range x.common() {
			add(chainRead{[]hot.Value{name}, computed[0].at})
		}
	}
	return out
}

// written is a path that is written out.
func written(nodes []*hot.Node) (path []hot.Value, ok bool) {
	for _, n := range nodes {
		if n.Kind != hot.Scalar || n.IsNull() {
			return nil, false
		}
		path = append(path, n.Value)
	}
	return path, true
}

// common are the outputs that all members have.
func (x *chainText) common() []string {
	count := map[string]int{}
	for _, t := range x.templates {
		if t == nil {
			return nil
		}
		for _, o := range t.Outputs {
			count[o.Name]++
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n < len(x.templates) })
	return slices.Sorted(maps.Keys(count))
}
