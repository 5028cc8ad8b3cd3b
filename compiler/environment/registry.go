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

// Registry maps resource types (heat/engine/environment.py, ResourceRegistry), for
// all resources and for resources by name. It is immutable; nested stacks get their
// own.
type Registry struct {
	types     []*mapping // in the order of their patterns
	resources []named
}

// mapping is one entry: of a type, or of all types with a prefix if it ends in *.
type mapping struct {
	pattern string
	value   string
	file    string // of the template, if it is one
	at      source.Place
}

// named are the entries for resources whose name matches a pattern.
type named struct {
	pattern string
	*Registry
}

// Type is what a type resolves to.
type Type struct {
	Name string // of a real type, or the file's name as written
	// File is the path of the template; "" for a real type.
	File string
	At   source.Place // of the mapping; unknown for an unmapped type
	via  *mapping
}

// IsTemplate reports whether the name of a type is a file's
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

// newRegistry merges the files' registries: the last file with a key wins, and
// the engine replaces `resources` as a whole.
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

// sort puts the entries in the order in which Heat matches them: that of their
// names (ResourceInfo.__lt__).
func (r *Registry) sort() {
	slices.SortStableFunc(r.types, func(a, b *mapping) int { return strings.Compare(a.pattern, b.pattern) })
}

// registry reads a level: the top, the resources of a name (depth 1), or below. The
// client reads files only for the first two.
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
		r.bad(e.Value, fmt.Sprintf("%q must be mapped to a type or to a template's file", e.Name), "use OS::Heat::None to omit the resources of a type")
		return nil
	}
	m := &mapping{pattern: e.Name, value: value, at: r.file.Place(e.Value)}
	switch template := IsTemplate(value); {
	case strings.Contains(value, "::"): // the client reads no file then
		return m
	case template && source.IsRemote(value): // reported where the type is used
		return m
	case !template:
		r.bad(e.Value, fmt.Sprintf("%q is neither a type (with ::) nor the file of a template (.yaml or .template)", value), "")
		return nil
	case depth > 1:
		r.bad(e.Value, fmt.Sprintf("Heat's client does not read %s: it reads files only two levels deep", value), "use a type here that is mapped to the file at the top level")
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

// words checks hooks and restricted actions: a word or a list.
func (r *registryReader) words(e yaml.Entry, what string, known []string) {
	for _, x := range e.Value.OneOrMore() {
		if word, ok := x.Text(); !ok || !slices.Contains(known, word) {
			r.bad(x, fmt.Sprintf("unknown %s %s", what, value.EncodeJSON(x.Data())), "use one of "+strings.Join(known, ", "))
		}
	}
}

// Resolve resolves the type of a resource of that name. An unmapped type resolves to
// itself.
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

// resolve is get_resource_info: it takes the first matching mapping that leads to an
// existing type. Only Heat knows all types; those of OpenStack and AWS count as
// existing.
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
			found = t // Heat reports an unknown type
		}
	}
	if isReal(typeName) {
		return Type{Name: typeName}, true, false
	}
	return found, false, false
}

// isReal reports whether a type is probably one of Heat's own, by its name.
func isReal(name string) bool {
	return (strings.HasPrefix(name, "OS::") || strings.HasPrefix(name, "AWS::")) && !strings.HasSuffix(name, "*")
}

// matching is iterable_by with sorted results: mappings for the resource first, then
// patterns and types in the order of their names. A pattern cannot be mapped to a file.
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

// Types are the names that are mapped to templates, sorted.
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

// Child is the registry of a nested stack: without the mapping that led to it, so
// that a template can use the type that it replaces, and with the entries for the
// resource by name (get_child_environment).
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

// like is Python's fnmatch, for the usual patterns.
func like(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, `\`, `\\`), name)
	return ok && err == nil
}
