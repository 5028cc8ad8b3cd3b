package hot

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Constraint is a constraint of a parameter (heat/engine/constraints.py: Range,
// Length, Modulo, AllowedValues, AllowedPattern, CustomConstraint).
type Constraint struct {
	Kind        string // range, length, modulo, allowed_values, allowed_pattern or custom_constraint
	Description string
	Min, Max    value.Value   // of range and length; nil if there is none
	Step        value.Value   // of modulo
	Offset      value.Value   // of modulo
	Allowed     []value.Value // of allowed_values
	Pattern     string        // of allowed_pattern
	Custom      string        // of custom_constraint

	match *regexp.Regexp // nil if only Python can match the pattern
}

// constraintKinds are in Heat's order of precedence.
var constraintKinds = []string{"modulo", "range", "length", "allowed_values", "allowed_pattern", "custom_constraint"}

// constrainable are the parameter types that each constraint applies to.
var constrainable = map[string][]string{
	"range": {"number"}, "modulo": {"number"}, "allowed_pattern": {"string"},
	"length":            {"string", "comma_delimited_list", "json"},
	"allowed_values":    {"string", "number", "boolean", "comma_delimited_list"},
	"custom_constraint": {"string", "number", "boolean", "comma_delimited_list"},
}

func (r *parameterReader) readConstraints(n *yaml.Node) {
	if n.IsNull() {
		return
	}
	if n.Kind != yaml.List {
		r.fail(n, "", "constraints must be a list, not %s", n.Kind)
		return
	}
	for _, x := range n.Items {
		if x.Kind != yaml.Map {
			r.fail(x, "", "a constraint must be a map, not %s", x.Kind)
			continue
		}
		r.readConstraint(x)
	}
}

func (r *parameterReader) readConstraint(n *yaml.Node) {
	for _, e := range n.Entries {
		if e.Name != "description" && !slices.Contains(constraintKinds, e.Name) {
			r.fail(e.Key, "", "%q is not a constraint", e.Name)
			return
		}
	}
	c := Constraint{}
	c.Description, _ = n.Get("description").Text()
	for _, kind := range constraintKinds {
		if n.Get(kind) != nil && (kind != "modulo" || r.t.Version >= V20170224) {
			c.Kind = kind
			break
		}
	}
	if c.Kind == "" {
		if n.Get("modulo") != nil {
			r.fail(n, "", "the constraint modulo needs version %s or later", V20170224)
			return
		}
		r.fail(n, "use range, length, modulo, allowed_values, allowed_pattern or custom_constraint", "this is not a constraint")
		return
	}
	if err := c.read(n.Get(c.Kind).Data()); err != nil {
		r.fail(n.Get(c.Kind), "", "%s: %s", c.Kind, err)
		return
	}
	r.constrain(c, n, c.Kind)
}

// constrain adds a constraint; name is its key in the template.
func (r *parameterReader) constrain(c Constraint, n *yaml.Node, name string) {
	if r.p.Type != "" && !slices.Contains(constrainable[c.Kind], r.p.Type) {
		r.fail(n, "", "%s cannot be used with the type %s", name, r.p.Type)
		return
	}
	r.p.Constraints = append(r.p.Constraints, c)
}

func (c *Constraint) read(v value.Value) error {
	switch c.Kind {
	case "range", "length":
		return c.readBounds(v)
	case "modulo":
		return c.readModulo(v)
	case "allowed_values":
		list, ok := v.([]value.Value)
		if !ok {
			return fmt.Errorf("expected a list, not %s", value.TypeName(v))
		}
		c.Allowed = list
	case "allowed_pattern":
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("expected a regular expression, not %s", value.TypeName(v))
		}
		if c.Pattern, c.match = text, pattern(text); c.match == nil {
			return unfinished(text)
		}
	case "custom_constraint":
		c.Custom = value.ToString(v)
	}
	return nil
}

