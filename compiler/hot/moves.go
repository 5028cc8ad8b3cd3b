package hot

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Move is a value that Heat provides in one of two definitions of a role, and that is literal in
// the other, or provided by an operator: a parameter newly set with -P or --secret-param, or no
// longer set.
type Move struct {
	Key   string // of Server.Deploy
	Value json.RawMessage
	Cell  contract.CellName // with the operator's value, instead of Value; "" if none
}

// Moves returns the values of a role that Heat used to provide and no longer does, and vice versa;
// not ok if anything else of its definition has changed, except for members that may join a
// followed group: the role runs when they do.
func Moves(from, to *contract.Role) (into, out []Move, ok bool) {
	bare := func(r contract.Role) contract.Role {
		r.Inputs = slices.Clone(r.Inputs)
		for i := range r.Inputs {
			r.Inputs[i].Time, r.Inputs[i].Expr = "", nil
			r.Inputs[i].Reads = slices.DeleteFunc(slices.Clone(r.Inputs[i].Reads), func(c contract.CellName) bool {
				_, given := c.Parameter()
				return given || slices.ContainsFunc(to.Follows, func(f contract.Follow) bool { return f.Cell == c && f.Member != nil })
			})
			if len(r.Inputs[i].Reads) == 0 {
				r.Inputs[i].Reads = nil
			}
		}
		return r
	}
	x, y := bare(*from), bare(*to)
	if x.Definition() != y.Definition() {
		return nil, nil, false
	}
	var m moves
	for i := range from.Inputs {
		was, err := ParseResidual(from.Inputs[i].Expr, nil)
		now, err2 := ParseResidual(to.Inputs[i].Expr, nil)
		if err != nil || err2 != nil || !m.compare(was.expr, now.expr) {
			return nil, nil, false
		}
	}
	return m.into, m.out, true
}

// moves are those that a comparison has found so far.
type moves struct{ into, out []Move }

// compare reports whether two expressions are the same but for moves and joining members.
func (m *moves) compare(was, now *Expr) bool {
	had, has := was.Ref(), now.Ref()
	switch given, gives := had.isWhole(ToDeploy), has.isWhole(ToDeploy); {
	case given && gives:
		return had.Name == has.Name
	case given:
		return moved(&m.into, had.Name, now)
	case gives:
		return moved(&m.out, has.Name, was)
	case was.Kind != CallExpr || now.Kind != CallExpr:
		return m.parts(was, now, false)
	case was.Func != now.Func:
		return false
	case was.Func != JoinedOf:
		return m.compare(was.arg, now.arg)
	}
	// The size that Heat was told matters only for a role's first run.
	x, _ := was.arg.list()
	y, _ := now.arg.list()
	return len(x) == 3 && len(y) == 3 && m.compare(x[0], y[0]) &&
		(x[1].IsValue() && y[1].IsValue() || m.compare(x[1], y[1])) && m.parts(x[2], y[2], true)
}

// parts compares values, or the parts of lists and maps. A list that may grow keeps its beginning,
// and a map its entries.
func (m *moves) parts(was, now *Expr, grows bool) bool {
	keys, had := was.entries()
	others, has := now.entries()
	kind := was.collection()
	if kind != now.collection() || len(had) > len(has) || len(had) < len(has) && !grows {
		return false
	}
	for i, x := range had {
		at := i
		if kind == MapExpr {
			at = slices.Index(others, keys[i])
		}
		if at < 0 || !m.compare(x, has[at]) {
			return false
		}
	}
	return kind != ValueExpr || bytes.Equal(value.EncodeJSON(was.Value), value.EncodeJSON(now.Value))
}

// collection is the kind of an expression, also of one whose parts are all known.
func (e *Expr) collection() ExprKind {
	switch e.Value.(type) {
	case []value.Value:
		return ListExpr
	case *value.Dict:
		return MapExpr
	}
	return e.Kind
}

// moved adds a move between Heat and what another definition has instead; false if that is neither
// a value nor an operator's.
func moved(to *[]Move, key string, other *Expr) bool {
	m := Move{Key: key}
	r := other.Ref()
	if _, given := r.Cell().Parameter(); given && r.isWhole(ToCell) {
		m.Cell = r.Cell()
	} else if other.IsValue() {
		m.Value = value.EncodeJSON(other.Value)
	} else {
		return false
	}
	*to = append(*to, m)
	return true
}

// isWhole reports whether a reference of a plan is to a whole value.
func (r Ref) isWhole(kind RefKind) bool { return r.Kind == kind && len(r.Path) == 0 && !r.Computed }
