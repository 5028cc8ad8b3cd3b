package hot

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Parameter is a parameter's declaration (heat/engine/hot/parameters.py).
type Parameter struct {
	Name        string
	Entry       *yaml.Entry
	Type        string     // string, number, comma_delimited_list, json or boolean
	Default     *yaml.Node // nil if there is none; null counts as none
	Hidden      bool
	Constraints []Constraint
}

var parameterTypes = []string{"string", "number", "comma_delimited_list", "json", "boolean"}

// parameterKeys are the keys of a declaration and the versions that have them.
var parameterKeys = map[string]Version{"type": V20130523, "description": V20130523, "default": V20130523,
	"schema": V20130523, "constraints": V20130523, "hidden": V20130523, "label": V20130523, "immutable": V20130523,
	"tags": V20180302}

func (t *Template) readParameters(diags *source.Diagnostics) {
	for _, e := range t.section(t.Keywords().Parameters, diags) {
		r := parameterReader{t: t, diags: diags, p: &Parameter{Name: e.Name, Entry: e}}
		r.read(e)
		t.Parameters = append(t.Parameters, r.p)
		t.parameters[e.Name] = r.p
	}
}

type parameterReader struct {
	t      *Template
	diags  *source.Diagnostics
	p      *Parameter
	failed bool
}

func (r *parameterReader) fail(n source.Spanned, hint, format string, args ...any) {
	r.failed = true
	r.diags.Error(source.BadParameter, r.t.Place(n), fmt.Sprintf("parameter %q: ", r.p.Name)+fmt.Sprintf(format, args...), hint)
}

func (r *parameterReader) read(e *yaml.Entry) {
	p, n := r.p, e.Value
	known := parameterKeys
	if r.t.Version.CFN() {
		known = cfnParameterKeys
	}
	for _, key := range n.Entries {
		if first, ok := known[key.Name]; !ok {
			r.fail(key.Key, "", "%q is not a valid key", key.Name)
		} else if first > r.t.Version {
			r.fail(key.Key, "", "the key %q needs version %s or later", key.Name, first)
		}
	}
	r.readType(e)
	if p.Default = n.Get(r.t.Keywords().Default); p.Default.IsNull() {
		p.Default = nil
	}
	if r.t.Version.CFN() {
		r.readCFN(e)
	} else {
		r.readHOT(n)
	}
	r.checkDefault()
}

func (r *parameterReader) readHOT(n *yaml.Node) {
	if h := n.Get("hidden"); h != nil {
		r.p.Hidden = value.Truthy(h.Data())
	}
	if tags := n.Get("tags"); tags != nil && tags.Kind != yaml.List {
		r.fail(tags, "", "tags must be a list, not %s", tags.Kind)
	}
	r.readConstraints(n.Get("constraints"))
}

func (r *parameterReader) readType(e *yaml.Entry) {
	n := e.Value.Get(r.t.Keywords().Type)
	said := func(name string) string { return name }
	if r.t.Version.CFN() {
		said = CFNType
	}
	hint := fmt.Sprintf("use %s, %s, %s, %s or %s", said("string"), said("number"), said("comma_delimited_list"), said("json"), said("boolean"))
	if n == nil {
		r.fail(e.Key, hint, "the type is missing")
		return
	}
	text, _ := n.Text()
	for _, known := range parameterTypes {
		if text == said(known) {
			r.p.Type = known
			return
		}
	}
	if near := Nearest(strings.ToLower(text), parameterTypes); near != "" {
		hint = "did you mean " + said(near) + "?"
		r.p.Type = near
	}
	r.fail(n, hint, "%s is not a valid type", shown(n.Data()))
}

func (r *parameterReader) checkDefault() {
	if r.p.Default == nil || r.failed {
		return
	}
	v := r.p.Default.Data()
	if err := r.p.checkDefault(v); err != nil {
		r.fail(r.p.Default, "", "the default violates a constraint: %s", err)
	} else if err := r.p.Check(v); err != nil {
		r.diags.Warning(source.BadParameter, r.t.Place(r.p.Default),
			fmt.Sprintf("parameter %q: the default cannot be used: %s", r.p.Name, err), "")
	}
}

