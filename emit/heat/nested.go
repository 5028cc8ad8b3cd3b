package heat

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// A nested template with agents in it gets what its servers need as parameters,
// and hands it on to those that it nests. One text serves all uses of the template:
// what differs between them is in hotc_path and hotc_deploy.

// The parameters of nested templates, beside the root's.
const (
	ParameterPath      = "hotc_path" // of the nested stack: what its servers' paths begin with
	ParameterStackName = "hotc_stack_name"
	ParameterStackID   = "hotc_stack_id"
	ParameterSignal    = "hotc_signal"
	ParameterDeploy    = binding.DeployParameter
	ParameterSlot      = "hotc_slot"
)

var ownParameters = []string{ParameterCoordinator, ParameterAgentURL, ParameterSecret, ParameterPath, ParameterStackName, ParameterStackID, ParameterSignal, ParameterSignals, ParameterDeploy, ParameterSlot}

// carries says whether there are agents in the template or below it, or in another member of
// its group: what a group hands over, it hands to all members.
func (s *stack) carries() bool {
	return len(s.sites) > 0 || len(s.carrying()) > 0 ||
		slices.ContainsFunc(s.stacks, func(use *program.Stack) bool { return use.Nest != nil && use.Nest.Group() && s.hasAgents(use.Nest) })
}

// carrying are the nests of the template with agents in them: each once, of the
// first use that has members.
func (s *stack) carrying() []*program.Nest {
	if s.nestsKnown {
		return s.carryingNests
	}
	s.nestsKnown = true
	at := map[string]int{}
	for _, use := range s.stacks {
		for _, n := range use.Nests {
			if _, have := at[n.Resource.Name]; have || !s.hasAgents(n) {
				continue
			}
			at[n.Resource.Name] = len(s.carryingNests)
			s.carryingNests = append(s.carryingNests, n)
		}
	}
	return s.carryingNests
}

// hasAgents says whether a server in a nest has an agent.
func (s *stack) hasAgents(n *program.Nest) bool {
	for _, m := range n.Members {
		if m.Server != nil {
			return true
		}
		if m.Stack == nil {
			continue
		}
		for _, r := range m.Stack.Template.Resources {
			path := m.Stack.PathOf(r.Name)
			if s.program.Server(path) != nil || len(s.analysis.Facts[path]) > 0 {
				return true
			}
		}
		if slices.ContainsFunc(m.Stack.Nests, s.hasAgents) {
			return true
		}
	}
	return false
}

// nests edits the resources that stand for stacks and servers with agents.
func (s rewritten) nests() {
	s.placeholders()
	for _, n := range s.carrying() {
		s.checkUses(n)
		if n.Inline() {
			s.members(n)
			continue
		}
		in, properties := s.definitionOf(n)
		added := s.handing(n)
		switch {
		case properties == nil:
			s.editor.Add(in, dict("properties", section{Dict: added}))
		case properties.Value.IsNull():
			s.editor.Fill(in, properties, added)
		default:
			s.editor.Add(properties.Value, added)
		}
	}
}

// definitionOf is the map that says what a nest's members are, and the properties in
// it, in the text that is edited.
func (s *stack) definitionOf(n *program.Nest) (in *yaml.Node, properties *yaml.Entry) {
	r := s.text.Resource(n.Resource.Name)
	in = r.Entry.Value
	if n.Group() {
		in = r.Property(n.Definition.Entry.Name)
	}
	return in, in.Entry("properties")
}

// checkUses refuses a template that another use of it makes something else of.
func (s *stack) checkUses(n *program.Nest) {
	for _, use := range s.stacks {
		difference := ""
		switch other := use.NestOf(n.Resource.Name); {
		case use.Absent(n.Resource.Name):
		case !n.Alike(other):
			difference = fmt.Sprintf("%q is %s in %q and %s in %q", n.Resource.Name, kindOf(n.In, n.Resource), stackPath(n.In), kindOf(use, n.Resource), stackPath(use))
		case other.Size != 0 && !s.hasAgents(other):
			difference = fmt.Sprintf("%q has servers with roles in %q and none in %q", n.Resource.Name, stackPath(n.In), stackPath(use))
		}
		if difference != "" {
			s.diags.Error(source.NotYet, s.template.Place(n.Resource.Entry.Key), difference+", since the environment maps types differently there; hotc cannot emit one text for both yet", "use two files")
			return
		}
	}
}

