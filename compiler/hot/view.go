package hot

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// What calls say, beside what they refer to (ref.go). The argument of a call is read here and
// where its function is made, and nowhere else.

// If is an `if` that is written as a list.
type If struct {
	Condition, Then *Expr
	Else            *Expr // nil where there is none
}

// If takes an `if` apart.
func (e *Expr) If() (parts If, ok bool) {
	if e.Kind != CallExpr || e.Func.Meaning() != "if" || e.arg.Kind != ListExpr || len(e.arg.Items) < 2 {
		return If{}, false
	}
	parts = If{Condition: e.arg.Items[0], Then: e.arg.Items[1]}
	if len(e.arg.Items) > 2 {
		parts.Else = e.arg.Items[2]
	}
	return parts, true
}

// Branches are both, or the one that there is.
func (c If) Branches() []*Expr {
	if c.Else == nil {
		return []*Expr{c.Then}
	}
	return []*Expr{c.Then, c.Else}
}

func (c If) argument(at source.Place) *Expr {
	return &Expr{Kind: ListExpr, At: at, Items: append([]*Expr{c.Condition}, c.Branches()...)}
}

// WithIf is the `if` with other parts.
func (e *Expr) WithIf(c If) *Expr { return e.withArg(c.argument(e.arg.At)) }

// NewIf is an `if` that means what another one does, which may be of a template's version
// before; nil is one of the last.
func NewIf(like *Expr, at source.Place, c If) *Expr {
	out := &Expr{Kind: CallExpr, Func: ifElse}
	if like != nil {
		*out = *like
	}
	out.At, out.arg = at, c.argument(c.Then.At)
	return out
}

// Members are the first of the items that a group's members give.
type Members struct{ Group, Count, Items *Expr }

// Members takes a call of MembersOf or JoinedOf apart.
func (e *Expr) Members() (m Members, ok bool) {
	if e.Kind != CallExpr || e.Func != MembersOf && e.Func != JoinedOf {
		return Members{}, false
	}
	return Members{e.arg.Items[0], e.arg.Items[1], e.arg.Items[2]}, true
}

// NewMembers is such a call.
func NewMembers(at source.Place, m Members) *Expr {
	return listCall(MembersOf, at, m.Group, m.Count, m.Items)
}

// Item takes a call of ItemOf apart.
func (e *Expr) Item() (list *Expr, number value.Value, ok bool) {
	if e.Kind != CallExpr || e.Func != ItemOf {
		return nil, nil, false
	}
	return e.arg.Items[0], e.arg.Items[1].Value, true
}

// NewItem is such a call.
func NewItem(list *Expr, number int) *Expr {
	return listCall(ItemOf, list.At, list, Constant(int64(number), list.At))
}

// NewPresent says whether a group of so many members has one of them.
func NewPresent(at source.Place, count *Expr, member int) *Expr {
	return listCall(PresentTest, at, count, Constant(int64(member), at))
}

func listCall(f *Function, at source.Place, items ...*Expr) *Expr {
	return NewCall(f, at, &Expr{Kind: ListExpr, At: at, Items: items})
}

// MapPresence changes the parts of a call of those that no template has (OfPresence).
func (e *Expr) MapPresence(change func(*Expr) *Expr) *Expr { return e.withArg(e.arg.Map(change)) }

// Map changes what is inside a list or map, and the calls and values in the argument of a call.
func (e *Expr) Map(change func(*Expr) *Expr) *Expr {
	out := *e
	if e.Kind == CallExpr {
		out.arg = e.arg.mapped(change)
	} else {
		out.Items = lists.Map(e.Items, change)
	}
	return &out
}

func (e *Expr) mapped(change func(*Expr) *Expr) *Expr {
	if e.Kind != ListExpr && e.Kind != MapExpr {
		return change(e)
	}
	return e.Map(func(x *Expr) *Expr { return x.mapped(change) })
}

