package heat

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Values that may be absent, in places that Heat evaluates: such a value is null, as is every
// value that has not arrived yet.

// ifPresent writes what depends on Heat's own decisions; done is false for anything else.
func (s *stack) ifPresent(e *hot.Expr, stored func(o *program.Output) []value.Value) (v tree, done bool) {
	if e.Func == hot.AbsentRef {
		return nil, true
	}
	if m, are := e.Members(); are {
		return s.firstMembers(e, m, stored), true
	}
	if list, number, is := e.Item(); is {
		return s.itemOf(e, list, number, stored), true
	}
	switch choice, is := e.If(); {
	case !is:
	case choice.Condition.UsesExistence(): // a member of a group
		return s.withValues(choice.Then, stored), true
	case binding.IsCarried(choice.Condition):
		return s.decidedElsewhere(e, choice, stored), true
	}
	return nil, false
}

// computes reports whether the template's version can compute.
func (s *stack) computes() bool { return s.version >= hot.V20161014 }

// firstMembers gathers values from as many members as exist.
func (s *stack) firstMembers(e *hot.Expr, m hot.Members, stored func(o *program.Output) []value.Value) tree {
	if !s.computes() {
		s.notComputed(e)
		return nil
	}
	if n := len(m.Items.Items); n > yaqlItems {
		s.tooMany(e.At, fmt.Sprintf("this list may have %d items", n))
	}
	all := s.withValues(m.Items, stored)
	d, named := all.(*value.Dict)
	if named {
		pairs := []value.Value{}
		for k, x := range d.All() {
			pairs = append(pairs, []value.Value{k, x})
		}
		all = pairs
	}
	var expression string
	data := dict("all", all)
	if e.Func == hot.JoinedOf {
		expression = "$.data.all.zip($.data.there).where($[1].any($ != null)).select($[0])"
		data.Set("there", s.presences(m.Items, stored))
	} else {
		expression = fmt.Sprintf("$.data.all.take(int(coalesce($.data.count, %d)))", hot.CountDefault)
		data.Set("count", s.withValues(m.Count.WithElse(), stored))
	}
	if named {
		expression = "dict(" + expression + ")"
	}
	return dict("yaql", dict("expression", expression, "data", data))
}

// presences are, for each item, what Heat has of the servers that write it: null of one that is not
// there. The members of a group that scales may have any of its slots.
func (s *stack) presences(items *hot.Expr, stored func(o *program.Output) []value.Value) []value.Value {
	return lists.Map(items.Items, func(item *hot.Expr) value.Value {
		var servers []value.Value
		seen := map[contract.ServerPath]bool{}
		for _, cell := range item.Cells() {
			o := s.analysis.Cells[cell].Output
			if o == nil || seen[o.Role.Server.Path] {
				continue
			}
			seen[o.Role.Server.Path] = true
			servers = append(servers, storedAt(stored(o)[:3])) // the wait, its attribute, the server
		}
		return servers
	})
}

// itemOf returns an item of a list in Heat, null if there is none.
func (s *stack) itemOf(e, list *hot.Expr, number value.Value, stored func(o *program.Output) []value.Value) tree {
	if !s.computes() {
		s.notComputed(e)
		return nil
	}
	return dict("yaql", dict("expression", fmt.Sprintf("coalesce($.data.list, []).skip(%v).first(null)", number), "data", dict("list", s.withValues(list, stored))))
}

// decidedElsewhere is an `if` whose condition belongs to a nested or the parent stack: there it
// is a value, not one of this template's conditions.
func (s *stack) decidedElsewhere(e *hot.Expr, c hot.If, stored func(o *program.Output) []value.Value) tree {
	if !s.computes() || c.Else == nil {
		s.notComputed(e)
		return nil
	}
	return dict("yaql", dict("expression", "switch($.data.if => $.data.then, true => $.data.else)", "data", dict(
		"if", binding.Written(c.Condition), "then", s.withValues(c.Then, stored), "else", s.withValues(c.Else, stored))))
}

// notComputed refuses what the template's version cannot express.
func (s *stack) notComputed(e *hot.Expr) {
	s.diags.Error(source.NotYet, e.At, "what this gives depends on what Heat decides when it makes the stack, and the version of the template, "+s.template.Version.String()+", cannot compute it",
		"use heat_template_version: 2016-10-14 or newer, or give the parameters that decide it with -P or -e")
}
