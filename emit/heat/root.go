package heat

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// parameters declares the coordinator's and the agent's locations, and the secret.
func (s *stack) parameters() {
	if !s.isRoot() {
		s.editor.AddTo("parameters", "resources", s.argumentParameters())
		return
	}
	coordinator := dict("type", "string")
	if s.options.Coordinator != "" {
		coordinator.Set("default", s.options.Coordinator)
	}
	coordinator.Set("description", "URL of the coordinator of the servers' agents: zk://HOST:PORT[,…]/ROOT")
	s.editor.AddTo("parameters", "resources", dict(
		ParameterCoordinator, section{Dict: coordinator},
		ParameterAgentURL, section{Dict: dict("type", "string", "default", s.options.AgentURL,
			"description", "URL from which servers download hotc-agent if their image lacks it; {arch} becomes amd64, arm64, …")},
		ParameterSecret, section{Dict: dict("type", "string", "hidden", true, "description", "made by `hotc secret new`",
			"constraints", []value.Value{dict("allowed_pattern", "[0-9a-f]{64}", "description", "64 hex digits, made by hotc secret new")})},
	))
}

// resources adds what waits for the roles and returns their values to the stack.
func (s *stack) resources() {
	added := s.generated
	s.signals(added)
	s.memberWait(added)
	s.conditions(added)
	if added.Len() == 0 {
		return
	}
	s.out.Added += added.Len() * len(s.stacks)
	s.editor.AddTo("resources", "", added)
}

// signals adds the resources that tell Heat about success and failure.
func (s *stack) signals(added *value.Dict) {
	if !s.tellsHeat() || !s.isRoot() {
		return
	}
	names, count := s.withRoles()
	if count == 0 {
		return
	}
	values := slices.ContainsFunc(s.analysis.Reads, func(r *binding.Read) bool { return r.Expr != nil || r.Output.Value == nil })
	if s.options.Signal == contract.RelaySignals {
		s.wait(added, ResourceCondition, "", s.servers(nil), values)
		return
	}
	signals, signalled := s.count(s.program.Root, nil, resourceCount, count)
	s.waitCondition(added, ResourceHandle, ResourceCondition, signals, signalled, names)
	if values {
		s.addValues(added, ResourceValues, ResourceCondition)
	}
}
