package heat

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// A nested template with agents gets what its servers need as parameters, and passes it on to
// those that it nests. One text serves all uses of the template: only hotc_path and hotc_deploy
// differ between them.

// The parameters of nested templates, in addition to the root's.
const (
	ParameterPath      = "hotc_path" // of the nested stack: what its servers' paths begin with
	ParameterStackName = "hotc_stack_name"
	ParameterStackID   = "hotc_stack_id"
	ParameterSignal    = "hotc_signal"
	ParameterDeploy    = binding.DeployParameter
	ParameterSlot      = "hotc_slot"
)

var ownParameters = []string{ParameterCoordinator, ParameterAgentURL, ParameterSecret, ParameterPath, ParameterStackName, ParameterStackID, ParameterSignal, ParameterSignals, ParameterDeploy, ParameterSlot}

// carries reports whether there are agents in the template or below it, or in another member of
// its group: a group passes the same arguments to all members.
func (s *stack) carries() bool {
	return len(s.sites) > 0 || len(s.carrying) > 0 ||
		slices.ContainsFunc(s.stacks, func(use *program.Stack) bool {
			return use.StackResource != nil && use.StackResource.Group() && s.hasAgents(use.StackResource)
		})
}

// withAgents returns the template's stack resources with agents: each once, from the first use
// that has members.
func (s *stack) withAgents() (list []*program.StackResource) {
	have := map[string]bool{}
	for _, use := range s.stacks {
		for _, n := range use.StackResources {
			if !have[n.Resource.Name] && s.hasAgents(n) {
				have[n.Resource.Name] = true
				list = append(list, n)
			}
		}
	}
	return list
}

// usesOf returns a resource as each use of a template has it.
func usesOf(stacks []*program.Stack, n *program.StackResource) iter.Seq[*program.StackResource] {
	return func(yield func(*program.StackResource) bool) {
		for _, use := range stacks {
			if other := use.StackResourceOf(n.Resource.Name); other != nil && !yield(other) {
				return
			}
		}
	}
}

// hasAgents reports whether a server in a stack resource has an agent.
func (s *stack) hasAgents(n *program.StackResource) bool {
	return len(n.Servers()) > 0 || slices.ContainsFunc(n.Stacks(), func(inner *program.Stack) bool {
		return slices.ContainsFunc(inner.StackResources, s.hasAgents) || slices.ContainsFunc(inner.Template.Resources, func(r *hot.Resource) bool {
			path := inner.PathOf(r.Name)
			return s.program.Server(path) != nil || len(s.analysis.Facts[path]) > 0
		})
	})
}

// nests edits the resources that represent stacks and servers with agents.
func (s rewritten) nests() {
	s.placeholders()
	for _, n := range s.carrying {
		s.checkUses(n)
		if n.Inline() {
			s.members(n)
			continue
		}
		in, properties := s.definitionOf(n)
		added := s.handing(n)
		s.addProperties(in, properties, added)
	}
}

// addProperties adds properties to a resource, or to the definition of a group's members.
func (s *stack) addProperties(in *yaml.Node, properties *yaml.Entry, added *value.Dict) {
	switch {
	case properties == nil:
		s.editor.Add(in, dict("properties", section{Dict: added}))
	case properties.Value.IsNull():
		s.editor.Fill(in, properties, added)
	default:
		s.editor.Add(properties.Value, added)
	}
}

// definitionOf returns the map that defines a stack resource's members, and its properties, in
// the edited text.
func (s *stack) definitionOf(n *program.StackResource) (in *yaml.Node, properties *yaml.Entry) {
	r := s.text.Resource(n.Resource.Name)
	in = r.Entry.Value
	if n.Group() {
		in = r.Property(n.Definition().Entry.Name)
	}
	return in, in.Entry("properties")
}

// checkUses refuses a template in which a resource is of another kind in another use.
func (s *stack) checkUses(n *program.StackResource) {
	for _, use := range s.stacks {
		difference := ""
		switch other := use.StackResourceOf(n.Resource.Name); {
		case use.Absent(n.Resource.Name):
		case !n.Alike(other):
			difference = fmt.Sprintf("%q is %s in %q and %s in %q", n.Resource.Name, kindOf(n.In, n.Resource), n.In.Called(), kindOf(use, n.Resource), use.Called())
		case other.Size != 0 && !s.hasAgents(other):
			difference = fmt.Sprintf("%q has servers with roles in %q and none in %q", n.Resource.Name, n.In.Called(), use.Called())
		}
		if difference != "" {
			s.diags.Error(source.NotYet, s.template.Place(n.Resource.Entry.Key), difference+", since the environment maps types differently there; hotc cannot emit one file for both yet", "use two files")
			return
		}
	}
}

// kindOf returns what a resource is in one use of a template.
func kindOf(use *program.Stack, r *hot.Resource) string {
	if typeName := use.Type(r); !environment.IsTemplate(typeName) {
		return "of type " + typeName
	}
	return "a nested template"
}

// notHere refuses a function whose form differs in the root's version.
func (s *stack) notHere(e *hot.Expr) {
	s.diags.Error(source.NotYet, e.At, fmt.Sprintf("%s needs this value, and the version of that template, %s, has no such %s", s.template.File.Portable, s.template.Version, e.Func.Name),
		"give both templates the same version")
}
