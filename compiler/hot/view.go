package hot

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Views of calls other than references (ref.go). Only these and the functions themselves read
// the argument of a call.

// If are the parts of an `if` with a literal list.
type If struct {
	Condition, Then *Expr
	Else            *Expr // nil where there is none
}

// If returns the parts of an `if`.
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

// Branches are the branches that exist.
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

// NewIf is an `if` of the same variant as another; nil stands for the last one.
func NewIf(like *Expr, at source.Place, c If) *Expr {
	out := &Expr{Kind: CallExpr, Func: ifElse}
	if like != nil {
		*out = *like
	}
	out.At, out.arg = at, c.argument(c.Then.At)
	return out
}

// Members are the parts of a call of MembersOf or JoinedOf.
type Members struct{ Group, Count, Items *Expr }

// Members returns the parts of a call of MembersOf or JoinedOf.
func (e *Expr) Members() (m Members, ok bool) {
	if e.Kind != CallExpr || e.Func != MembersOf && e.Func != JoinedOf {
		return Members{}, false
	}
	return Members{e.arg.Items[0], e.arg.Items[1], e.arg.Items[2]}, true
}

// NewMembers builds a call of MembersOf.
func NewMembers(at source.Place, m Members) *Expr {
	return listCall(MembersOf, at, m.Group, m.Count, m.Items)
}

// Item returns the parts of a call of ItemOf.
func (e *Expr) Item() (list *Expr, number value.Value, ok bool) {
	if e.Kind != CallExpr || e.Func != ItemOf {
		return nil, nil, false
	}
	return e.arg.Items[0], e.arg.Items[1].Value, true
}

// NewItem builds a call of ItemOf.
func NewItem(list *Expr, number int) *Expr {
	return listCall(ItemOf, list.At, list, Constant(int64(number), list.At))
}

// NewPresent builds a call of PresentTest.
func NewPresent(at source.Place, count *Expr, member int) *Expr {
	return listCall(PresentTest, at, count, Constant(int64(member), at))
}

func listCall(f *Function, at source.Place, items ...*Expr) *Expr {
	return NewCall(f, at, &Expr{Kind: ListExpr, At: at, Items: items})
}

// MapExistence maps the parts of a call that only plans have (IsExistence).
func (e *Expr) MapExistence(change func(*Expr) *Expr) *Expr { return e.withArg(e.arg.Map(change)) }

// Map maps the items of a list or map, or the calls and values in the argument of a call.
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

// Logic returns the parts of a condition: an `equals` of two, `and`, `or`, `not` or `if`.
// Otherwise meaning is "".
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

// Operands are the kinds of operands that functions have.
type Operands uint8

// The operands of functions.
const (
	OtherOperands Operands = iota
	JoinedItems            // of list_join
	JoinedLists            // of list_concat
	MergedMaps             // of map_merge
	SplitText              // of str_split
)

// Operands are the operands of a call, and its other arguments.
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

// Pattern is the template in which a call replaces placeholders; nil if it replaces none.
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

// Beginning is the first part of a call's text; nil if unknown.
func (e *Expr) Beginning() *Expr {
	if e.Kind != CallExpr {
		return nil
	}
	switch e.Func.Meaning() {
	case "Fn::Base64": // which encodes nothing
		return e.arg
	case "repeat": // not a string
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

// OwnFact is the fact that a call of OwnFact names, or the network and number of an
// address.
func (e *Expr) OwnFact() (name contract.Fact, network, number value.Value) {
	switch v := e.arg.Value.(type) {
	case string:
		return contract.Fact(v), nil, nil
	case []value.Value: // checked by the schema
		return "", v[1], v[2]
	}
	return "", nil, nil
}

// AsValue is an expression in template notation; instead, if not nil, may replace a call.
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
