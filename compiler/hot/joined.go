package hot

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// JoinedOf are the items of a list, or entries of a map, of the members that are in a group
// now: {"$joined": [GROUP, COUNT, ITEMS]}. Which these are, who evaluates it knows; COUNT is
// how many Heat was told to make, as MembersOf has it.
var JoinedOf = &Function{Name: "$joined", Lazy: foldJoinedOf}

// A Joiner is a Resolver that knows who is in a group: the positions, in their order, of those
// of its possible members that are. A Resolver that does not know takes the first ones.
type Joiner interface {
	Joined(group string, count, possible int) ([]int, error)
}

// NewJoined is such a call.
func NewJoined(e *Expr) *Expr {
	m, _ := e.Members()
	return listCall(JoinedOf, e.At, m.Group, m.Count, m.Items)
}

// firsts are in a group as far as its number says.
type firsts struct{}

func (firsts) Joined(group string, count, possible int) ([]int, error) {
	if count > possible {
		return nil, tooMany(group, count, possible)
	}
	all := make([]int, count)
	for n := range all {
		all[n] = n
	}
	return all, nil
}

func tooMany(group string, count, possible int) error {
	return fmt.Errorf("the group %s has %d members, and was compiled for %d at most", group, count, possible)
}

func foldJoinedOf(f *folder, call *Expr) (*Expr, error) {
	m, err := f.members(call)
	if err != nil || !m.known || f.joiner == nil {
		return m.call, err
	}
	keys, items := m.items.entries()
	which, err := f.joiner.Joined(m.group, m.size, len(items))
	if err != nil {
		return nil, err
	}
	out := &Expr{Kind: ListExpr, At: call.At}
	if keys != nil {
		out.Kind = MapExpr
	}
	for _, n := range which {
		if n < 0 || n >= len(items) {
			return nil, tooMany(m.group, n+1, len(items))
		}
		if out.Items = append(out.Items, items[n]); keys != nil {
			out.Keys = append(out.Keys, keys[n])
		}
	}
	return f.fold(out.collapse())
}

// JoinedCells calls visit for each cell that the items of a JoinedOf read: with the group,
// and which of its possible members the item is. Of groups within groups it is the inner one.
func (e *Expr) JoinedCells(visit func(group string, member int, cell contract.CellName)) {
	e.Walk(func(x *Expr) bool {
		if x.Kind != CallExpr || x.Func != JoinedOf {
			return true
		}
		m, _ := x.Members()
		_, items := m.Items.entries()
		for n, item := range items {
			item.Walk(func(y *Expr) bool {
				if y.Kind == CallExpr && y.Func == JoinedOf {
					y.JoinedCells(visit)
					return false
				}
				if r := y.Ref(); r.Kind == ToCell && r.Name != "" {
					visit(value.ToString(m.Group.Value), n, r.Cell())
				}
				return true
			})
		}
		return false
	})
}

// WithoutCounts is the expression without what says only who is there: the numbers of groups'
// members.
func (e *Expr) WithoutCounts() *Expr {
	if e.Kind == ValueExpr {
		return e
	}
	if m, are := e.Members(); are {
		return listCall(e.Func, e.At, m.Group, Constant(int64(0), e.At), m.Items.WithoutCounts())
	}
	if e.Kind == CallExpr && e.Func == PresentTest {
		return Constant(true, e.At)
	}
	return e.Map((*Expr).WithoutCounts)
}
