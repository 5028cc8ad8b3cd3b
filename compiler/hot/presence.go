package hot

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// What only Heat decides of whether something is there: a resource whose condition
// is left to it, the members of a group whose number is. These are calls of plans;
// no template has them.
var (
	// AbsentRef is what nobody gives: {"$absent": WHY}. It fails with an AbsentError.
	AbsentRef = &Function{Name: "$absent", Reference: true}
	// PresentTest says whether a group of COUNT members has number N, counted from 0:
	// {"$present": [COUNT, N]}.
	PresentTest = &Function{Name: "$present", Apply: applyPresent}
	// MembersOf are the first COUNT items of a list, or entries of a map, and fail if there
	// are fewer: {"$members": [GROUP, COUNT, ITEMS]}. The others are not looked at.
	MembersOf = &Function{Name: "$members", Lazy: foldMembersOf}
	// ItemOf is an item of a list of Heat's: {"$item": [LIST, N]}.
	ItemOf = &Function{Name: "$item", Apply: applyItem}
)

// OwnFact is what a role's input reads of its own server: {fact: NAME}, where the block's
// schema allows it. It is not a function of the language.
var OwnFact = &Function{Name: "fact", Reference: true}

// presenceFunctions are all of them.
var presenceFunctions = []*Function{AbsentRef, PresentTest, MembersOf, JoinedOf, ItemOf}

// AbsentError says that nobody gives a value, since Heat has not made who would.
type AbsentError struct{ Why string }

func (e *AbsentError) Error() string { return e.Why }

// OfPresence says whether a call is one of those that no template has.
func (f *Function) OfPresence() bool { return slices.Contains(presenceFunctions, f) }

// AsksPresence says whether there is such a call in the expression.
func (e *Expr) AsksPresence() bool {
	return e.Any(func(x *Expr) bool { return x.Kind == CallExpr && x.Func.OfPresence() })
}

// CountDefault is how many members a group has whose count is null or not said
// (heat/engine/resources/openstack/heat/resource_group.py, properties_schema).
const CountDefault = 1

// GroupSize is a group's number of members as Heat reads it from a property, by
// Python's int; missing is the property's default, which null stands for
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
		return nil, fmt.Errorf("$present needs a number of members and one of them")
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

// gathered is what MembersOf and JoinedOf are about.
type gathered struct {
	call  *Expr // with its count folded
	group string
	known bool // how many members there are
	size  int
	items *Expr
}

func (f *folder) members(call *Expr) (gathered, error) {
	args, _ := call.arg.list()
	if len(args) != 3 {
		return gathered{}, fmt.Errorf("%s needs the group's name, its size and the items", call.Func.Name)
	}
	count, err := f.fold(args[1])
	if err != nil {
		return gathered{}, err
	}
	g := gathered{group: value.ToString(args[0].Value), items: args[2], known: count.IsValue()}
	g.call = call.withArg(&Expr{Kind: ListExpr, At: call.arg.At, Items: []*Expr{args[0], count, args[2]}})
	if g.known {
		g.size, err = GroupSize(count.Value, CountDefault)
	}
	return g, err
}

// entries are the items of a list, or those of a map with their keys.
func (e *Expr) entries() (keys []string, items []*Expr) {
	if items, ok := e.list(); ok {
		return nil, items
	}
	if d, ok := e.Value.(*value.Dict); ok {
		return d.Keys(), constants(d.Values(), e.At)
	}
	return e.Keys, e.Items
}

// DecidedSize is what Heat decided of the stack's topology as a number of members: true is 1, false
// and what cannot be read are 0.
func DecidedSize(value json.RawMessage) int {
	v, err := yaml.DecodeJSON(value)
	if err != nil {
		return 0
	}
	size, _ := GroupSize(v, CountDefault)
	return size
}
