package heat

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
)

// A member of a group that scales knows no more of itself than its stack's id. Its
// servers get that, with the path that all members have, and their agents take a slot.

// isSlot says whether a use of a template is a member of a group that scales.
func isSlot(use *program.Stack) bool { return use.StackResource != nil && use.StackResource.Slots() }

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
