package binding

import (
	"maps"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Slots replaces the largest parts of an expression that only Heat can resolve. Each
// then stands alone in a template, so Heat must not evaluate more than before: a part
// in a branch of an `if` that Heat decides stays in such an `if`, and a condition,
// which is not a value to Heat, becomes one.
func Slots(e *hot.Expr, deploy func(*hot.Expr) *hot.Expr) *hot.Expr {
	return slots{deploy: deploy}.in(e)
}

type slots struct {
	deploy func(*hot.Expr) *hot.Expr
	// guards are the enclosing conditions that Heat decides, the outermost first.
	guards []guard
	// known are the enclosing conditions, as JSON, with the branch that is taken.
	known map[string]bool
	// decider is the `if` whose condition is being replaced; nil elsewhere.
	decider *hot.Expr
}

// guard is a branch of an `if`.
type guard struct {
	call      *hot.Expr
	condition *hot.Expr
	taken     bool // whether it is the branch for true
}

func (s slots) in(e *hot.Expr) *hot.Expr {
	switch TimeOf(e) {
	case contract.Static:
		return e
	case contract.Deploy:
		if !e.UsesExistence() && (len(s.guards) > 0 || !e.CallsRemoved()) {
			return s.slot(e)
		}
	}
	if e.Kind != hot.CallExpr {
		return e.Map(s.in)
	}
	choice, is := e.If()
	switch {
	case e.Func == hot.CellRef, e.Func == hot.AbsentRef:
		return e
	case is:
		return s.branches(e, choice)
	case e.Func.IsExistence():
		s.decider = nil
		return e.MapExistence(s.in)
	}
	inner := s
	switch e.Func.Meaning() {
	case "not", "and", "or":
	default:
		inner.decider = nil // equals and others take values, not conditions
	}
	return e.Map(inner.in)
}

// branches is an `if`, whose branches Heat may evaluate only if it would take them.
func (s slots) branches(e *hot.Expr, choice hot.If) *hot.Expr {
	test := string(value.EncodeJSON(Written(choice.Condition)))
	if taken, known := s.known[test]; known {
		return s.in(branch(choice, taken))
	}
	branch := func(taken bool, x *hot.Expr) *hot.Expr {
		inner := s
		if inner.known = maps.Clone(s.known); inner.known == nil {
			inner.known = map[string]bool{}
		}
		inner.known[test] = taken
		inner.decider = nil
		if TimeOf(choice.Condition) == contract.Deploy && !choice.Condition.UsesExistence() && !IsCarried(choice.Condition) {
			inner.guards = append(inner.guards[:len(inner.guards):len(inner.guards)], guard{e, choice.Condition, taken})
		}
		return inner.in(x)
	}
	condition := s
	condition.decider = e
	out := hot.If{Condition: condition.in(choice.Condition), Then: branch(true, choice.Then)}
	if choice.Else != nil {
		out.Else = branch(false, choice.Else)
	}
	return e.WithIf(out)
}

// branch is the branch of an `if` that is taken.
func branch(choice hot.If, taken bool) *hot.Expr {
	switch {
	case taken:
		return choice.Then
	case choice.Else != nil:
		return choice.Else
	}
	return hot.Constant(nil, choice.Then.At)
}

// slot leaves a part to Heat.
func (s slots) slot(e *hot.Expr) *hot.Expr {
	if s.decider != nil && !IsCarried(e) {
		e = hot.NewIf(s.decider, e.At, hot.If{Condition: e, Then: hot.Constant(true, e.At), Else: hot.Constant(false, e.At)})
	}
	for i := len(s.guards) - 1; i >= 0; i-- {
		g, nothing := s.guards[i], hot.Constant(nil, e.At)
		c := hot.If{Condition: g.condition, Then: e, Else: nothing}
		if !g.taken {
			c.Then, c.Else = nothing, e
		}
		e = hot.NewIf(g.call, e.At, c)
	}
	return s.deploy(e)
}

// IsCarried says whether a condition belongs to another stack, where Heat decides it:
// here it is a value, true or false, and what depends on it was guarded there.
func IsCarried(e *hot.Expr) bool {
	r := e.Ref()
	return r.Kind == hot.ToAttribute || r.Kind == hot.ToParameter && r.Name == DeployParameter
}
