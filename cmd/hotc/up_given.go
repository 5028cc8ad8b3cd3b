package main

import (
	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/up"
)

// roles are those that an update reaches, or not: by the plan, and by parameters that get another
// value.
func (v *upView) roles(c up.Changes) []deploy.RoleChange {
	if v.compiled == nil || v.now == nil {
		return c.Roles
	}
	given := map[contract.RoleKey]int{} // by the plan
	all := make([]deploy.RoleChange, len(c.Roles))
	for i, r := range c.Roles {
		r.What = append([]string{}, r.What...)
		all[i], given[r.Key()] = r, i+1
	}
	r := v.compiled
	for _, g := range follow.GivenBy(r.Program, r.Analysis, r.Findings.Heat, c.Given, r.Built.Plan.Signal == contract.RelaySignals) {
		x := deploy.RoleChange{Server: contract.ServerPath(g.Role.Server.Path), Role: g.Role.Name, Effect: deploy.EffectUnreached}
		for _, name := range g.Parameters {
			x.What = append(x.What, "parameter "+name)
		}
		stands := v.now.RoleOf(x.Key())
		if i := given[x.Key()]; i > 0 {
			all[i-1].What = append(all[i-1].What, x.What...)
			continue
		}
		if stands == nil || stands.Status == coordinator.RolePending || within(x.Server, c.Replaced) {
			continue // it runs with the newest
		}
		switch {
		case stands.Status == coordinator.RoleFailed || stands.Status == coordinator.RoleSkipped:
			x.Effect = deploy.EffectRetry
		case g.How == follow.Hook:
			x.Effect = deploy.EffectHook
		case g.How == follow.Again:
			x.Effect = deploy.EffectAgain
		case g.Kept:
			x.Effect = deploy.EffectKept
		}
		all = append(all, x)
	}
	return all
}
