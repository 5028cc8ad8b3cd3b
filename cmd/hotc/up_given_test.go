package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/runtime/up"
)

// A parameter, and what is made of it, reaches the roles that are given something of it, each
// in the way that it has; the plan's own changes stand for themselves.
func TestWhomAParameterReaches(t *testing.T) {
	role := func(name string, idempotent bool, keys ...string) contract.Role {
		r := contract.Role{Name: name, Idempotent: idempotent}
		for _, key := range keys {
			r.Follows = append(r.Follows, contract.Follow{Cell: contract.HeatCell(key)})
		}
		return r
	}
	hooked := role("hooked", false, "level")
	hooked.Hooks = []contract.Task{{Name: contract.HookUpdate}}
	p := &contract.Plan{Servers: []contract.Server{{Path: "a", Deploy: map[string]contract.DeployValue{
		"level": {Expr: json.RawMessage(`{"get_param": ["level", 0]}`)}, "made": {Expr: json.RawMessage(`{"get_attr":["made","value"]}`)}, "other": {Expr: json.RawMessage(`{"get_param":"levels"}`)}},
		Roles: []contract.Role{role("again", true, "level", "made"), hooked, role("fixed", false, "made"), role("other", true, "other"), role("planned", true, "level")}}}}
	got := ""
	for _, r := range heatGives(p, up.Changes{Given: []string{"level"}, Derived: []string{"made"}, Roles: []deploy.RoleChange{{Server: "a", Role: "planned"}}}) {
		got += fmt.Sprintln(r.Key(), r.What, becomes(r.Effect))
	}
	want := "a.again [parameter level resource made] it runs again\na.hooked [parameter level] its agent runs the hook update\na.fixed [resource made] not reached: it has no hook update, and is not idempotent\n"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