// kindOf is what a use of a template makes of a resource.
func kindOf(use *program.Stack, r *hot.Resource) string {
	if typeName := use.Type(r); !environment.IsTemplate(typeName) {
		return "of type " + typeName
	}
	return "a nested template"
}

func stackPath(s *program.Stack) string {
	if s.Path == "" {
		return "the root stack"
	}
	return s.Path
}

// handing is what a nest's members get.
func (s *stack) handing(n *program.Nest) *value.Dict {
	var path value.Value = n.In.PathOf(n.Resource.Name)
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
	if s.options.Signal == contract.AgentsSignal && s.anyRoles() {
		d.Set(ParameterSignal, s.signal())
		if handles := s.handles(n.Resource.Name); handles != nil && handsSignals(s.analysis) {
			d.Set(ParameterSignals, handles)
		}
	}
	if values := s.handedValues(n); values.Len() > 0 {
		d.Set(ParameterDeploy, section{Dict: values})
	}
	if slot := s.slot(); slot != nil {
		d.Set(ParameterSlot, slot)
	}
	return d
}

// anyRoles says whether there are roles at all: without any, nobody signals.
func (s *stack) anyRoles() bool {
	return slices.ContainsFunc(s.program.Servers, func(x *program.Server) bool { return len(x.Roles) > 0 })
}

