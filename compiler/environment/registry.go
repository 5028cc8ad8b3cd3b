package environment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Registry says what resource types stand for (heat/engine/environment.py,
// ResourceRegistry): for all resources, and for resources of one name. It is never
// changed once made; nested stacks get one of their own.
type Registry struct {
	types     []*mapping // in the order of their patterns
	resources []named
}

// mapping is one entry: a type, or types with a beginning if it ends in *.
type mapping struct {
	pattern string
	value   string
	file    string // where the template lies, if it is one
	at      source.Place
}

// named are the entries for resources of a name, or of names like a pattern.
type named struct {
	pattern string
	*Registry
}

// Type is what a type stands for.
type Type struct {
	Name string // of a real type, or the file's name as it was written
	// File is where the template lies; "" for a real type.
	File string
	At   source.Place // of the mapping; unknown if the type is what the template says
	via  *mapping
}

// IsTemplate says whether the name of a type is a file's
// (heat/engine/environment.py, ResourceInfo).
func IsTemplate(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".template")
}

var hooks = []string{"pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete"}
var restrictedActions = []string{"update", "replace"}

type registryReader struct {
	file  *File
	diags *source.Diagnostics
}

// newRegistry merges the files' registries: each key is that of the last file that
// has it, except that the engine takes `resources` as a whole.
func newRegistry(files []*File, diags *source.Diagnostics) *Registry {
	r := &Registry{}
	for _, f := range files {
		n := f.section("resource_registry")
		if n == nil {
			continue
		}
		reader := &registryReader{file: f, diags: diags}
		from := reader.registry(n, f.Dir, 0)
		for _, m := range from.types {
			r.types = slices.DeleteFunc(r.types, func(x *mapping) bool { return x.pattern == m.pattern })
			r.types = append(r.types, m)
		}
		if n.Get("resources") != nil {
			r.resources = from.resources
		}
	}
	r.sort()
	return r
}

// sort puts the entries in the order in which Heat tries them: that of their
// names (ResourceInfo.__lt__).
func (r *Registry) sort() {
	slices.SortStableFunc(r.types, func(a, b *mapping) int { return strings.Compare(a.pattern, b.pattern) })
}

// registry reads a level: the top, the resources of a name (depth 1), what is below
// these. The client reads files for the first two only.
func (r *registryReader) registry(n *yaml.Node, dir string, depth int) *Registry {
	out := &Registry{}
	if base, ok := n.Get("base_url").Text(); ok {
		located, err := source.Locate(base, dir)
		if err != nil {
			r.located(err, n.Get("base_url"))
		} else {
			dir = located
		}
	}
	for _, e := range n.Entries {
		switch {
		case e.Name == "base_url":
		case e.Name == "hooks":
			r.words(e, "hook", hooks)
		case e.Name == "restricted_actions":
			r.words(e, "restricted action", restrictedActions)
		case e.Name == "resources" && depth == 0:
			for _, x := range e.Value.All() {
				if x.Value.Kind != yaml.Map {
					r.bad(x.Value, fmt.Sprintf("resources: %q must be a map, not %s", x.Name, x.Value.Kind), "")
					continue
				}
				out.resources = append(out.resources, named{x.Name, r.registry(x.Value, dir, 1)})
			}
		case e.Value.Kind == yaml.Map && depth > 0:
			out.resources = append(out.resources, named{e.Name, r.registry(e.Value, dir, depth+1)})
		case e.Value.Kind != yaml.Scalar:
			r.bad(e.Value, fmt.Sprintf("%q must be mapped to a type or to a template's file, not to %s", e.Name, e.Value.Kind), "")
		default:
			if m := r.mapping(e, dir, depth); m != nil {
				out.types = append(out.types, m)
			}
		}
	}
	out.sort()
	return out
}

func (r *registryReader) mapping(e yaml.Entry, dir string, depth int) *mapping {
	value, ok := e.Value.Text()
	if !ok || value == "" {
		r.bad(e.Value, fmt.Sprintf("%q must be mapped to a type or to a template's file", e.Name), "to leave resources of a type out: OS::Heat::None")
		return nil
	}
	m := &mapping{pattern: e.Name, value: value, at: r.file.Place(e.Value)}
	switch template := IsTemplate(value); {
	case strings.Contains(value, "::"): // the client reads no file then
		return m
	case template && source.IsRemote(value): // whoever uses the type reports that it is not looked into
		return m
	case !template:
		r.bad(e.Value, fmt.Sprintf("%q is neither a type (with ::) nor the file of a template (.yaml or .template)", value), "")
		return nil
	case depth > 1:
		r.bad(e.Value, fmt.Sprintf("the client does not read %s: it looks for files only two levels deep", value), "name a type here that is mapped to the file at the top")
		return nil
	}
	file, err := source.Locate(value, dir)
	if err != nil {
		r.located(err, e.Value)
		return nil
	}
	m.file = file
	r.file.Named = append(r.file.Named, Named{Node: e.Value, Path: file})
	return m
}

