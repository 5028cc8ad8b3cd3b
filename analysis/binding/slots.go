package binding

import (
	"maps"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Slots replaces the largest parts of an expression that only Heat can resolve. Each
// then stands alone in a template, so what Heat would not have looked at is kept from
// it: a part in a branch of an `if` that Heat decides stays in such an `if`, and a
// condition, which is no value to Heat, becomes one.
func Slots(e *hot.Expr, deploy func(*hot.Expr) *hot.Expr) *hot.Expr {
	return slots{deploy: deploy}.in(e)
}

type slots struct {
	deploy func(*hot.Expr) *hot.Expr
	// guards are the conditions around that Heat decides, the outermost first.
	guards []guard
	// known are the conditions around, as text, with the branch that is taken.
	known map[string]bool
	// decider is the `if` whose condition is looked at; nil elsewhere.
	decider *hot.Expr
}

// guard is a branch of an `if`.
type guard struct {
	call  *hot.Expr
	taken bool // whether it is the branch of true
}

func (s slots) in(e *hot.Expr) *hot.Expr {
	switch TimeOf(e) {
	case Static:
		return e
	case Deploy:
		if !e.AsksPresence() && (len(s.guards) > 0 || !e.CallsRemoved()) {
			return s.slot(e)
		}
	}
	if e.Kind != hot.CallExpr {
		return s.items(e)
	}
	switch {
	case e.Func == hot.CellRef, e.Func == hot.AbsentRef:
		return e
	case e.Func.Meaning() == "if":
		return s.branches(e)
	case e.Func.OfPresence():
		s.decider = nil
		out := *e
		out.Items = []*hot.Expr{s.items(e.Arg())}
		return &out
	}
	inner := s
	switch e.Func.Meaning() {
	case "not", "and", "or":
	default:
		inner.decider = nil // equals and others take values
	}
	return inner.items(e)
}

func (s slots) items(e *hot.Expr) *hot.Expr {
	out := *e
	out.Items = make([]*hot.Expr, len(e.Items))
	for i, x := range e.Items {
		out.Items[i] = s.in(x)
	}
	return &out
}

// branches is an `if`, whose branches Heat may look at only if it would take them.
func (s slots) branches(e *hot.Expr) *hot.Expr {
	test := string(value.EncodeJSON(Written(e.Arg().Items[0])))
	if taken, known := s.known[test]; known {
		return s.in(branch(e, taken))
	}
	arg := *e.Arg()
	arg.Items = make([]*hot.Expr, len(e.Arg().Items))
	for i, x := range e.Arg().Items {
		inner := s
		if i > 0 {
			inner.known = maps.Clone(s.known)
			if inner.known == nil {
				inner.known = map[string]bool{}
			}
			inner.known[test] = i == 1
		}
		inner.decider = nil
		switch condition := e.Arg().Items[0]; {
		case i == 0:
			inner.decider = e
		case TimeOf(condition) == Deploy && !condition.AsksPresence() && !IsCarried(condition):
			inner.guards = append(inner.guards[:len(inner.guards):len(inner.guards)], guard{e, i == 1})
		}
		arg.Items[i] = inner.in(x)
	}
	out := *e
	out.Items = []*hot.Expr{&arg}
	return &out
}

// branch is the one of an `if` that is taken.
func branch(e *hot.Expr, taken bool) *hot.Expr {
	items := e.Arg().Items
	switch {
	case taken:
		return items[1]
	case len(items) == 3:
		return items[2]
	}
	return hot.Constant(nil, e.At)
}

// slot hands a part over to Heat.
func (s slots) slot(e *hot.Expr) *hot.Expr {
	if s.decider != nil && !IsCarried(e) {
		e = choice(s.decider, e, hot.Constant(true, e.At), hot.Constant(false, e.At))
	}
	for i := len(s.guards) - 1; i >= 0; i-- {
		g, nothing := s.guards[i], hot.Constant(nil, e.At)
		condition := g.call.Arg().Items[0]
		if g.taken {
			e = choice(g.call, condition, e, nothing)
		} else {
			e = choice(g.call, condition, nothing, e)
		}
	}
	return s.deploy(e)
}

// choice is an `if` like another one.
func choice(like, condition, then, otherwise *hot.Expr) *hot.Expr {
	arg := &hot.Expr{Kind: hot.ListExpr, At: then.At, Items: []*hot.Expr{condition, then, otherwise}}
	out := *like
	out.At, out.Items = then.At, []*hot.Expr{arg}
	return &out
}

// IsCarried says whether a condition is one of another stack's, which Heat decides
// there: here it is a value, true or false, and what depends on it was guarded there.
func IsCarried(e *hot.Expr) bool {
	r := e.Ref()
	return r.Kind == hot.ToAttribute || r.Kind == hot.ToParameter && r.Name == DeployParameter
}
