package hot

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Template is a HOT template: its text, and what stands in its sections.
type Template struct {
	File       *source.File
	Root       *Node
	Version    Version
	Functions  Table
	Parameters []*Parameter
	Conditions []*Condition
	Resources  []*Resource
	Outputs    []*Output

	parameters map[string]*Parameter
	resources  map[string]*Resource
}

// Resource is a resource of the template.
type Resource struct {
	Name       string
	Entry      *Entry
	Type       string
	Properties *Entry // nil if there are none
	Metadata   *Entry
	DependsOn  *Entry
	Condition  *Entry
}

// Output is an output of the stack.
type Output struct {
	Name      string
	Entry     *Entry
	Value     *Node
	Condition *Entry
}

// Parameter finds a parameter by name.
func (t *Template) Parameter(name string) *Parameter { return t.parameters[name] }

// Resource finds a resource by name.
func (t *Template) Resource(name string) *Resource { return t.resources[name] }

// Place is where a node stands.
func (t *Template) Place(n *Node) source.Place { return source.Place{File: t.File, Span: n.Span} }

// Expr reads a node as an expression of this template.
func (t *Template) Expr(n *Node) *Expr { return NewExpr(t.File, n, t.Functions) }

// sections are the top-level keys of HOT (heat/engine/hot/template.py, SECTIONS).
var sections = map[string]Version{"heat_template_version": V20130523, "description": V20130523,
	"parameter_groups": V20130523, "parameters": V20130523, "resources": V20130523, "outputs": V20130523,
	"conditions": V20161014}

// ParseTemplate reads a template. It returns nil if the text cannot be read; with
// errors in a section it goes on, to find them all.
func ParseTemplate(file *source.File, diags *source.Diagnostics) *Template {
	root := Parse(file, diags)
	if root == nil {
		return nil
	}
	t := &Template{File: file, Root: root, parameters: map[string]*Parameter{}, resources: map[string]*Resource{}}
	if root.Kind != Map {
		diags.Error(source.NotATemplate, t.Place(root), "a template is a map of sections, this is "+root.Kind.String(),
			"begin it with `heat_template_version: 2018-08-31`")
		return nil
	}
	if !t.readVersion(diags) {
		return nil
	}
	t.Functions = t.Version.Functions()
	t.Functions.names = &names{conditions: map[string]*Expr{}, isResource: t.hasResource}
	for _, e := range root.Entries {
		if first, ok := sections[e.Name]; !ok || first > t.Version {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("%q is no section of a template of version %s", e.Name, t.Version), "")
		}
	}
	t.readParameters(diags)
	t.readConditions(diags)
	t.readResources(diags)
	t.readOutputs(diags)
	t.CheckFunctions(diags)
	return t
}

func (t *Template) readVersion(diags *source.Diagnostics) bool {
	n := t.Root.Get("heat_template_version")
	if n == nil {
		d := diags.Error(source.NotATemplate, source.Place{File: t.File, Span: source.Span{}}, "there is no heat_template_version",
			"begin the template with `heat_template_version: 2018-08-31`")
		if t.Root.Get("AWSTemplateFormatVersion") != nil || t.Root.Get("HeatTemplateFormatVersion") != nil {
			d.Code, d.Message, d.Hint = source.NotYet, "CloudFormation templates are not read yet", "write it in HOT"
		}
		return false
	}
	text, _ := n.Text()
	v, ok := ParseVersion(text)
	if !ok {
		diags.Error(source.UnknownVersion, t.Place(n), fmt.Sprintf("unknown heat_template_version %s", strings.TrimSpace(t.File.Slice(n.Span))),
			"the versions are "+strings.Join(versionNames[:], ", ")+" and the releases' names from newton on")
	}
	t.Version = v
	return ok
}

// section gives the entries of a section that must be a map of maps.
func (t *Template) section(name string, diags *source.Diagnostics) []Entry {
	n := t.Root.Get(name)
	if n.IsNull() {
		return nil
	}
	if n.Kind != Map {
		diags.Error(source.BadSection, t.Place(n), name+" must be a map, not "+n.Kind.String(), "")
		return nil
	}
	out := make([]Entry, 0, len(n.Entries))
	for _, e := range n.Entries {
		if e.Value.Kind != Map {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("%s: %q must be a map, not %s", name, e.Name, e.Value.Kind), "")
			continue
		}
		out = append(out, e)
	}
	return out
}

func (t *Template) readResources(diags *source.Diagnostics) {
	for _, e := range t.section("resources", diags) {
		r := &Resource{Name: e.Name, Entry: &e, Properties: e.Value.Entry("properties"), Metadata: e.Value.Entry("metadata"),
			DependsOn: e.Value.Entry("depends_on"), Condition: e.Value.Entry("condition")}
		t.checkKeys("a resource", e, resourceKeys, diags)
		r.Type, _ = e.Value.Get("type").Text()
		if r.Type == "" {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("resource %q has no type", e.Name), "for a server: `type: OS::Nova::Server`")
		}
		if strings.Contains(r.Name, "/") {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("the resource name %q has a slash, which Heat refuses", e.Name), "")
		}
		t.Resources = append(t.Resources, r)
		t.resources[r.Name] = r
	}
}

// The keys of a resource and of an output, and the versions that have them.
var (
	resourceKeys = map[string]Version{"type": V20130523, "properties": V20130523, "metadata": V20130523,
		"depends_on": V20130523, "deletion_policy": V20130523, "update_policy": V20130523, "description": V20130523,
		"external_id": V20161014, "condition": V20161014}
	outputKeys = map[string]Version{"description": V20130523, "value": V20130523, "condition": V20161014}
)

// checkKeys says which keys Heat refuses.
func (t *Template) checkKeys(of string, e Entry, known map[string]Version, diags *source.Diagnostics) {
	for _, k := range e.Value.Entries {
		if first, ok := known[k.Name]; !ok {
			diags.Error(source.BadSection, t.Place(k.Key), fmt.Sprintf("%q: %q is no key of %s", e.Name, k.Name, of), "")
		} else if first > t.Version {
			diags.Error(source.BadSection, t.Place(k.Key), fmt.Sprintf("%q: the key %q of %s exists from version %s on", e.Name, k.Name, of, first), "")
		}
	}
}

func (t *Template) hasResource(name string) bool { return t.resources[name] != nil }

func (t *Template) readOutputs(diags *source.Diagnostics) {
	for _, e := range t.section("outputs", diags) {
		t.checkKeys("an output", e, outputKeys, diags)
		o := &Output{Name: e.Name, Entry: &e, Value: e.Value.Get("value"), Condition: e.Value.Entry("condition")}
		if o.Value == nil {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("output %q has no value", e.Name), "")
			continue
		}
		t.Outputs = append(t.Outputs, o)
	}
}

// MetadataEntry finds a key in the resource's metadata.
func (r *Resource) MetadataEntry(key string) *Entry {
	if r.Metadata == nil {
		return nil
	}
	return r.Metadata.Value.Entry(key)
}

// Property finds a property's value.
func (r *Resource) Property(name string) *Node {
	if r.Properties == nil {
		return nil
	}
	return r.Properties.Value.Get(name)
}