// Declaration is a template with the declaration of a parameter only, without its default.
func (t *Template) Declaration(p *Parameter) *value.Dict {
	declaration := value.NewDict()
	for _, e := range p.Entry.Value.Entries {
		if e.Name != t.Keywords().Default {
			declaration.Set(e.Name, e.Value.Data())
		}
	}
	key, version := t.Version.Head()
	parameters, template := value.NewDict(), value.NewDict()
	parameters.Set(p.Name, declaration)
	template.Set(key, version)
	template.Set(t.Keywords().Parameters, parameters)
	return template
}

// Pinnable reports whether allowed_values can restrict the parameter to one value: json does
// not support it, and a list may repeat and reorder its items (heat/engine/constraints.py,
// AllowedValues).
func (p *Parameter) Pinnable() bool { return p.Type != "json" && p.Type != "comma_delimited_list" }

// Cast converts a value to the parameter's type, as get_param returns it
// (heat/engine/parameters.py: value of each class).
func (p *Parameter) Cast(v value.Value) (value.Value, error) {
	if v == nil {
		return nil, fmt.Errorf("there is no value")
	}
	switch p.Type {
	case "number":
		if n, ok := value.Number(v); ok {
			return n, nil
		}
		return nil, fmt.Errorf("expected a number, not %s", shown(v))
	case "boolean":
		return boolean(v)
	case "comma_delimited_list":
		return commaDelimited(v)
	case "json":
		return jsonValue(v)
	}
	return value.ToString(v), nil
}

// Gives is the type of every value of the parameter; "" if it is not certain: json may be any JSON.
func (p *Parameter) Gives() contract.Type {
	switch p.Type {
	case "string", "number", "boolean":
		return contract.Type(p.Type)
	case "comma_delimited_list":
		return contract.List
	}
	return ""
}

func boolean(v value.Value) (value.Value, error) {
	switch strings.ToLower(strings.TrimFunc(value.ToString(v), value.IsSpace)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, nil
	case "0", "f", "false", "off", "n", "no":
		return false, nil
	}
	return nil, fmt.Errorf("expected a boolean (true, yes, on, 1, … or false, no, off, 0, …), not %s", shown(v))
}

// commaDelimited splits at commas; white space around them stays.
func commaDelimited(v value.Value) (value.Value, error) {
	list := []value.Value{}
	switch v := v.(type) {
	case []value.Value:
		list = value.Texts(lists.Map(v, value.ToString))
	case string:
		if v != "" {
			list = value.Texts(strings.Split(v, ","))
		}
	default:
		return nil, fmt.Errorf("expected a list or a string with commas, not %s", shown(v))
	}
	return list, nil
}

func jsonValue(v value.Value) (value.Value, error) {
	text, ok := v.(string)
	if !ok || text == "" {
		return v, nil
	}
	out, err := yaml.DecodeJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("expected JSON: %w", err)
	}
	return out, nil
}

// Check checks a value against the parameter's type and constraints. Custom constraints
// that query the cloud are left to Heat.
func (p *Parameter) Check(v value.Value) error {
	cast, err := p.Cast(v)
	if err != nil {
		return err
	}
	if p.Type == "comma_delimited_list" || p.Type == "json" {
		v = cast
	}
	if err := p.Violates(v); err != nil {
		return err
	}
	for _, c := range p.Constraints {
		if err := CustomConstraint(c.Custom, v); err != nil {
			return err
		}
	}
	return nil
}

// Violates returns the violation of the first violated constraint; nil if there is none.
func (p *Parameter) Violates(v value.Value) error {
	for _, c := range p.Constraints {
		if err := c.check(p, v); err != nil {
			return err
		}
	}
	return nil
}

// checkDefault checks a default against the constraints only, as Heat does when it
// reads the template (parameters.py, Schema._validate_default). There an empty text is a list of
// one empty text, and not an empty list.
func (p *Parameter) checkDefault(v value.Value) error {
	if p.Type == "comma_delimited_list" && v == "" {
		v = value.Texts([]string{""})
	} else if p.Type == "comma_delimited_list" {
		list, err := commaDelimited(v)
		if err != nil {
			return err
		}
		v = list
	}
	return p.Violates(v)
}
