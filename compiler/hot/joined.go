package hot

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// JoinedOf are the items of a list, or entries of a map, of the current members of a group:
// {"$joined": [GROUP, COUNT, ITEMS]}. The evaluator knows which members these are; COUNT is
// the requested size, as in MembersOf.
var JoinedOf = &Function{Name: "$joined", Lazy: foldJoinedOf}

// A Joiner is a Resolver that knows the members of a group: their positions among the possible
// members, in order. Without one, the first members are taken.
type Joiner interface {
	Joined(group string, count, possible int) ([]int, error)
}

// NewJoined turns a call of MembersOf into one of JoinedOf.
func NewJoined(e *Expr) *Expr {
	m, _ := e.Members()
	return listCall(JoinedOf, e.At, m.Group, m.Count, m.Items)
}

// firstMembers takes as many of the first members as the group's size says.
type firstMembers struct{}

func (firstMembers) Joined(group string, count, possible int) ([]int, error) {
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
	return fmt.Errorf("the group %s has %d members, but was compiled for at most %d", group, count, possible)
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

// JoinedCells calls visit for each cell that an item of a JoinedOf reads, with the group and
// the position of the item's member. For nested groups it is the inner one.
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

// WithoutCounts is the expression without the parts that only say which members exist: the
// sizes of groups.
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
