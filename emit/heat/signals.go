package heat

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// A role whose outputs Heat reads has its own wait condition, in the stack that reads them. Its
// agent gets the handle's credentials by user-data: from its own stack, or passed down through
// the nested stacks.

// ParameterSignals passes the handles of the parent stacks to nested templates.
const ParameterSignals = "hotc_signals"

// ownSignals returns the template's own wait conditions, of all its uses, by name.
func (s *stack) ownSignals() []*binding.Signal {
	byName := map[string]*binding.Signal{}
	for _, x := range s.analysis.Signals {
		if s.tellsHeat() && x.In.Template == s.template && byName[x.Name] == nil {
			byName[x.Name] = x
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *binding.Signal) int { return strings.Compare(a.Name, b.Name) })
}

// handsSignals reports whether any handle is passed to a nested stack: then all nested templates
// with agents accept handles.
func handsSignals(a *binding.Analysis) bool {
	return slices.ContainsFunc(a.Signals, func(s *binding.Signal) bool { return !s.Beside })
}

// conditions adds the wait conditions of individual roles.
func (s *stack) conditions(added *value.Dict) {
	for _, x := range s.roleSignals {
		names := emitplan.NamesOf(x)
		for _, name := range []string{names.Handle, names.Condition, names.Values} {
			s.checkName(name)
		}
		if s.options.Signal == contract.RelaySignals {
			s.wait(added, names.Condition, x.Roles[0].Name, s.servers([]string{x.Resource}), x.Values())
			continue
		}
		count, signalled := s.count(x.In, serversOf(x), resourceCount+"_"+x.Name, len(x.Roles))
		s.waitCondition(added, names.Handle, names.Condition, count, signalled, []value.Value{x.Resource})
		if x.Values() {
			s.addValues(added, names.Values, names.Condition)
		}
	}
}

// waitCondition adds a condition that completes after so many signals; signalled means that one
// is set from the start. A handle keeps its signals as its metadata, and begins with those of
// the template (heat/engine/resources/wait_condition.py, handle_signal; heat/engine/resource.py,
// store).
func (s *stack) waitCondition(added *value.Dict, handle, condition string, count tree, signalled bool, dependsOn []value.Value) {
	h := resource("OS::Heat::WaitConditionHandle", dict("signal_transport", "HEAT_SIGNAL"))
	if signalled {
		h.Set("metadata", dict(counted, dict("status", "SUCCESS", "reason", "", "data", nil)))
	}
	added.Set(handle, h)
	added.Set(condition, resource("OS::Heat::WaitCondition",
		dict("handle", id(handle), "count", count, "timeout", int64(waitSeconds)), dependsOn...))
}

// addValues adds the nested stack that restores the types of a condition's values.
func (s *stack) addValues(added *value.Dict, name, condition string) {
	added.Set(name, resource(s.beside(ValuesFile), dict("data", attribute(condition, "data"))))
	s.out.Files[ValuesFile] = []byte(valuesTemplate)
	s.nestsDeeper(1)
}

// handles are what the agents in a resource signal with: the handles of this stack that concern
// it, and those passed down. Nil if there are none.
func (s *stack) handles(resource string) tree {
	own := value.NewDict()
	for _, x := range s.roleSignals {
		if x.Resource == resource && !s.inMember {
			handle := emitplan.NamesOf(x).Handle
			own.Set(handle, dict("signal", attribute(handle, "signal"), "stack", parameter(hot.StackName), "stack_id", parameter(hot.StackID)))
		}
	}
	handed := (!s.isRoot() || s.inMember) && handsSignals(s.analysis)
	switch {
	case handed && own.Len() == 0:
		return parameter(ParameterSignals)
	case handed:
		own.Set(contract.HandlesAbove, parameter(ParameterSignals))
	case own.Len() == 0:
		return nil
	}
	return section{Dict: own}
}

// properties rewrites properties of Heat's resources that need roles' values, and the roles in
// depends_on.
func (s *stack) properties() {
	meant := map[*yaml.Node]string{}
	for _, d := range s.dependencies {
		if d.Signal == nil && meant[d.Item] == "" {
			meant[d.Item] = d.Left
			s.replace(d.Item, d.Left)
		}
	}
	if !s.needsSignals() {
		return
	}
	for _, r := range s.propertyReads {
		value := s.propertyValue(r)
		text := s.editor.Flow(value)
		before, seen := meant[r.Call]
		meant[r.Call] = text
		switch {
		case seen && before != text:
			s.diags.Error(source.NotYet, s.template.Place(r.Call), fmt.Sprintf("this reads other servers in %q than in another use of the template; hotc cannot emit one file for both yet", r.In.Called()),
				"use two files")
		case !seen:
			s.replace(r.Call, value)
		}
	}
	for _, d := range s.dependencies {
		if meant[d.Item] == "" {
			meant[d.Item] = emitplan.NamesOf(d.Signal).Condition
			s.replace(d.Item, meant[d.Item])
		}
	}
}

// replace replaces a node of the user's in every use.
func (s *stack) replace(n *yaml.Node, v tree) {
	for _, now := range s.text.Nodes(n) {
		s.editor.Replace(now, v)
	}
}

// propertyValue is a use of roles' outputs, as Heat reads it from wait conditions.
func (s *stack) propertyValue(r *binding.PropertyRead) tree {
	if r.Expr != nil {
		return s.withValues(r.Expr, func(o *program.Output) []value.Value { return s.signalled(r.In, o) })
	}
	return storedAt(append(s.signalled(r.In, r.Output), lists.Map(r.Path, func(n *yaml.Node) value.Value { return s.text.Nodes(n)[0] })...))
}

// signalled is where Heat has an output's value in a stack (storedAt).
func (s *stack) signalled(in *program.Stack, o *program.Output) []value.Value {
	x := s.analysis.Signal(in, o.Role)
	names := emitplan.NamesOf(x)
	return []value.Value{s.valuesOf(names.Condition, names.Values), contract.RoleValues, x.ID(o.Role.Server.Path), o.Attribute}
}

// needsSignals refuses what needs a wait condition with --signal=none.
func (s *stack) needsSignals() bool {
	if s.tellsHeat() {
		return true
	}
	refuse := func(at source.Place, what string) {
		s.diags.Error(source.NeedsHeat, at, what+", and with --signal=none nothing reaches Heat", "compile with --signal=heat or --signal=relay")
	}
	for _, r := range s.propertyReads {
		refuse(s.template.Place(r.Call), fmt.Sprintf("resource %q needs %s.%s, which a role writes", r.Resource, r.Output.Role.Server.Path, r.Output.Attribute))
	}
	for _, d := range s.dependencies {
		if d.Signal != nil {
			refuse(s.template.Place(d.Item), fmt.Sprintf("resource %q waits for the role %s", d.Resource, d.Signal.Name))
		}
	}
	return false
}
