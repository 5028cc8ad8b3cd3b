package heat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit/edit"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// A member of a group that scales knows no more of itself than its stack's id. Its
// servers get that, with the path that all members have, and their agents take a slot.

// isSlot says whether a use of a template is a member of a group that scales.
func isSlot(use *program.Stack) bool { return use.Nest != nil && use.Nest.Slots() }

// inSlot says whether the template is used below such a member: it is handed what that
// one knows of itself.
func (s *stack) inSlot() bool {
	if s.inMember {
		return s.slotAround != nil
	}
	return slices.ContainsFunc(s.stacks, func(use *program.Stack) bool {
		n, _ := use.Scaled()
		return n != nil && !isSlot(use)
	})
}

// slot is which member of a group that scales the template's servers lie in (coordinator/
// plan, BootSlot); nil if in none.
func (s *stack) slot() tree {
	switch {
	case s.isSlot:
		return dict("path", parameter(ParameterPath), "member", parameter(hot.StackID))
	case s.inSlot():
		return parameter(ParameterSlot)
	}
	return nil
}

// checkSlots refuses a template that is a member of a group that scales in some uses
// only, and groups of which two uses differ.
func (s *stack) checkSlots() {
	at := s.template.Place(s.template.Root)
	if member := slices.IndexFunc(s.stacks, isSlot); member >= 0 {
		s.isSlot = true
		if other := slices.IndexFunc(s.stacks, func(use *program.Stack) bool { return !isSlot(use) }); other >= 0 {
			s.diags.Error(source.NotYet, at, fmt.Sprintf("the template is a member of a group that scales in %q, and none in %q; hotc cannot emit one text for both yet", stackPath(s.stacks[member]), stackPath(s.stacks[other])), "use two files")
		}
	}
	for _, n := range s.carrying() {
		s.checkDeleteHooks(n)
		for _, use := range s.stacks {
			other := use.NestOf(n.Resource.Name)
			if n.Slots() && other != nil && other.Slots() && !sameCount(n, other) {
				s.diags.Error(source.NotYet, other.SizeAt, fmt.Sprintf("how many members %q has is said by different properties in %q and in %q; hotc cannot emit one text for both yet", n.Resource.Name, stackPath(n.In), stackPath(use)), "use two files")
			}
		}
	}
}

// checkDeleteHooks refuses hooks by which a policy that removes a member would wait for an
// operator.
func (s *stack) checkDeleteHooks(n *program.Nest) {
	if !n.Slots() {
		return
	}
	i := slices.IndexFunc(s.program.Servers, func(x *program.Server) bool {
		return strings.HasPrefix(x.Path, n.In.PathOf(n.Resource.Name)+"/") && hasDeleteHook(x)
	})
	if i >= 0 {
		s.diags.Error(source.NotYet, s.program.Servers[i].At(), fmt.Sprintf("a role has a delete hook, and %q is a group that scales: Heat removes its members by itself, and cannot wait for the hook of each", n.Resource.Name),
			"use OS::Heat::ResourceGroup, or run an action before you scale the group in")
	}
}

func sameCount(a, b *program.Nest) bool {
	return edit.Text("count", emitplan.HOT(a.Count)) == edit.Text("count", emitplan.HOT(b.Count))
}
