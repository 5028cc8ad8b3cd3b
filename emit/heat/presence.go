package heat

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// What may not be there, in places that Heat evaluates: a value that nobody gives is
// null, as is every value that has not come.

// ifPresent writes what depends on Heat's own decisions; done is false for all else.
func (s *stack) ifPresent(e *hot.Expr, val func(o *program.Output, path []value.Value) tree) (v tree, done bool) {
	if e.Kind != hot.CallExpr {
		return nil, false
	}
	switch {
	case e.Func == hot.AbsentRef:
		return nil, true
	case e.Func == hot.MembersOf:
		return s.firstMembers(e, val), true
	case e.Func == hot.ItemOf:
		return s.itemOf(e, val), true
	case e.Func.Meaning() != "if" || e.Arg().Kind != hot.ListExpr:
		return nil, false
	}
	items := e.Arg().Items
	switch {
	case items[0].AsksPresence(): // a member of a group
		return s.withValues(items[1], val), true
	case binding.IsCarried(items[0]):
		return s.decidedElsewhere(e, val), true
	}
	return nil, false
}

// computes says whether the template's version can compute.
func (s *stack) computes() bool { return s.version >= hot.V20161014 }

// firstMembers is what is gathered over as many members as there are.
func (s *stack) firstMembers(e *hot.Expr, val func(o *program.Output, path []value.Value) tree) tree {
	items := e.Arg().Items
	if !s.computes() {
		s.notComputed(e)
		return nil
	}
	if n := len(items[2].Items); n > yaqlItems {
		s.tooMany(e.At, fmt.Sprintf("this list may have %d items", n))
	}
	expression := fmt.Sprintf("$.data.all.take(int(coalesce($.data.count, %d)))", hot.CountDefault)
	all := s.withValues(items[2], val)
	if d, named := all.(*value.Dict); named {
		pairs := []value.Value{}
		for _, k := range d.Keys() {
			x, _ := d.Get(k)
			pairs = append(pairs, []value.Value{k, x})
		}
		expression, all = "dict("+expression+")", pairs
	}
	return dict("yaql", dict("expression", expression, "data", dict("all", all, "count", s.withValues(items[1].WithElse(), val))))
}

// itemOf is an item of a list of Heat's, null if it has none.
func (s *stack) itemOf(e *hot.Expr, val func(o *program.Output, path []value.Value) tree) tree {
	items := e.Arg().Items
	if !s.computes() {
		s.notComputed(e)
		return nil
	}
	return dict("yaql", dict("expression", fmt.Sprintf("coalesce($.data.list, []).skip(%v).first(null)", items[1].Value), "data", dict("list", s.withValues(items[0], val))))
}

// decidedElsewhere is an `if` whose condition is one of a nested stack, or of the stack
// around: here it is a value, and none of Heat's conditions.
func (s *stack) decidedElsewhere(e *hot.Expr, val func(o *program.Output, path []value.Value) tree) tree {
	items := e.Arg().Items
	if !s.computes() || len(items) != 3 {
		s.notComputed(e)
		return nil
	}
	return dict("yaql", dict("expression", "switch($.data.if => $.data.then, true => $.data.else)", "data", dict(
		"if", binding.Written(items[0]), "then", s.withValues(items[1], val), "else", s.withValues(items[2], val))))
}

// notComputed refuses what the template's version has no words for.
func (s *stack) notComputed(e *hot.Expr) {
	s.diags.Error(source.NotYet, e.At, "what this gives depends on what Heat decides when it makes the stack, and the version of the template, "+s.template.Version.String()+", cannot compute it",
		"use heat_template_version: 2016-10-14 or newer, or give the parameters that decide it with -P or -e")
}
