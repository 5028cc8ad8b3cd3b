package heat

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
)

// parameters declares where the coordinator and the agent are, and the secret.
func (s *stack) parameters() {
	if !s.isRoot() {
		s.addTo("parameters", "resources", s.handedParameters())
		return
	}
	withDefault := func(text, description string) *hot.Dict {
		d := dict("type", "string")
		if text != "" {
			d.Set("default", text)
		}
		d.Set("description", description)
		return d
	}
	agent := withDefault(s.options.AgentURL, "where servers get hotc-agent if their image lacks it; {arch} becomes amd64, arm64, …")
	if s.options.AgentURL == "" {
		agent.Set("default", "")
	}
	added := dict(
		ParameterCoordinator, section{withDefault(s.options.Coordinator, "where the servers' agents meet: zk://HOST:PORT[,…]/ROOT")},
		ParameterAgentURL, section{agent},
		ParameterSecret, section{dict("type", "string", "hidden", true, "description", "made by `hotc secret new`",
			"constraints", []hot.Value{dict("allowed_pattern", "[0-9a-f]{64}", "description", "64 hex digits, made by hotc secret new")})},
	)
	s.addTo("parameters", "resources", added)
}

// resources adds the one wait condition of the deployment, and what gives the
// values of roles back to the stack.
func (s *stack) resources() {
	added := s.generated
	s.signals(added)
	s.conditions(added)
	if added.Len() == 0 {
		return
	}
	s.out.added += added.Len() * len(s.stacks)
	s.addTo("resources", "", added)
}

// signals are the resources by which Heat learns of success and failure.
func (s *stack) signals(added *hot.Dict) {
	if !s.options.Signal || !s.isRoot() {
		return
	}
	names, count := s.withRoles()
	if count == 0 {
		return
	}
	added.Set(ResourceHandle, section{dict("type", "OS::Heat::WaitConditionHandle", "properties", dict("signal_transport", "HEAT_SIGNAL"))})
	added.Set(ResourceCondition, section{dict("type", "OS::Heat::WaitCondition", "depends_on", names, "properties",
		dict("handle", dict("get_resource", ResourceHandle), "count", int64(count), "timeout", int64(waitSeconds)))})
	if slices.ContainsFunc(s.analysis.Reads, func(r *binding.Read) bool { return r.Expr != nil || r.Output.Value == nil }) {
		s.addValues(added, ResourceValues, ResourceCondition)
	}
}
