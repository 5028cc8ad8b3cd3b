package heat

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/value"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// handing returns the arguments of a stack resource's members.
func (s *stack) handing(n *program.StackResource) *value.Dict {
	var path value.Value = string(n.OwnPath())
	rest := []value.Value{n.Resource.Name}
	if n.Group() {
		rest = append(rest, n.IndexVariable())
		path = n.Resource.Name + "/" + n.IndexVariable()
	}
	if n.Slots() {
		rest[1] = contract.AnyMember
		path = n.Resource.Name + "/" + contract.AnyMember
	}
	if !s.isRoot() {
		path = join("/", append([]value.Value{parameter(ParameterPath)}, rest...)...)
	}
	d := dict(
		ParameterPath, path,
		ParameterStackName, s.rootName(),
		ParameterStackID, s.rootID(),
	)
	for _, name := range []string{ParameterCoordinator, ParameterAgentURL, ParameterSecret} {
		d.Set(name, parameter(name))
	}
	runs := slices.ContainsFunc(s.program.Servers, func(x *program.Server) bool { return len(x.Roles) > 0 })
	if s.options.Signal == contract.AgentsSignal && runs { // otherwise nothing signals
		d.Set(ParameterSignal, s.signal())
		if handles := s.handles(n.Resource.Name); handles != nil && handsSignals(s.analysis) {
			d.Set(ParameterSignals, handles)
		}
	}
	if values := s.argumentValues(n); values.Len() > 0 {
		d.Set(ParameterDeploy, section{Dict: values})
	}
	if slot := s.slot(); slot != nil {
		d.Set(ParameterSlot, slot)
	}
	return d
}

// argumentValues returns the values that only Heat knows, of all uses.
func (s *stack) argumentValues(n *program.StackResource) *value.Dict {
	exprs := map[string]*hot.Expr{}
	for other := range usesOf(s.stacks, n) {
		maps.Copy(exprs, s.analysis.DeployArguments[other])
	}
	return namedValues(exprs)
}

// namedValues returns expressions as passed to Heat, by name.
func namedValues(exprs map[string]*hot.Expr) *value.Dict {
	values := value.NewDict()
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		values.Set(name, emitplan.HOT(exprs[name]))
	}
	return values
}

// argumentParameters declares the parameters of a nested template with agents. They have
// defaults: the template may replace a real type, which has no such properties
// (heat/engine/resources/template_resource.py, _validate_against_facade).
func (s *stack) argumentParameters() *value.Dict {
	text := func(description string) tree {
		return dict("type", "string", "default", "", "description", description)
	}
	hidden := func(kind string, preset value.Value, description string) tree {
		return dict("type", kind, "default", preset, "hidden", true, "description", description)
	}
	d := dict(
		ParameterPath, text("the path of this stack among the stacks of the deployment"),
		ParameterStackName, text("the root stack's name"),
		ParameterStackID, text("the root stack's id"),
		ParameterCoordinator, text("URL of the coordinator of the servers' agents"),
		ParameterAgentURL, text("URL from which servers download hotc-agent if their image lacks it"),
		ParameterSecret, hidden("string", "", "made by `hotc secret new`"),
	)
	if s.options.Signal != contract.RelaySignals {
		d.Set(ParameterSignal, hidden("string", "", "how servers tell the root stack that their roles are done"))
	}
	d.Set(ParameterDeploy, hidden("json", value.NewDict(), "values of the stack around for roles in this one"))
	if s.inSlot() {
		d.Set(ParameterSlot, dict("type", "json", "default", value.NewDict(), "description", "which member of a group that scales this stack lies in"))
	}
	if s.options.Signal == contract.AgentsSignal && handsSignals(s.analysis) {
		d.Set(ParameterSignals, hidden("json", value.NewDict(), "how servers tell the stacks around that single roles are done"))
	}
	return d
}

// A member of a scaling group knows only its stack's id. Its servers get that, with the path
// that all members share, and their agents claim a replica slot.

// isSlot reports whether a use of a template is a member of a scaling group.
func isSlot(use *program.Stack) bool { return use.StackResource != nil && use.StackResource.Slots() }

// inSlot reports whether the template is used below such a member, which passes its identity
// down.
func (s *stack) inSlot() bool {
	if s.inMember {
		return s.slotAround != nil
	}
	return slices.ContainsFunc(s.stacks, func(use *program.Stack) bool {
		n, _ := use.Scaled()
		return n != nil && !isSlot(use)
	})
}

// slot identifies the member of a scaling group that contains the template's servers
// (coordinator/plan, BootSlot); nil if there is none.
func (s *stack) slot() tree {
	switch {
	case s.isSlot:
		return dict("path", parameter(ParameterPath), "member", parameter(hot.StackID))
	case s.inSlot():
		return parameter(ParameterSlot)
	}
	return nil
}
