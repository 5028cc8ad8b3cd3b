package order

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/value"
)

// maxWorlds bounds how many combinations of choices are tried.
const maxWorlds = 4096

// choice is a value that Heat will know and hotc does not: one side of a comparison, or
// the truth of a test that is not a comparison.
type choice struct {
	expr      *hot.Expr
	parameter *hot.Parameter // whose value it is, if it is a parameter
	truth     bool           // it is true or false
	values    []value.Value  // the values to distinguish
	class     int            // the same for all that are compared with each other
	chosen    int
}

func (c *choice) value() value.Value { return c.values[c.chosen] }

// other is a value that differs from all mentioned ones.
type other int

// worlds are the combinations of all choices.
type worlds struct {
	template *hot.Template
	choices  []*choice
	byKey    map[string]*choice
}

// newWorlds are those of the choices in some tests; few is false if they are too many to try.
func newWorlds(t *hot.Template, tests []test) (w *worlds, few bool) {
	w = &worlds{template: t, byKey: map[string]*choice{}}
	for _, x := range tests {
		w.note(x.condition)
	}
	spoken, members := map[int][]value.Value{}, map[int]int{}
	for _, c := range w.choices {
		spoken[c.class] = append(spoken[c.class], c.values...)
		members[c.class]++
	}
	all := 1
	for _, c := range w.choices {
		if c.values = c.among(spoken[c.class], members[c.class]); len(c.values) == 0 {
			return w, false // no value is possible
		}
		if all *= len(c.values); all > maxWorlds {
			return w, false
		}
	}
	return w, true
}

// among are the mentioned values that a choice may have, and enough others for all choices
// of its class to differ.
func (c *choice) among(spoken []value.Value, members int) []value.Value {
	if c.truth {
		return []value.Value{true, false}
	}
	var values []value.Value
	for _, v := range spoken {
		same := func(x value.Value) bool { return value.Equal(x, v) }
		if !slices.ContainsFunc(values, same) && (c.parameter == nil || admits(c.parameter, v)) {
			values = append(values, v)
		}
	}
	if c.parameter != nil && (c.parameter.Type == "boolean" || len(allowed(c.parameter)) > 0) {
		return values
	}
	for i := range members {
		values = append(values, other(i))
	}
	return values
}

// admits says whether a parameter may have a value, as get_param returns it.
func admits(p *hot.Parameter, v value.Value) bool {
	cast, err := p.Cast(v)
	return err == nil && value.Equal(cast, v) && p.Check(v) == nil
}

// allowed are the only values that a parameter may have; none if it is not restricted.
func allowed(p *hot.Parameter) (values []value.Value) {
	for _, c := range p.Constraints {
		for _, v := range c.Allowed {
			if cast, err := p.Cast(v); err == nil {
				values = append(values, cast)
			}
		}
	}
	if p.Type == "boolean" && len(values) == 0 {
		values = []value.Value{true, false}
	}
	return values
}

// note finds the choices in a condition.
func (w *worlds) note(e *hot.Expr) {
	switch meaning, items := partsOf(e); meaning {
	case "known":
	case "equals":
		a, b := w.compared(items[0]), w.compared(items[1])
		switch {
		case a != nil && b != nil:
			for _, c := range w.choices {
				if c.class == b.class && c != b {
					c.class = a.class
				}
			}
			b.class = a.class
		case a != nil:
			a.values = append(a.values, items[1].Value)
		case b != nil:
			b.values = append(b.values, items[0].Value)
		}
	case "open":
		w.choice(e).truth = true
	default:
		for _, x := range items {
			w.note(x)
		}
	}
}

// partsOf takes a condition apart: an `equals`, and, or, not or if; "known", or "open" for
// what Heat decides.
func partsOf(e *hot.Expr) (meaning string, items []*hot.Expr) {
	if _, isBool := e.Value.(bool); e.IsValue() && isBool {
		return "known", nil
	}
	if meaning, items = e.Logic(); meaning != "" {
		return meaning, items
	}
	return "open", nil
}

// compared is the choice of a side of a comparison; nil if it is known.
func (w *worlds) compared(e *hot.Expr) *choice {
	if e.IsValue() {
		return nil
	}
	return w.choice(e)
}

func (w *worlds) choice(e *hot.Expr) *choice {
	key := binding.Key(e)
	if c := w.byKey[key]; c != nil {
		return c
	}
	c := &choice{expr: e, class: len(w.choices)}
	if r := e.Ref(); r.Kind == hot.ToParameter && !r.Computed && len(r.Path) == 0 {
		if c.parameter = w.template.Parameter(r.Name); c.parameter != nil {
			c.values = allowed(c.parameter)
		}
	}
	w.byKey[key] = c
	w.choices = append(w.choices, c)
	return c
}

// next advances to the next world; after the last one it returns false, at the first.
func (w *worlds) next() bool {
	for _, c := range w.choices {
		if c.chosen++; c.chosen < len(c.values) {
			return true
		}
		c.chosen = 0
	}
	return false
}

// holds says whether a condition is true in this world.
func (w *worlds) holds(e *hot.Expr) bool {
	switch meaning, items := partsOf(e); meaning {
	case "known":
		return e.Value == true
	case "equals":
		a, b := w.valueOf(items[0]), w.valueOf(items[1])
		if _, isOther := a.(other); isOther {
			_, both := b.(other)
			return both && a == b
		}
		return value.Equal(a, b)
	case "not":
		return !w.holds(items[0])
	case "and":
		return !slices.ContainsFunc(items, func(x *hot.Expr) bool { return !w.holds(x) })
	case "or":
		return slices.ContainsFunc(items, w.holds)
	case "if":
		if w.holds(items[0]) {
			return w.holds(items[1])
		}
		return len(items) < 3 || w.holds(items[2])
	}
	return w.choice(e).value() == true
}

func (w *worlds) valueOf(e *hot.Expr) value.Value {
	if e.IsValue() {
		return e.Value
	}
	return w.choice(e).value()
}

// all says whether some tests hold in this world.
func (w *worlds) all(tests []test) bool {
	return !slices.ContainsFunc(tests, func(x test) bool { return w.holds(x.condition) != x.want })
}

// any says whether something with guards exists in this world.
func (w *worlds) any(g guards) bool { return g == nil || slices.ContainsFunc(g, w.all) }

// describe names the values for which some tests hold in this world: `x is "a" and y is not "b"`.
func (w *worlds) describe(tests []test) string {
	those := worlds{template: w.template, byKey: map[string]*choice{}}
	for _, x := range tests {
		those.note(x.condition)
	}
	var out []string
	for _, c := range those.choices {
		own := w.byKey[binding.Key(c.expr)]
		name := string(value.EncodeJSON(binding.Written(c.expr)))
		if c.parameter != nil {
			name = c.parameter.Name
		}
		spoken := lists.Map(c.values, func(v value.Value) string { return string(value.EncodeJSON(v)) })
		if _, isOther := own.value().(other); !isOther {
			out = append(out, fmt.Sprintf("%s is %s", name, value.EncodeJSON(own.value())))
		} else if len(spoken) > 0 {
			out = append(out, fmt.Sprintf("%s is not %s", name, strings.Join(spoken, " or ")))
		}
	}
	if len(out) == 0 {
		return "its conditions hold"
	}
	return strings.Join(out, " and ")
}
