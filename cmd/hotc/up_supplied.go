package main

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/up"
)

// roles are those that an update concerns, reached or not: through the plan, parameters with
// new values, and members that join or leave groups.
func (v *upView) roles(c up.Changes) []deploy.RoleChange {
	if v.compiled == nil || v.now == nil {
		return c.Roles
	}
	all := slices.Clone(c.Roles)
	for i := range all {
		all[i].What = slices.Clone(all[i].What)
	}
	add := func(x deploy.RoleChange) {
		i := slices.IndexFunc(all, func(r deploy.RoleChange) bool { return r.Key() == x.Key() })
		if i >= len(c.Roles) {
			i = slices.IndexFunc(all, func(r deploy.RoleChange) bool { return r.Key() == x.Key() && r.Effect == x.Effect })
		}
		switch {
		case i >= 0:
			x.What = slices.DeleteFunc(x.What, func(what string) bool { return slices.Contains(all[i].What, what) })
			all[i].Joins = false
			if all[i].What = append(all[i].What, x.What...); all[i].Effect == deploy.EffectNone {
				all[i].Effect = x.Effect
			}
		case v.runsAnyway(x.Key(), c):
		default:
			all = append(all, x)
		}
	}
	r := v.compiled
	relayed := r.Built.Plan.Signal == contract.RelaySignals
	for _, g := range follow.ParameterReaders(r.Program, r.Analysis, r.Findings.Heat, c.Given, relayed) {
		x := deploy.RoleChange{Server: contract.ServerPath(g.Role.Server.Path), Role: g.Role.Name}
		for _, name := range g.Parameters {
			x.What = append(x.What, "parameter "+name)
		}
		if x.Effect = v.effect(x.Key(), g.How); g.Kept && x.Effect == deploy.EffectUnreached {
			x.Effect = deploy.EffectKept
		}
		add(x)
	}
	gone := c.Deleted
	if !relayed {
		gone = nil // without a relay, roles that follow the group do not notice
	}
	for s, role := range r.Built.Plan.EachRole() {
		joined, how := turnover(role, c.Added, " joins "), preview.UpdatedBy(role)
		what := append(slices.Clip(joined), turnover(role, gone, " leaves ")...)
		if relayed {
			what = append(what, switched(role, c.Added, gone)...)
		}
		if role.Updating() == nil {
			how = ""
		}
		if len(what) > 0 {
			add(deploy.RoleChange{Server: s.Path, Role: role.Name, What: what, Effect: v.effect(s.Path.Role(role.Name), how), Joins: len(what) == len(joined)})
		}
	}
	return all
}

// runsAnyway says that a role will run with the newest values anyway, or not at all.
func (v *upView) runsAnyway(key contract.RoleKey, c up.Changes) bool {
	stands := v.now.RoleOf(key)
	return stands == nil || stands.Status == protocol.RolePending || up.Within(string(stands.Server.Path), slices.Concat(c.Replaced, c.Deleted))
}

// effect is what a new value means for a role that has run.
func (v *upView) effect(key contract.RoleKey, how follow.How) deploy.Effect {
	stands := v.now.RoleOf(key)
	switch {
	case stands != nil && (stands.Status == protocol.RoleFailed || stands.Status == protocol.RoleSkipped):
		return deploy.EffectRetry
	case how == follow.Hook:
		return deploy.EffectHook
	case how == follow.Again:
		return deploy.EffectAgain
	}
	return deploy.EffectUnreached
}

// switched lists the servers that a role reads from and that Heat's conditions add or remove.
func switched(r *contract.Role, added, deleted []string) (what []string) {
	for _, f := range r.Follows {
		if f.Perhaps == nil {
			continue
		}
		server, is := string(f.Perhaps.Server), ""
		switch {
		case up.Within(server, added):
			is = server + " is added"
		case up.Within(server, deleted):
			is = server + " is removed"
		}
		if is != "" && !slices.Contains(what, is) {
			what = append(what, is)
		}
	}
	return what
}

// turnover lists members that join or leave (verb) the groups that a role follows.
func turnover(r *contract.Role, members []string, verb string) (what []string) {
	var groups []string
	for _, f := range r.Follows {
		if f.Member != nil && f.Watch && !slices.Contains(groups, f.Member.Group) {
			groups = append(groups, f.Member.Group)
		}
	}
	for _, group := range groups {
		for _, name := range members {
			if strings.HasPrefix(name, group+"/") {
				what = append(what, name+verb+group)
			}
		}
	}
	return what
}