func (r *registryReader) bad(n *yaml.Node, message, hint string) {
	r.diags.Error(source.BadEnvironment, r.file.Place(n), message, hint)
}

func (r *registryReader) located(err error, n *yaml.Node) { r.diags.AddAt(r.file.Place(n), err, true) }

// words checks hooks and restricted actions: one word or a list.
func (r *registryReader) words(e yaml.Entry, what string, known []string) {
	for _, x := range e.Value.OneOrMore() {
		if word, ok := x.Text(); !ok || !slices.Contains(known, word) {
			r.bad(x, fmt.Sprintf("there is no %s %s", what, value.EncodeJSON(x.Data())), "one of "+strings.Join(known, ", "))
		}
	}
}

// Resolve finds what a type stands for, for a resource of that name. A type that
// nothing maps stands for itself. The error says why there is nothing.
func (r *Registry) Resolve(typeName, resource string) (Type, error) {
	if r == nil || len(r.types) == 0 && len(r.resources) == 0 {
		return Type{Name: typeName}, nil
	}
	t, _, circular := r.resolve(typeName, resource, nil)
	if circular {
		return Type{}, fmt.Errorf("the type %s is mapped to itself", typeName)
	}
	return t, nil
}

// resolve is get_resource_info: of the mappings that fit it takes the first that
// leads to something. Only Heat knows all types that there are; those of OpenStack
// and of AWS count as such.
func (r *Registry) resolve(typeName, resource string, through []string) (found Type, exists, circular bool) {
	if slices.Contains(through, typeName) {
		return Type{}, false, true
	}
	through = append(through, typeName)
	found = Type{Name: typeName}
	for i, m := range r.matching(typeName, resource) {
		t := Type{Name: m.value, File: m.file, At: m.at, via: m}
		if m.file != "" {
			return t, true, false
		}
		name := m.value
		if strings.HasSuffix(m.pattern, "*") && strings.HasSuffix(name, "*") {
			name = strings.TrimSuffix(name, "*") + strings.TrimPrefix(typeName, strings.TrimSuffix(m.pattern, "*"))
		}
		t, exists, circular = r.resolve(name, resource, through)
		if exists && !t.At.Known() {
			t.At = m.at
		}
		if exists || circular {
			return t, exists, circular
		}
		if i == 0 {
			found = t // that nothing is found is Heat's to say
		}
	}
	if isReal(typeName) {
		return Type{Name: typeName}, true, false
	}
	return found, false, false
}

// isReal says whether a type is one that Heat has itself, as far as its name tells.
func isReal(name string) bool {
	return (strings.HasPrefix(name, "OS::") || strings.HasPrefix(name, "AWS::")) && !strings.HasSuffix(name, "*")
}

// matching is iterable_by with what sorts its results: a mapping for the resource
// comes first, then patterns and types in the order of their names. A pattern cannot
// stand for a file.
func (r *Registry) matching(typeName, resource string) []*mapping {
	var out []*mapping
	for _, x := range r.resources {
		if x.pattern == resource {
			out = append(out, lists.Only(x.types, func(m *mapping) bool { return m.pattern == typeName })...)
		}
	}
	for _, m := range r.types {
		before, isPattern := strings.CutSuffix(m.pattern, "*")
		if m.pattern == typeName || isPattern && m.file == "" && m.value != typeName && strings.HasPrefix(typeName, before) {
			out = append(out, m)
		}
	}
	return out
}

// Types are the names that are mapped to templates, in their order.
func (r *Registry) Types() []string {
	var out []string
	if r == nil {
		return nil
	}
	for _, m := range r.types {
		if m.file != "" {
			out = append(out, m.pattern)
		}
	}
	out = append(out, lists.Flat(r.resources, func(x named) []string { return x.Types() })...)
	slices.Sort(out)
	return slices.Compact(out)
}

// Child is the registry of the stack that a resource stands for: without the
// mapping that led to it, so that a template can use the type that it stands for,
// and with what was said for the resource by name (get_child_environment).
func (r *Registry) Child(resource string, of Type) *Registry {
	if r == nil || len(r.types) == 0 && len(r.resources) == 0 {
		return nil
	}
	out := &Registry{types: r.types}
	if of.via != nil && of.via.file != "" && slices.Contains(r.types, of.via) {
		out.types = slices.DeleteFunc(slices.Clone(r.types), func(m *mapping) bool { return m == of.via })
	}
	for _, x := range r.resources {
		if x.pattern == resource || like(x.pattern, resource) {
			out.resources = append(out.resources, x.resources...)
		}
	}
	return out
}

// like is Python's fnmatch, for the patterns that people write.
func like(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, `\`, `\\`), name)
	return ok && err == nil
}
