package resourcetype

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// shown is a type as Heat's API shows it (`openstack orchestration resource type show`).
type shown struct {
	Name       string                    `json:"resource_type"`
	Properties map[string]*shownProperty `json:"properties"`
	Attributes map[string]struct {
		Type Kind `json:"type"`
	} `json:"attributes"`
	Status shownStatus `json:"support_status"`
}

type shownProperty struct {
	Type          Kind                      `json:"type"`
	Required      bool                      `json:"required"`
	Default       any                       `json:"default"`
	UpdateAllowed *bool                     `json:"update_allowed"`
	Immutable     bool                      `json:"immutable"`
	Constraints   []shownConstraint         `json:"constraints"`
	Schema        map[string]*shownProperty `json:"schema"` // of a list: its items as "*"
}

type shownConstraint struct {
	Range   *shownBounds `json:"range"`
	Length  *shownBounds `json:"length"`
	Values  []any        `json:"allowed_values"` // checked only if scalars
	Pattern string       `json:"allowed_pattern"`
	Modulo  *struct{ Step, Offset float64 }
	Custom  string `json:"custom_constraint"`
}

type shownBounds struct{ Min, Max *float64 }

type shownStatus struct {
	Status   string       `json:"status"`
	Message  *string      `json:"message"`
	Previous *shownStatus `json:"previous_status"`
}

// mostOwn limits the number of types in a file.
const mostOwn = 5000

// Own reads a cloud's types: the API's description of a type, or a list of these.
func Own(file *source.File, diags *source.Diagnostics) []*Type {
	bad := func(n *yaml.Node, message string) {
		diags.Error(source.BadConfig, source.Place{File: file, Span: n.Span}, message, "use the output of `openstack orchestration resource type show TYPE -f json`, or a list of these")
	}
	root := yaml.Parse(file, diags)
	if root == nil {
		return nil
	}
	list := []*yaml.Node{root}
	if root.Kind == yaml.List {
		list = root.Items
	}
	if len(list) > mostOwn {
		bad(root, fmt.Sprintf("a file can have at most %d types", mostOwn))
		return nil
	}
	var out []*Type
	for _, n := range list {
		if _, is := n.Get("resource_type").Text(); n.Kind != yaml.Map || !is {
			bad(n, "this is not Heat's description of a resource type: it has no string resource_type")
			continue
		}
		var s shown
		if err := json.Unmarshal(value.EncodeJSON(n.Data()), &s); err != nil {
			bad(n, fmt.Sprintf("this is not Heat's description of a resource type: %v", err))
			continue
		}
		t := &Type{Name: s.Name, Own: file.Name, Properties: known(s.Properties, true), Attributes: map[string]Kind{}, Status: s.Status.status()}
		for name, a := range s.Attributes {
			t.Attributes[name] = a.Type
		}
		out = append(out, t)
	}
	return out
}

func known(of map[string]*shownProperty, outermost bool) map[string]*Property {
	out := map[string]*Property{}
	for name, p := range of {
		if p != nil {
			out[name] = p.property(outermost)
		}
	}
	return out
}

// property converts a property to the form of the tables.
func (s *shownProperty) property(outermost bool) *Property {
	p := &Property{Kind: s.Type, Required: s.Required, Default: s.Default}
	if outermost {
		p.Fixed = s.Immutable
		p.Replaces = !s.Immutable && s.UpdateAllowed != nil && !*s.UpdateAllowed
	}
	for _, c := range s.Constraints {
		switch {
		case c.Range != nil:
			p.Range = c.Range.pair()
		case c.Length != nil:
			p.Length = c.Length.pair()
		case c.Values != nil:
			if !slices.ContainsFunc(c.Values, isCollection) {
				p.Values = c.Values
			}
		case c.Modulo != nil && c.Modulo.Step != 0:
			p.Step, p.Offset = c.Modulo.Step, c.Modulo.Offset
		case c.Pattern != "":
			p.Pattern = c.Pattern
		default:
			p.Custom = c.Custom
		}
	}
	switch {
	case s.Schema == nil:
	case s.Type == List:
		if each := s.Schema["*"]; each != nil {
			p.Each = each.property(outermost)
		}
	default:
		p.Properties = known(s.Schema, false)
	}
	return p
}

func isCollection(v any) bool {
	switch v.(type) {
	case string, float64, bool:
		return false
	}
	return true
}

// pair is minimum and maximum, nil where there is none.
func (s *shownBounds) pair() []any {
	out := []any{nil, nil}
	if s.Min != nil {
		out[0] = *s.Min
	}
	if s.Max != nil {
		out[1] = *s.Max
	}
	return out
}

// status says why something should no longer be used.
func (s *shownStatus) status() Status {
	out := Status{}
	for depth := 0; s != nil && depth < 10; s, depth = s.Previous, depth+1 {
		if s.Status != "DEPRECATED" && s.Status != "UNSUPPORTED" && s.Status != "HIDDEN" {
			break
		}
		if text := ""; out.Deprecated == nil || *out.Deprecated == "" {
			if s.Message != nil {
				text = *s.Message
			}
			out.Deprecated = &text
		}
		out.Hidden = out.Hidden || s.Status == "HIDDEN"
	}
	return out
}

// beside adds to a cloud's type what the API does not show of Heat's own type of that name:
// hidden properties, which ones need or exclude others, and which older ones replace which.
func (t *Type) beside(heats *Type) *Type {
	if heats == nil {
		return t
	}
	t.UpdatePolicy, t.Snapshots, t.Excludes, t.OneOf, t.Needs = heats.UpdatePolicy, heats.Snapshots, heats.Excludes, heats.OneOf, heats.Needs
	t.Ailing, t.Implied = heats.Ailing, heats.Implied
	besideEach(t.Properties, heats.Properties)
	if heats.Attributes == nil {
		t.Attributes = nil
	}
	for name, kind := range heats.Attributes {
		if _, has := t.Attributes[name]; !has {
			t.Attributes[name] = kind
		}
	}
	return t
}

func besideEach(own, heats map[string]*Property) {
	for name, h := range heats {
		switch p := own[name]; {
		case p != nil:
			p.beside(h)
		case h.Hidden && own != nil:
			own[name] = h
		}
	}
}

func (p *Property) beside(heats *Property) {
	p.Instead, p.Status = heats.Instead, heats.Status
	if heats.Kind == Any { // Heat removes it before it checks its value
		p.Kind = Any
	}
	if p.Each != nil && heats.Each != nil {
		p.Each.beside(heats.Each)
	}
	besideEach(p.Properties, heats.Properties)
}