// Logic takes a condition apart: an `equals` of two, `and`, `or`, `not` or `if`, and its
// parts. All other meanings are "".
func (e *Expr) Logic() (meaning string, parts []*Expr) {
	if e.Kind != CallExpr {
		return "", nil
	}
	switch meaning, parts = e.Func.Meaning(), e.arg.Items; meaning {
	case "not":
		if e.arg.Kind != ListExpr {
			parts = []*Expr{e.arg}
		}
		return meaning, parts
	case "and", "or", "if":
		return meaning, parts
	case "equals":
		if len(parts) == 2 {
			return meaning, parts
		}
	}
	return "", nil
}

// Operands says which parts of what kind a function works on, where its meaning says.
type Operands uint8

// The operands of functions.
const (
	OtherOperands Operands = iota
	JoinedItems            // of list_join
	JoinedLists            // of list_concat
	MergedMaps             // of map_merge
	SplitText              // of str_split
)

// Operands are the parts that a call works on, and the others.
func (e *Expr) Operands() (is Operands, parts, others []*Expr) {
	if e.Kind != CallExpr || e.arg.Kind != ListExpr {
		return OtherOperands, nil, nil
	}
	items := e.arg.Items
	switch is = e.Func.works; is {
	case OtherOperands:
		return is, nil, nil
	case JoinedItems:
		return is, items[min(1, len(items)):], items[:min(1, len(items))]
	case SplitText:
		if len(items) > 1 {
			return is, items[1:2], slices.Concat(items[:1], items[2:])
		}
		return is, nil, items
	}
	return is, items, nil
}

// Pattern is the text in which a call replaces words; nil if it replaces none.
func (e *Expr) Pattern() *Expr {
	if e.Kind != CallExpr {
		return nil
	}
	switch e.Func.Meaning() {
	case "str_replace", "str_replace_strict", "str_replace_vstrict", "repeat":
		if template, ok := e.arg.entry("template"); ok {
			return template
		}
	case "Fn::Replace":
		if items, _ := e.arg.list(); len(items) == 2 {
			return items[1]
		}
	}
	return nil
}

// Beginning is the part with which the text of a call begins; nil if that is not known.
func (e *Expr) Beginning() *Expr {
	if e.Kind != CallExpr {
		return nil
	}
	switch e.Func.Meaning() {
	case "Fn::Base64": // which encodes nothing
		return e.arg
	case "repeat": // which gives no text
		return nil
	case "list_join", "Fn::Join":
		if items, _ := e.arg.list(); len(items) > 1 {
			if parts, _ := items[1].list(); len(parts) > 0 {
				return parts[0]
			}
		}
	}
	return e.Pattern()
}

// OwnFact is what a call of OwnFact names: a fact, or an address of a network and its
// number.
func (e *Expr) OwnFact() (name contract.Fact, network, number value.Value) {
	switch v := e.arg.Value.(type) {
	case string:
		return contract.Fact(v), nil, nil
	case []value.Value: // as the schema has it
		return "", v[1], v[2]
	}
	return "", nil, nil
}

// AsValue is an expression as the value that a template would hold; instead, if it is not nil,
// says what stands in the place of a call.
func (e *Expr) AsValue(instead func(call *Expr) (v value.Value, is bool)) value.Value {
	if e.Kind == CallExpr && instead != nil {
		if v, is := instead(e); is {
			return v
		}
	}
	return e.asValue(func(x *Expr) value.Value { return x.AsValue(instead) })
}

func (e *Expr) asValue(part func(*Expr) value.Value) value.Value {
	switch e.Kind {
	case ListExpr:
		return lists.Map(e.Items, part)
	case MapExpr:
		d := value.SizedDict(len(e.Keys))
		for i, k := range e.Keys {
			d.Set(k, part(e.Items[i]))
		}
		return d
	case CallExpr:
		d := value.SizedDict(1)
		d.Set(e.Func.Name, part(e.arg))
		return d
	}
	return e.Value
}
