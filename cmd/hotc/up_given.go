package main

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/up"
)

// heatGives are the roles of the root's servers to which Heat gives something of what changes,
// and which the plan does not change anyway.
func heatGives(p *contract.Plan, c up.Changes) []deploy.RoleChange {
	if p == nil || len(c.Given) == 0 {
		return nil
	}
	var all []deploy.RoleChange
	for i := range p.Servers {
		s := &p.Servers[i]
		if strings.Contains(string(s.Path), "/") {
			continue // what is handed to it is told by the preview of what it follows, or by Heat
		}
		for n := range s.Roles {
			r := &s.Roles[n]
			key := s.Path.Role(r.Name)
			what := heatReads(s, r, c)
			if len(what) == 0 || slices.ContainsFunc(c.Roles, func(x deploy.RoleChange) bool { return x.Key() == key }) {
				continue
			}
			effect := deploy.EffectUnreached
			switch {
			case contract.FindTask(r.Hooks, contract.HookUpdate) != nil:
				effect = deploy.EffectHook
			case r.Idempotent:
				effect = deploy.EffectAgain
			}
			all = append(all, deploy.RoleChange{Server: s.Path, Role: r.Name, What: what, Effect: effect})
		}
	}
	return all
}

// heatReads are the parameters, and the resources made of them, of which a role is given something.
func heatReads(s *contract.Server, r *contract.Role, c up.Changes) (what []string) {
	for _, f := range r.Follows {
		key, heats := f.Cell.HeatKey()
		if !heats {
			continue
		}
		expr := strings.ReplaceAll(string(s.Deploy[key].Expr), " ", "")
		note := func(function, name, as string) {
			if strings.Contains(expr, `"`+function+`":"`+name+`"`) || strings.Contains(expr, `"`+function+`":["`+name+`"`) {
				what = append(what, as+" "+name)
			}
		}
		for _, name := range c.Given {
			note("get_param", name, "parameter")
		}
		for _, name := range c.Derived {
			note("get_attr", name, "resource")
		}
	}
	slices.Sort(what)
	return slices.Compact(what)
}
