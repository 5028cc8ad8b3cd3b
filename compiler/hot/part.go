package hot

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// part is a piece of an expression under construction. A known one is only a value:
// most values are parts of a larger one, and need no expression of their own.
type part struct {
	expr  *Expr // nil for a mere value
	value value.Value
}

// at is the part as an expression.
func (p part) at(place source.Place) *Expr {
	if p.expr == nil {
		return Constant(p.value, place)
	}
	return p.expr
}

// known returns the value, if the part is known and not absent.
func (p part) known() (value.Value, bool) {
	if p.expr == nil {
		return p.value, true
	}
	return p.expr.Value, p.expr.IsValue() && !p.expr.isAbsent()
}

// orNull replaces an absent part by null.
func (p part) orNull() part {
	if p.expr != nil && p.expr.isAbsent() {
		return part{}
	}
	return p
}

// partStack holds the parts of unfinished collections: those of an inner one follow
// those of the enclosing one.
type partStack []part

func (s *partStack) push(p part) {
	if *s == nil {
		*s = make([]part, 0, 8)
	}
	*s = append(*s, p)
}

// allKnown reports whether all parts are known.
func allKnown(parts []part) bool {
	return !slices.ContainsFunc(parts, func(p part) bool { _, known := p.known(); return !known })
}

// valuesOf are the values of parts that are known.
func valuesOf(parts []part) []value.Value {
	values := make([]value.Value, len(parts))
	for i, p := range parts {
		values[i], _ = p.known()
	}
	return values
}

// of is the list or map with its parts replaced by folded ones.
func (e *Expr) of(parts []part) part {
	if allKnown(parts) {
		if e.Kind == ListExpr {
			return part{value: valuesOf(parts)}
		}
		return part{value: dictOf(e.Keys, parts)}
	}
	same := true
	for i, p := range parts {
		same = same && p.expr == e.Items[i]
	}
	if same {
		return part{expr: e.collapse()}
	}
	items := make([]*Expr, len(parts))
	for i, p := range parts {
		items[i] = p.at(e.Items[i].At)
	}
	return part{expr: e.with(items).collapse()}
}

// dictOf is the map of parts' values.
func dictOf(keys []string, parts []part) *value.Dict {
	return value.DictFrom(keys, func(i int) value.Value { v, _ := parts[i].known(); return v })
}

// with is the list or map with other items; e itself if they are the same.
func (e *Expr) with(items []*Expr) *Expr {
	if len(items) == 0 || &items[0] == &e.Items[0] {
		return e
	}
	return &Expr{Kind: e.Kind, At: e.At, Items: items, Keys: e.Keys}
}