// handedValues are the values that only Heat knows, those of all uses.
func (s *stack) handedValues(n *program.Nest) *value.Dict {
	values := value.NewDict()
	var names []string
	exprs := map[string]*hot.Expr{}
	for _, use := range s.stacks {
		other := use.NestOf(n.Resource.Name)
		if c := s.analysis.Handed[other]; c != nil {
			for _, name := range c.Names {
				if exprs[name] == nil {
					names = append(names, name)
				}
				exprs[name] = c.Exprs[name]
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		values.Set(name, emitplan.HOT(exprs[name]))
	}
	return values
}

// handedParameters declares what a nested template with agents gets. They have
// defaults: a type that the template stands for may be a real one, which has no such
// properties (heat/engine/resources/template_resource.py,
// _validate_against_facade).
func (s *stack) handedParameters() *value.Dict {
	text := func(description string) *value.Dict {
		return declare(declaration{kind: "string", preset: "", description: description})
	}
	hidden := func(description string) *value.Dict {
		return declare(declaration{kind: "string", preset: "", hidden: true, description: description})
	}
	d := dict(
		ParameterPath, text("the path of this stack among the stacks of the deployment"),
		ParameterStackName, text("the root stack's name"),
		ParameterStackID, text("the root stack's id"),
		ParameterCoordinator, text("where the servers' agents meet"),
		ParameterAgentURL, text("where servers get hotc-agent if their image lacks it"),
		ParameterSecret, hidden("made by `hotc secret new`"),
	)
	if s.options.Signal != contract.RelaySignals {
		d.Set(ParameterSignal, hidden("how servers tell the root stack that their roles are done"))
	}
	d.Set(ParameterDeploy, declare(declaration{kind: "json", preset: value.NewDict(), hidden: true, description: "values of the stack around for roles in this one"}))
	if s.inSlot() {
		d.Set(ParameterSlot, declare(declaration{kind: "json", preset: value.NewDict(), description: "which member of a group that scales this stack lies in"}))
	}
	if s.options.Signal == contract.AgentsSignal && handsSignals(s.analysis) {
		d.Set(ParameterSignals, declare(declaration{kind: "json", preset: value.NewDict(), hidden: true, description: "how servers tell the stacks around that single roles are done"}))
	}
	return d
}

// withPlaceholders visits the properties of the template in whose place Heat gets another
// value, each once.
func (s *stack) withPlaceholders(visit func(n *yaml.Node, p *hot.Parameter)) {
	done := map[*yaml.Node]bool{}
	for _, use := range s.stacks {
		for at := range use.Places {
			if p := s.analysis.Placeholders[at.Node]; p != nil && !done[at.Node] {
				done[at.Node] = true
				visit(at.Node, p)
			}
		}
	}
}

// placeholders takes roles' outputs out of properties: Heat cannot know them.
func (s *stack) placeholders() {
	s.withPlaceholders(func(n *yaml.Node, p *hot.Parameter) {
		value := placeholder(p)
		if err := p.Check(value); err != nil {
			s.diags.Error(source.RunTimeInProperty, s.template.Place(n), fmt.Sprintf("this hands over what a role writes, which Heat does not know, and the parameter %q takes nothing in its place: %v", p.Name, err),
				"give the parameter a default")
			return
		}
		s.replace(n, value)
	})
}

// placeholder is a value that a parameter can have.
func placeholder(p *hot.Parameter) value.Value {
	if p.Default != nil {
		return p.Default.Data()
	}
	switch p.Type {
	case "number":
		return int64(0)
	case "boolean":
		return false
	case "comma_delimited_list":
		return []value.Value{}
	case "json":
		return value.NewDict()
	}
	return ""
}

// outputs takes those away that need a role's output, and adds those that roles in
// other stacks need.
func (s *stack) outputs() {
	if s.isRoot() {
		return
	}
	added := s.countOutputs()
	s.waitOutput(added)
	for _, use := range s.stacks {
		if c := s.analysis.Returned[use]; c != nil {
			for _, name := range slices.Sorted(slices.Values(c.Names)) {
				added.Set(name, dict("value", binding.Written(c.Exprs[name])))
			}
		}
	}
	var removed []string
	for _, o := range s.template.Outputs {
		if s.analysis.Removed[o] {
			removed = append(removed, o.Name)
		}
	}
	outputs := s.template.Words().Outputs
	section := s.text.Root.Entry(outputs)
	switch {
	case len(removed) > 0 && len(removed) == len(section.Value.Entries) && added.Len() == 0:
		s.editor.Remove(s.text.Root, outputs)
		return
	case len(removed) > 0 && len(removed) == len(section.Value.Entries):
		s.editor.Fill(s.text.Root, section, added)
		return
	}
	for _, name := range removed {
		s.editor.Remove(section.Value, name)
	}
	if added.Len() > 0 {
		s.addOutputs(added)
	}
}

func (s *stack) addOutputs(added *value.Dict) {
	before := ""
	if s.text.Root.Entry("outputs") == nil && s.text.Root.Style != yaml.Flow {
		before = "resources"
	}
	s.editor.AddTo("outputs", before, added)
}

// pinned are the values that a parameter may have: of the root, the one that the
// plan was made with; of a nested template, those of all uses, where they come from
// parameter_defaults. Nil if it is not pinned.
func (s *stack) pinned(p *hot.Parameter) []value.Value {
	if s.isRoot() {
		given := s.program.Given
		if !given.Used(p.Name) || given.Unpinned {
			return nil
		}
		return []value.Value{given.Parameters[p.Name]}
	}
	used := false
	for _, use := range s.stacks {
		used = used || use.Given.Used(p.Name) && use.Given.Handed[p.Name] == nil
	}
	if !used {
		return nil
	}
	var values []value.Value
	for _, use := range s.stacks {
		v, known := use.Given.Parameters[p.Name]
		switch {
		case !known && use.Arguments[p.Name] != nil:
			s.diags.Error(source.PinImpossible, use.Arguments[p.Name].Expr.At, fmt.Sprintf("the parameter %q is left open here, and another use of the template was compiled with its value from parameter_defaults", p.Name),
				"hand it over in every use")
			return nil
		case known && !slices.ContainsFunc(values, func(x value.Value) bool { return value.Equal(x, v) }):
			values = append(values, v)
		}
	}
	return values
}

// notHere refuses a function that the root's version has in another form.
func (s *stack) notHere(e *hot.Expr) {
	s.diags.Error(source.NotYet, e.At, fmt.Sprintf("%s needs this value, and the version of that template, %s, has no such %s", s.template.File.Portable, s.template.Version, e.Func.Name),
		"give both templates the same version")
}
