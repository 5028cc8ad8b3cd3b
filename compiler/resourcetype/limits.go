package resourcetype

import (
	"math"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Violation returns how a value of the right type violates a property's constraints; nil if it
// violates none that can be checked without a cloud.
func (p *Property) Violation(v value.Value) error {
	if b, is := v.(bool); is && p.Kind == String {
		v = map[bool]string{true: "True", false: "False"}[b] // Python's str
	} else if is || v == nil {
		return nil
	}
	if f, is := v.(float64); is && p.Kind == Integer && math.Abs(f) < 1<<53 {
		v = int64(f) // Python's int
	}
	if p.Kind == String {
		v = value.ToString(v)
	}
	if err := p.parameter().Violates(v); err != nil {
		return err
	}
	return hot.CustomConstraint(p.Custom, v)
}

// Nothing is what null means to Heat: the default, or the empty value of the type (heat/
// engine/properties.py, Property).
func (p *Property) Nothing() value.Value {
	switch {
	case p.Default != nil && (p.Kind != List && p.Kind != Map):
		return decoded(p.Default)
	case p.Default != nil:
		return nil
	}
	switch p.Kind {
	case String:
		return ""
	case Integer, Number:
		return int64(0)
	case List:
		return []value.Value{}
	case Map:
		return value.NewDict()
	}
	return nil
}

// parameter is a parameter with the same constraints: Heat uses the same code for both.
func (p *Property) parameter() *hot.Parameter {
	p.made.Do(func() { p.like = p.asParameter() })
	return p.like
}

func (p *Property) asParameter() *hot.Parameter {
	out := &hot.Parameter{Type: p.Kind.Parameter()}
	add := func(c hot.Constraint) { out.Constraints = append(out.Constraints, c) }
	if p.Range != nil {
		add(hot.Constraint{Kind: "range", Min: decoded(p.Range[0]), Max: decoded(p.Range[1])})
	}
	if p.Length != nil {
		add(hot.Constraint{Kind: "length", Min: decoded(p.Length[0]), Max: decoded(p.Length[1])})
	}
	if p.Values != nil {
		add(hot.Constraint{Kind: "allowed_values", Allowed: lists.Map(p.Values, decoded)})
	}
	if p.Step != nil {
		add(hot.Constraint{Kind: "modulo", Step: decoded(p.Step), Offset: decoded(p.Offset)})
	}
	if p.Pattern != "" {
		add(hot.AllowedPattern(p.Pattern))
	}
	return out
}

// decoded converts a value of the table: whole numbers become integers.
func decoded(v any) value.Value {
	if f, is := v.(float64); is && f == float64(int64(f)) {
		return int64(f)
	}
	return v
}
