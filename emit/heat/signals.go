package heat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// A role that Heat reads from has a wait condition of its own, in the stack whose
// text reads it. Its agent gets the handle's credentials by user-data: from beside
// the server, or handed down through the stacks between.

// ParameterSignals is the parameter of nested templates with the handles of the
// stacks around.
const ParameterSignals = "hotc_signals"

// handlesAbove is the key of those in a map of handles (coordinator/plan, Handles).
const handlesAbove = "above"

// roleSignals are the template's own wait conditions, those of all its uses, by
// name.
func (s *stack) roleSignals() []*binding.Signal {
	if !s.options.Signal {
		return nil
	}
	if s.signalsKnown {
		return s.signalsHere
	}
	s.signalsKnown = true
	seen := map[string]bool{}
	for _, x := range s.analysis.Signals {
		if x.In.Template == s.template && !seen[x.Name] {
			seen[x.Name] = true
			s.signalsHere = append(s.signalsHere, x)
		}
	}
	slices.SortFunc(s.signalsHere, func(a, b *binding.Signal) int { return strings.Compare(a.Name, b.Name) })
	return s.signalsHere
}

// handsSignals says whether a handle crosses into a nested stack anywhere: then all
// nested templates with agents take handles.
func handsSignals(a *binding.Analysis) bool {
	return slices.ContainsFunc(a.Signals, func(s *binding.Signal) bool { return !s.Beside })
}

// conditions adds the wait conditions of single roles.
func (s *stack) conditions(added *hot.Dict) {
	for _, x := range s.roleSignals() {
		names := emitplan.NamesOf(x)
		for _, name := range []string{names.Handle, names.Condition, names.Values} {
			s.checkName(name)
		}
		added.Set(names.Handle, section{dict("type", "OS::Heat::WaitConditionHandle", "properties", dict("signal_transport", "HEAT_SIGNAL"))})
		added.Set(names.Condition, section{dict("type", "OS::Heat::WaitCondition", "depends_on", []hot.Value{x.Resource}, "properties",
			dict("handle", dict("get_resource", names.Handle), "count", int64(len(x.Roles)), "timeout", int64(waitSeconds)))})
		if x.Values() {
			s.addValues(added, names.Values, names.Condition)
		}
	}
}

// addValues adds the nested stack that gives a condition's values their types back.
func (s *stack) addValues(added *hot.Dict, name, condition string) {
	added.Set(name, section{dict("type", s.beside(ValuesFile), "properties", dict("data", dict("get_attr", []hot.Value{condition, "data"})))})
	s.out.Files[ValuesFile] = []byte(valuesTemplate)
}

// handles are what the agents in a resource signal with: the handles of this stack
// that concern it, and those handed down. Nil if there are none.
func (s *stack) handles(resource string) tree {
	own := hot.NewDict()
	for _, x := range s.roleSignals() {
		if x.Resource == resource && !s.inMember {
			handle := emitplan.NamesOf(x).Handle
			own.Set(handle, dict("signal", dict("get_attr", []hot.Value{handle, "signal"}),
				"stack", dict("get_param", "OS::stack_name"), "stack_id", dict("get_param", "OS::stack_id")))
		}
	}
	handed := (!s.isRoot() || s.inMember) && s.options.Signal && handsSignals(s.analysis)
	switch {
	case handed && own.Len() == 0:
		return dict("get_param", ParameterSignals)
	case handed:
		own.Set(handlesAbove, dict("get_param", ParameterSignals))
	case own.Len() == 0:
		return nil
	}
	return section{own}
}

// properties rewrites what Heat makes resources of and needs roles' values for, and
// the roles in depends_on.
func (s *stack) properties() {
	if !s.needsSignals() {
		return
	}
	meant := map[*hot.Node]string{}
	for _, r := range s.analysis.PropertyReads {
		if r.Template != s.template {
			continue
		}
		value := s.propertyValue(r)
		text := s.editor.flow(value)
		before, seen := meant[r.Call]
		meant[r.Call] = text
		switch {
		case seen && before != text:
			s.diags.Error(source.NotYet, s.template.Place(r.Call), fmt.Sprintf("this reads other servers in %q than in another use of the template; hotc cannot emit one text for both yet", stackPath(r.In)),
				"use two files")
		case !seen:
			s.replace(r.Call, value)
		}
	}
	for _, d := range s.analysis.Dependencies {
		if d.In.Template == s.template && meant[d.Item] == "" {
			meant[d.Item] = emitplan.NamesOf(d.Signal).Condition
			s.replace(d.Item, meant[d.Item])
		}
	}
}

// replace puts a tree in the place of a node of the user's, wherever it is used.
func (s *stack) replace(n *hot.Node, v tree) {
	for _, now := range s.text.nodes(n) {
		s.editor.replace(now, v)
	}
}

// propertyValue is a use of roles' outputs, as Heat reads it from wait conditions.
func (s *stack) propertyValue(r *binding.PropertyRead) tree {
	if r.Expr != nil {
		return s.withValues(r.Expr, func(o *program.Output) []hot.Value { return s.signalled(r.In, o) })
	}
	arg := s.signalled(r.In, r.Output)
	for _, n := range r.Path {
		arg = append(arg, s.text.nodes(n)[0])
	}
	return dict("get_attr", arg)
}

// signalled is where a stack has the value of an output.
func (s *stack) signalled(in *program.Stack, o *program.Output) []hot.Value {
	x := s.analysis.Signal(in, o.Role)
	return []hot.Value{emitplan.NamesOf(x).Values, "data", x.ID(o.Role.Server.Path), o.Attribute}
}

// needsSignals refuses what needs a wait condition in a stack that leaves Heat out.
func (s *stack) needsSignals() bool {
	if s.options.Signal {
		return true
	}
	refuse := func(at source.Place, what string) {
		s.diags.Error(source.NeedsHeat, at, what+", and with --signal=none nothing reaches Heat", "compile with --signal=heat")
	}
	for _, r := range s.analysis.PropertyReads {
		if r.Template == s.template {
			refuse(s.template.Place(r.Call), fmt.Sprintf("resource %q needs %s.%s, which a role writes", r.Resource, r.Output.Role.Server.Path, r.Output.Attribute))
		}
	}
	for _, d := range s.analysis.Dependencies {
		if d.In.Template == s.template {
			refuse(s.template.Place(d.Item), fmt.Sprintf("resource %q waits for the role %s", d.Resource, d.Signal.Name))
		}
	}
	return false
}
