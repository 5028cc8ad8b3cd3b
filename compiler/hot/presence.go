package hot

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Existence that only Heat decides: of a resource by its condition, of the members of
// a group by its size. These calls occur in plans, never in templates.
var (
	// AbsentRef is a value that is never written: {"$absent": WHY}. It fails with an
	// AbsentError.
	AbsentRef = &Function{Name: "$absent", Reference: true}
	// PresentTest tests whether a group of COUNT members has member N, counted from 0:
	// {"$present": [COUNT, N]}.
	PresentTest = &Function{Name: "$present", Apply: applyPresent}
	// MembersOf are the first COUNT items of a list, or entries of a map:
	// {"$members": [GROUP, COUNT, ITEMS]}. It fails if there are fewer; the rest is not
	// evaluated.
	MembersOf = &Function{Name: "$members", Lazy: foldMembersOf}
	// ItemOf is an item of a list that Heat provides: {"$item": [LIST, N]}.
	ItemOf = &Function{Name: "$item", Apply: applyItem}
)

// OwnFact is a fact of a role's own server in an input: {fact: NAME}, where the block's
// schema allows it. It is not a function of the language.
var OwnFact = &Function{Name: "fact", Reference: true}

// existenceFunctions are the functions above that plans add.
var existenceFunctions = []*Function{AbsentRef, PresentTest, MembersOf, JoinedOf, ItemOf}

// AbsentError says that a value is never written, since Heat has not created its writer.
type AbsentError struct{ Why string }

func (e *AbsentError) Error() string { return e.Why }

// IsExistence reports whether the function is one that only plans have.
func (f *Function) IsExistence() bool { return slices.Contains(existenceFunctions, f) }

// UsesExistence reports whether the expression calls such a function.
func (e *Expr) UsesExistence() bool {
	return e.Any(func(x *Expr) bool { return x.Kind == CallExpr && x.Func.IsExistence() })
}

// CountDefault is the size of a group whose count is null or missing
// (heat/engine/resources/openstack/heat/resource_group.py, properties_schema).
const CountDefault = 1

// GroupSize is a group's size as Heat reads it from a property, with Python's int;
// missing is the property's default, which replaces null
// (heat/engine/properties.py, Property._get_integer).
func GroupSize(v value.Value, missing int) (int, error) {
	if v == nil {
		return missing, nil
	}
	number, _ := value.Integer(v)
	size, ok := number.(int64)
	if !ok || size < 0 || size > 1<<30 {
		return 0, fmt.Errorf("a group cannot have %s members", value.EncodeJSON(v))
	}
	return int(size), nil
}

func applyPresent(_ *work, arg value.Value) (value.Value, error) {
	args, _ := arg.([]value.Value)
	if len(args) != 2 {
		return nil, fmt.Errorf("$present needs a group's size and a member")
	}
	size, err := GroupSize(args[0], CountDefault)
	n, ok := args[1].(int64)
	if err == nil && !ok {
		err = fmt.Errorf("$present: a member is a number, not %s", value.TypeName(args[1]))
	}
	return n < int64(size), err
}

func applyItem(_ *work, arg value.Value) (value.Value, error) {
	args, _ := arg.([]value.Value)
	if len(args) != 2 {
		return nil, fmt.Errorf("$item needs a list and a position")
	}
	return Select(args[0], args[1:]), nil
}

func foldMembersOf(f *folder, call *Expr) (*Expr, error) {
	m, err := f.members(call)
	if err != nil || !m.known {
		return m.call, err
	}
	keys, items := m.items.entries()
	if m.size > len(items) {
		return nil, tooMany(m.group, m.size, len(items))
	}
	out := &Expr{Kind: ListExpr, At: call.At, Items: items[:m.size]}
	if keys != nil {
		out.Kind, out.Keys = MapExpr, keys[:m.size]
	}
	return f.fold(out.collapse())
}

// memberCall is the argument of MembersOf and JoinedOf.
type memberCall struct {
	call  *Expr // with its count folded
	group string
	known bool // size is
	size  int
	items *Expr
}

func (f *folder) members(call *Expr) (memberCall, error) {
	args, _ := call.arg.list()
	if len(args) != 3 {
		return memberCall{}, fmt.Errorf("%s needs the group's name, its size and the items", call.Func.Name)
	}
	count, err := f.fold(args[1])
	if err != nil {
		return memberCall{}, err
	}
	g := memberCall{group: value.ToString(args[0].Value), items: args[2], known: count.IsValue()}
	g.call = call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: []*Expr{args[0], count, args[2]}})
	if g.known {
		g.size, err = GroupSize(count.Value, CountDefault)
	}
	return g, err
}

// entries are the items of a list, or the values of a map with their keys.
func (e *Expr) entries() (keys []string, items []*Expr) {
	if items, ok := e.list(); ok {
		return nil, items
	}
	if d, ok := e.Value.(*value.Dict); ok {
		return d.Keys(), constants(d.Values(), e.At)
	}
	return e.Keys, e.Items
}

// DecidedSize is Heat's decision about a part of the topology as a number of members: true is
// 1, false and what cannot be read are 0.
func DecidedSize(value json.RawMessage) int {
	v, err := yaml.DecodeJSON(value)
	if err != nil {
		return 0
	}
	size, _ := GroupSize(v, CountDefault)
	return size
}
