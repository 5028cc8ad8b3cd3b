package heat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit/edit"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// checkNames refuses a template that uses names reserved for hotc.
func (s *stack) checkNames() {
	for _, p := range s.template.Parameters {
		if slices.Contains(ownParameters, p.Name) && (s.carries() || s.isRoot()) {
			s.diags.Error(source.NameTaken, s.template.Place(p.Entry.Key), fmt.Sprintf("hotc adds a parameter %q itself", p.Name), "rename yours")
		}
	}
	for _, name := range []string{ResourceHandle, ResourceCondition, ResourceValues, ResourceConfig} {
		s.checkName(name)
	}
}

// checkName refuses a resource with a name reserved for hotc.
func (s *stack) checkName(name string) {
	if r := s.template.Resource(name); r != nil {
		s.diags.Error(source.NameTaken, s.template.Place(r.Entry.Key), fmt.Sprintf("hotc adds a resource %q itself", name), "rename yours")
	}
}

// checkOutputs refuses run-time values in outputs with --signal=none.
func (s *stack) checkOutputs() {
	if s.tellsHeat() || !s.isRoot() {
		return
	}
	for _, r := range s.analysis.Reads {
		if r.Expr != nil || r.Output.Value == nil {
			s.diags.Error(source.NeedsHeat, s.template.Place(r.Call), fmt.Sprintf("this output needs %s.%s, which a role writes, and with --signal=none nothing reaches Heat",
				r.Output.Role.Server.Path, r.Output.Attribute), "`hotc outputs` shows it without Heat; else compile with --signal=heat or --signal=relay")
		}
	}
}

// checkSecrets refuses values that a relay would have to report to Heat but cannot decrypt.
func (s *stack) checkSecrets() {
	if s.options.Signal != contract.RelaySignals {
		return
	}
	for _, r := range slices.Concat(s.reads, lists.Map(s.propertyReads, func(r *binding.PropertyRead) *binding.Read { return r.Read })) {
		if i := slices.IndexFunc(r.Outputs, func(o *program.Output) bool { return o.Secret && o.Value == nil }); i >= 0 {
			report := s.diags.Error
			if s.options.AnySignal {
				report = s.diags.Warning
			}
			report(source.NeedsHeat, s.template.Place(r.Call), fmt.Sprintf("Heat reads %s.%s here, which is secret: it is sealed for the servers that read it, and a relay cannot open it", r.Outputs[i].Role.Server.Path, r.Outputs[i].Attribute),
				"leave it out of the stack's outputs: roles that read it get it all the same; or compile with --signal=heat, if each server reaches Keystone and Heat: then they tell Heat themselves")
		}
	}
}

// checkSlots refuses a template that is a member of a scaling group only in some uses, and
// groups of which two uses differ.
func (s *stack) checkSlots() {
	at := s.template.Place(s.template.Root)
	if member := slices.IndexFunc(s.stacks, isSlot); member >= 0 {
		s.isSlot = true
		if other := slices.IndexFunc(s.stacks, func(use *program.Stack) bool { return !isSlot(use) }); other >= 0 {
			s.diags.Error(source.NotYet, at, fmt.Sprintf("the template is a member of a group that scales in %q, and none in %q; hotc cannot emit one file for both yet", s.stacks[member].Called(), s.stacks[other].Called()), "use two files")
		}
	}
	for _, n := range s.carrying {
		s.checkDeleteHooks(n)
		for other := range usesOf(s.stacks, n) {
			if n.Slots() && other.Slots() && edit.Text("count", emitplan.HOT(n.Count)) != edit.Text("count", emitplan.HOT(other.Count)) {
				s.diags.Error(source.NotYet, other.SizeAt, fmt.Sprintf("the size of %q is set by different properties in %q and in %q; hotc cannot emit one file for both yet", n.Resource.Name, n.In.Called(), other.In.Called()), "use two files")
			}
		}
	}
}

// checkDeleteHooks warns about hooks that are not run when Heat removes a member by itself: Heat
// waits for them only with a relay.
func (s *stack) checkDeleteHooks(n *program.StackResource) {
	if s.options.Signal == contract.RelaySignals || n.In.StackResource != nil {
		return
	}
	for role := range s.program.Roles {
		for _, t := range role.Hooks {
			if t.Name != contract.HookDelete || !strings.HasPrefix(string(role.Server.Path), string(n.OwnPath())+"/") {
				continue
			}
			s.diags.Add(&source.Diagnostic{Code: source.HookByHand, Severity: source.Info, At: t.At,
				Message: fmt.Sprintf("without a relay Heat deletes servers of %q without waiting for the delete hook of %s", n.Resource.Name, role.Key()),
				Hint:    "compile with --signal=relay; otherwise only `hotc down`, `hotc destroy --run-hooks`, and `hotc up` for servers removed from the template, run it"})
			return
		}
	}
}
