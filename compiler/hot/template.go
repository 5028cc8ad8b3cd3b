package hot

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Template is a template in HOT or a CloudFormation format: its text and its
// sections.
type Template struct {
	File       *source.File
	Root       *yaml.Node
	Version    Version
	Functions  Table
	Parameters []*Parameter
	Conditions []*Condition
	Resources  []*Resource
	Outputs    []*Output

	parameters map[string]*Parameter
	resources  map[string]*Resource
	spare      atomic.Pointer[pooledFolder] // for the next Fold
}

// Resource is a resource of the template.
type Resource struct {
	Name       string
	Entry      *yaml.Entry
	Type       string
	TypeNode   *yaml.Node
	Properties *yaml.Entry // nil if there are none
	Metadata   *yaml.Entry
	DependsOn  *yaml.Entry
	Condition  *yaml.Entry
}

// Output is an output of the stack.
type Output struct {
	Name      string
	Entry     *yaml.Entry
	Value     *yaml.Node
	Condition *yaml.Entry
}

// Parameter finds a parameter by name.
func (t *Template) Parameter(name string) *Parameter { return t.parameters[name] }

// Resource finds a resource by name.
func (t *Template) Resource(name string) *Resource { return t.resources[name] }

// Output finds an output by name.
func (t *Template) Output(name string) *Output {
	return lists.Find(t.Outputs, func(o *Output) bool { return o.Name == name })
}

// ParameterNames are the names of the parameters, in source order.
func (t *Template) ParameterNames() []string {
	return lists.Map(t.Parameters, func(p *Parameter) string { return p.Name })
}

// ResourceNames are the names of the resources, in source order.
func (t *Template) ResourceNames() []string {
	return lists.Map(t.Resources, func(r *Resource) string { return r.Name })
}

// OutputNames are the names of the outputs, in source order.
func (t *Template) OutputNames() []string {
	return lists.Map(t.Outputs, func(o *Output) string { return o.Name })
}

// Place is the position of a node or key.
func (t *Template) Place(n source.Spanned) source.Place {
	return source.Place{File: t.File, Span: n.Extent()}
}

// Expr reads a node as an expression of this template.
func (t *Template) Expr(n *yaml.Node) *Expr { return NewExpr(t.File, n, t.Functions) }

// sections are the top-level keys of HOT (heat/engine/hot/template.py, SECTIONS).
var sections = map[string]Version{"heat_template_version": V20130523, "description": V20130523,
	"parameter_groups": V20130523, "parameters": V20130523, "resources": V20130523, "outputs": V20130523,
	"conditions": V20161014}

// cfnSections are those of CloudFormation templates (heat/engine/cfn/template.py).
var cfnSections = map[string]Version{"AWSTemplateFormatVersion": CFN20121212, "HeatTemplateFormatVersion": CFN20121212,
	"Description": CFN20121212, "Mappings": CFN20121212, "Parameters": CFN20121212, "Resources": CFN20121212, "Outputs": CFN20121212,
	"Conditions": CFN20100909}

// Keywords are the keywords of the template's format.
func (t *Template) Keywords() *Keywords { return t.Version.Keywords() }

// ParseTemplate reads a template. It returns nil if the text cannot be parsed; after
// errors in a section it continues, to find them all.
func ParseTemplate(file *source.File, diags *source.Diagnostics) *Template {
	root := yaml.ParseTemplate(file, diags)
	if root == nil {
		return nil
	}
	t := &Template{File: file, Root: root, parameters: map[string]*Parameter{}}
	if root.Kind != yaml.Map {
		what := root.Kind.String()
		if root.IsNull() {
			what = "an empty file"
		}
		diags.Error(source.NotATemplate, t.Place(root), "a template must be a map of sections, not "+what,
			"begin it with `heat_template_version: 2018-08-31`")
		return nil
	}
	if !t.readVersion(diags) || !t.keepsIndentation(diags) {
		return nil
	}
	t.Functions = t.Version.Functions()
	t.Functions.names = &names{conditions: map[string]*Expr{}, isResource: func(name string) bool { return t.resources[name] != nil }, parameter: t.Parameter}
	known := sections
	if t.Version.CFN() {
		known = cfnSections
		t.readMappings(diags)
	}
	for _, e := range root.Entries {
		if first, ok := known[e.Name]; !ok || first > t.Version {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("unknown section %q in version %s", e.Name, t.Version), "")
		}
	}
	t.readParameters(diags)
	t.readConditions(diags)
	t.readResources(diags)
	t.readOutputs(diags)
	t.CheckFunctions(diags)
	return t
}