func (c *Constraint) readBounds(v value.Value) (err error) {
	if c.Min, c.Max, err = twoNumbers(v, "min", "max"); err != nil {
		return err
	}
	if c.Min == nil && c.Max == nil {
		return errors.New("min, max or both are required")
	}
	for _, bound := range []value.Value{c.Min, c.Max} {
		if _, isFloat := bound.(float64); isFloat && c.Kind == "length" {
			return fmt.Errorf("a length must be an integer, not %s", shown(bound))
		}
	}
	return nil
}

func twoNumbers(v value.Value, a, b string) (x, y value.Value, err error) {
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, nil, fmt.Errorf("expected a map of %s and %s, not %s", a, b, value.TypeName(v))
	}
	out := map[string]value.Value{}
	for _, k := range d.Keys() {
		if k != a && k != b {
			return nil, nil, fmt.Errorf("%q is neither %s nor %s", k, a, b)
		}
		n, _ := d.Get(k)
		if n == nil {
			continue
		}
		if out[k], ok = value.Number(n); !ok {
			return nil, nil, fmt.Errorf("%s must be a number, not %s", k, shown(n))
		}
	}
	return out[a], out[b], nil
}

func (c *Constraint) readModulo(v value.Value) (err error) {
	if c.Step, c.Offset, err = twoNumbers(v, "step", "offset"); err != nil {
		return err
	}
	if c.Step == nil || c.Offset == nil {
		return errors.New("step and offset are required")
	}
	step, okS := value.Whole(c.Step)
	offset, okO := value.Whole(c.Offset)
	switch {
	case !okS || !okO:
		return errors.New("step and offset must be integers")
	case step.Sign() == 0:
		return errors.New("step cannot be 0")
	case offset.CmpAbs(step) >= 0:
		return errors.New("offset must be smaller than step")
	case step.Sign()*offset.Sign() < 0:
		return errors.New("step and offset must have the same sign")
	}
	return nil
}

// AllowedPattern is the constraint of a Python regular expression.
func AllowedPattern(text string) Constraint {
	return Constraint{Kind: "allowed_pattern", Pattern: text, match: pattern(text)}
}

func (c *Constraint) check(p *Parameter, v value.Value) error {
	err := c.violation(p, v)
	if err != nil && c.Description != "" {
		return fmt.Errorf("%s (%w)", c.Description, err)
	}
	return err
}

func (c *Constraint) violation(p *Parameter, v value.Value) error {
	switch c.Kind {
	case "range":
		n, ok := value.Number(v)
		if !ok || !c.within(n) {
			return fmt.Errorf("expected %s, not %s", c.bounds("a number"), shown(v))
		}
	case "length":
		n, ok := length(v)
		if !ok || !c.within(int64(n)) {
			return fmt.Errorf("expected %s, not %d", c.bounds("a length"), n)
		}
	case "modulo":
		n, ok := value.Number(v)
		if !ok || !congruent(n, c.Step, c.Offset) {
			return fmt.Errorf("expected a multiple of %s plus %s, not %s", value.ToString(c.Step), value.ToString(c.Offset), shown(v))
		}
	case "allowed_values":
		if !c.allows(p, v) {
			return fmt.Errorf("expected one of %s, not %s", value.EncodeJSON(c.Allowed), value.EncodeJSON(v))
		}
	case "allowed_pattern":
		if !c.matches(v) {
			return fmt.Errorf("expected a string that matches %s, not %s", c.Pattern, shown(v))
		}
	}
	return nil
}

func (c *Constraint) bounds(what string) string {
	switch {
	case c.Max == nil:
		return fmt.Sprintf("%s of at least %s", what, value.ToString(c.Min))
	case c.Min == nil:
		return fmt.Sprintf("%s of at most %s", what, value.ToString(c.Max))
	}
	return fmt.Sprintf("%s from %s to %s", what, value.ToString(c.Min), value.ToString(c.Max))
}

