package plan

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Names are the names of the resources of a role's wait condition.
type Names struct{ Handle, Condition, Values string }

// NamesOf names the resources of a signal: hotc_done_db.mysql. A role's key has a dot, so these
// differ from hotc's other resources. A resource's name contains no slash; the digest keeps
// tier/db and tier_db apart.
func NamesOf(s *binding.Signal) Names {
	name := s.Name
	if strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, "/", "_") + "-" + contract.Digest(name)[:8]
	}
	return Names{Handle: contract.HandlePrefix + name, Condition: contract.WaitPrefix + name, Values: "hotc_values_" + name}
}

// signals are what the agent signals to Heat when the role is done.
func (b *builder) signals(r *program.Role) []contract.Signal {
	var out []contract.Signal
	for _, s := range b.signalsOf[r] {
		one := contract.Signal{Handle: NamesOf(s).Handle, ID: s.ID(r.Server.Path)}
		if b.built.Plan.Signal == contract.RelaySignals {
			one.Handle = NamesOf(s).Condition
		}
		one.Outputs = lists.Map(s.Outputs(r), func(o *program.Output) string { return o.Name })
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b contract.Signal) int { return strings.Compare(a.Handle, b.Handle) })
	return out
}