// keepsIndentation refuses a template that the client would corrupt: it strips leading
// white space, and with it the indentation of the first key only
// (heatclient/common/template_format.py, parse).
func (t *Template) keepsIndentation(diags *source.Diagnostics) bool {
	start := t.Root.Span.Start
	if t.Root.Style != yaml.Block || len(t.Root.Entries) < 2 || len(bytes.TrimSpace(t.File.Text[:start])) > 0 {
		return true
	}
	if second := t.Root.Entries[1].Key.Span.Start; second == t.File.LineStart(second) {
		return true
	}
	diags.Error(source.NotYAML, t.Place(t.Root.Entries[0].Key), "the whole template is indented: Heat's client strips the white space before the first key, which then no longer lines up with the others", "remove the indentation, or start the file with a comment")
	return false
}

// readVersion finds the only key that declares the template's version
// (heat/engine/template.py, get_version).
func (t *Template) readVersion(diags *source.Diagnostics) bool {
	var declared []*yaml.Entry
	for i := range t.Root.Entries {
		e := &t.Root.Entries[i]
		if _, isText := e.Value.Text(); isText && slices.Contains(versionKeys, e.Name) {
			declared = append(declared, e)
		}
	}
	switch {
	case len(declared) == 0 && t.Root.Get("heat_template_version") != nil:
		t.unknownVersion(t.Root.Entry("heat_template_version"), diags)
		return false
	case len(declared) == 0:
		d := diags.Error(source.NotATemplate, source.Place{File: t.File}, "heat_template_version is missing", "begin the template with `heat_template_version: 2018-08-31`")
		if key, meant := VersionKey(t.Root); meant != "" {
			d.At = t.Place(key.Key)
			d.Meant(key.Name, meant)
		}
		return false
	case len(declared) > 1:
		diags.Error(source.UnknownVersion, t.Place(declared[1].Key), "the template declares two versions, "+declared[0].Name+" and "+declared[1].Name, "remove one of them")
		return false
	}
	text, _ := declared[0].Value.Text()
	v, ok := ParseVersion(text)
	if declared[0].Name != "heat_template_version" {
		v = cfnVersions[declared[0].Name]
		ok = v.String() == declared[0].Name+" "+text
	}
	if !ok {
		t.unknownVersion(declared[0], diags)
	}
	t.Version = v
	return ok
}

// versionKeys are the keys that declare a template's version.
var versionKeys = []string{"heat_template_version", "AWSTemplateFormatVersion", "HeatTemplateFormatVersion"}

// VersionKey is the entry that makes a file a template. If there is none, it is an entry
// that probably misspells it, and meant is the right name. It is nil without either, and
// for a file that cannot be parsed, whose root is nil.
func VersionKey(root *yaml.Node) (key *yaml.Entry, meant string) {
	for _, name := range versionKeys {
		if e := root.Entry(name); e != nil {
			return e, ""
		}
	}
	entries := root.All()
	for i := range entries {
		if meant := Nearest(entries[i].Name, versionKeys); meant != "" {
			return &entries[i], meant
		}
	}
	return nil, ""
}

// IsSection reports whether a key is a section of HOT.
func IsSection(name string) bool { _, is := sections[name]; return is }

func (t *Template) unknownVersion(e *yaml.Entry, diags *source.Diagnostics) {
	hint := "use " + strings.Join(Versions(), ", ") + " or the name of a release since newton"
	if v, isCFN := cfnVersions[e.Name]; isCFN {
		hint = "write " + strings.Replace(v.String(), " ", ": ", 1)
	}
	diags.Error(source.UnknownVersion, t.Place(e.Value), fmt.Sprintf("unknown %s %s", e.Name, strings.TrimSpace(t.File.Slice(e.Value.Span))), hint)
}

// readMappings keeps the section that Fn::FindInMap reads, as plain data.
func (t *Template) readMappings(diags *source.Diagnostics) {
	n := t.Root.Get("Mappings")
	t.Functions.names.mappings = value.NewDict()
	switch {
	case n.IsNull():
	case n.Kind != yaml.Map:
		diags.Error(source.BadSection, t.Place(n), "Mappings must be a map, not "+n.Kind.String(), "")
	default:
		t.Functions.names.mappings = n.Data().(*value.Dict)
	}
}

// section returns the entries of a section, which must be a map of maps.
func (t *Template) section(name string, diags *source.Diagnostics) []*yaml.Entry {
	n := t.Root.Get(name)
	if n.IsNull() {
		return nil
	}
	if n.Kind != yaml.Map {
		diags.Error(source.BadSection, t.Place(n), name+" must be a map, not "+n.Kind.String(), "")
		return nil
	}
	out := make([]*yaml.Entry, 0, len(n.Entries))
	for i := range n.Entries {
		e := &n.Entries[i]
		if e.Value.Kind != yaml.Map {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("%s: %q must be a map, not %s", name, e.Name, e.Value.Kind), "")
			continue
		}
		out = append(out, e)
	}
	return out
}