func (c *Constraint) within(n value.Value) bool {
	return (c.Min == nil || !less(n, c.Min)) && (c.Max == nil || !less(c.Max, n))
}

// less compares numbers; NaN is never less.
func less(a, b value.Value) bool {
	x, okX := value.Rational(a)
	y, okY := value.Rational(b)
	if okX && okY {
		return x.Cmp(y) < 0
	}
	return toFloat(a) < toFloat(b)
}

func toFloat(v value.Value) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	r, _ := value.Rational(v)
	f, _ := r.Float64()
	return f
}

func length(v value.Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case []value.Value:
		return len(v), true
	case *value.Dict:
		return v.Len(), true
	}
	return 0, false
}

// congruent reports whether v modulo step is offset; the remainder has the step's sign,
// as in Python.
func congruent(v, step, offset value.Value) bool {
	n, okN := value.Whole(v)
	s, okS := value.Whole(step)
	if okN && okS {
		r := new(big.Int).Mod(n, new(big.Int).Abs(s)) // never negative
		if s.Sign() < 0 && r.Sign() != 0 {
			r.Add(r, s)
		}
		o, ok := value.Whole(offset)
		return ok && r.Cmp(o) == 0
	}
	f := toFloat(step)
	r := math.Mod(toFloat(v), f)
	if r != 0 && (r < 0) != (f < 0) {
		r += f
	}
	return r == toFloat(offset)
}

// allows compares with the allowed values: a list's items as they are, anything else
// cast to the parameter's type first.
func (c *Constraint) allows(p *Parameter, v value.Value) bool {
	if list, ok := v.([]value.Value); ok {
		return !slices.ContainsFunc(list, func(x value.Value) bool { return !in(c.Allowed, x) })
	}
	cast, err := p.Cast(v)
	if err != nil {
		return false
	}
	found := false
	for _, a := range c.Allowed {
		if p.Type == "string" {
			a = value.ToString(a)
		} else if a, err = p.Cast(a); err != nil {
			return false // Heat casts all of them
		}
		found = found || value.Equal(a, cast)
	}
	return found
}

// pattern compiles a Python regular expression, unless Go's syntax differs for it.
func pattern(text string) *regexp.Regexp {
	for _, other := range []string{"{,", "[[", "(?<", `\z`, `\Q`, `\p`, `\P`, `\C`, `\x{`, "(?U"} {
		if strings.Contains(text, other) {
			return nil
		}
	}
	re, err := regexp.Compile(`\A(?:` + text + `)`)
	if err != nil {
		return nil
	}
	return re
}

// unfinished is what is wrong with a pattern in Python, too: a bracket or parenthesis that is never closed or opened, a
// range from a later character to an earlier one, or a backslash at the end. Of other errors, and of what Go reads
// otherwise, Heat is the judge.
func unfinished(text string) error {
	_, err := syntax.Parse(text, syntax.Perl)
	wrong, is := errors.AsType[*syntax.Error](err)
	if !is || strings.Contains(text, "(?") || strings.Contains(text, "[[") {
		return nil
	}
	switch wrong.Code {
	case syntax.ErrMissingBracket, syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrInvalidCharRange, syntax.ErrTrailingBackslash:
		return fmt.Errorf("the regular expression is invalid: %s", wrong.Code)
	}
	return nil
}

// matches reports whether the pattern matches the whole value. What only Python can
// decide is left to Heat: patterns that Go lacks, and strings on which \d, \w, \s and \b
// differ.
func (c *Constraint) matches(v value.Value) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	if c.match == nil || strings.ContainsFunc(s, notSame) && strings.ContainsAny(c.Pattern, `\(`) {
		return true
	}
	at := c.match.FindStringIndex(s)
	return at != nil && at[1] == len(s)
}

func notSame(r rune) bool {
	return r >= utf8.RuneSelf || r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f'
}