func (t *Template) readResources(diags *source.Diagnostics) {
	w := t.Keywords()
	entries := t.section(w.Resources, diags)
	t.Resources, t.resources = make([]*Resource, 0, len(entries)), make(map[string]*Resource, len(entries))
	all := make([]Resource, len(entries))
	for i, e := range entries {
		r := &all[i]
		*r = Resource{Name: e.Name, Entry: e, TypeNode: e.Value.Get(w.Type), Properties: e.Value.Entry(w.Properties), Metadata: e.Value.Entry(w.Metadata),
			DependsOn: e.Value.Entry(w.DependsOn)}
		if t.Version.hasConditions() {
			r.Condition = e.Value.Entry(w.Condition)
		}
		t.checkKeys("a resource", e, resourceKeys, cfnResourceKeys, diags)
		t.checkKeyTypes(r, diags)
		r.Type, _ = r.TypeNode.Text()
		if r.Type == "" {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("resource %q has no type", e.Name), "for a server: `"+w.Type+": OS::Nova::Server`")
		}
		if strings.Contains(r.Name, "/") {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("the resource name %q contains a slash, which Heat refuses", e.Name), "")
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

	cfnResourceKeys = map[string]Version{"Type": CFN20121212, "Properties": CFN20121212, "Metadata": CFN20121212,
		"DependsOn": CFN20121212, "DeletionPolicy": CFN20121212, "UpdatePolicy": CFN20121212, "Description": CFN20121212,
		"Condition": CFN20100909}
	cfnOutputKeys = map[string]Version{"Description": CFN20121212, "Value": CFN20121212, "Condition": CFN20100909}
)

// keyHint is the hint for an unknown key.
func keyHint(k yaml.Entry, known map[string]Version) string {
	otherwise := ""
	if k.Value.Get("roles") != nil && known["metadata"] != 0 { // hotc's own block
		otherwise = fmt.Sprintf("move it into the metadata: `metadata: {%s: …}`", k.Name)
	}
	return DidYouMean(k.Name, slices.Sorted(maps.Keys(known)), otherwise)
}

// checkKeys reports the keys that Heat refuses, or ignores in a CloudFormation
// template.
func (t *Template) checkKeys(of string, e *yaml.Entry, known, cfn map[string]Version, diags *source.Diagnostics) {
	report := diags.Error
	if of == "an output" { // Heat ignores unknown keys of it
		report = diags.Warning
	}
	if t.Version.CFN() {
		for _, k := range e.Value.Entries {
			if first, ok := cfn[k.Name]; !ok || first > t.Version {
				diags.Warning(source.BadSection, t.Place(k.Key), fmt.Sprintf("%q: Heat ignores the key %q of %s", e.Name, k.Name, of), "")
			}
		}
		return
	}
	for _, k := range e.Value.Entries {
		if first, ok := known[k.Name]; !ok {
			report(source.BadSection, t.Place(k.Key), fmt.Sprintf("%q: %q is not a key of %s", e.Name, k.Name, of), keyHint(k, known))
		} else if first > t.Version {
			report(source.BadSection, t.Place(k.Key), fmt.Sprintf("%q: the key %q of %s needs version %s or later", e.Name, k.Name, of, first), "")
		}
	}
}

func (t *Template) readOutputs(diags *source.Diagnostics) {
	w := t.Keywords()
	for _, e := range t.section(w.Outputs, diags) {
		t.checkKeys("an output", e, outputKeys, cfnOutputKeys, diags)
		o := &Output{Name: e.Name, Entry: e, Value: e.Value.Get(w.Value)}
		if t.Version.hasConditions() {
			o.Condition = e.Value.Entry(w.Condition)
		}
		if o.Value == nil {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("output %q has no value", e.Name), "")
			continue
		}
		t.Outputs = append(t.Outputs, o)
	}
}

// MetadataEntry finds a key in the resource's metadata.
func (r *Resource) MetadataEntry(key string) *yaml.Entry {
	if r.Metadata == nil {
		return nil
	}
	return r.Metadata.Value.Entry(key)
}

// Entries are the properties in source order.
func (r *Resource) Entries() []yaml.Entry {
	if r.Properties == nil {
		return nil
	}
	return r.Properties.Value.Entries
}

// Property finds a property's value.
func (r *Resource) Property(name string) *yaml.Node {
	if r.Properties == nil {
		return nil
	}
	return r.Properties.Value.Get(name)
}
