package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// site is a deployment whose app reads what its db writes; proxy reads nothing.
func site(states map[string]protocol.RoleState, alive bool) *status.Status {
	role := func(name string, in ...contract.Input) contract.Role {
		return contract.Role{Name: name, Inputs: in, Hooks: []contract.Task{{Name: contract.HookDelete}}}
	}
	p := &contract.Plan{
		Servers: []contract.Server{
			{Path: "app", Roles: []contract.Role{role("web", contract.Input{Name: "db", Reads: []contract.CellName{"db.mysql:url"}})}},
			{Path: "db", Roles: []contract.Role{role("disk"), role("mysql")}},
			{Path: "proxy", Roles: []contract.Role{role("http")}},
		},
		Cells: []contract.Cell{{Name: "db.mysql:url", Server: "db", Role: "mysql"}},
	}
	p.Servers[1].Roles[1].Outputs = []contract.Output{{Name: "url", Cell: "db.mysql:url"}}
	snapshot := &deploy.Snapshot{Ready: true}
	for _, s := range p.Servers {
		now := deploy.ServerSnapshot{Path: s.Path, Alive: alive, Incarnation: protocol.IncarnationRecord{Number: 1},
			Cells: map[contract.CellName]protocol.CellRecord{"db.mysql:url": {State: protocol.Valued, Incarnation: 1}}}
		for _, r := range s.Roles {
			state, changed := states[r.Name]
			if !changed {
				state.Status = protocol.RoleDone
			}
			state.Name = r.Name
			now.State.Roles = append(now.State.Roles, state)
		}
		snapshot.Servers = append(snapshot.Servers, now)
	}
	return status.New(p, snapshot, func(json.RawMessage) int { return 1 })
}

func keys(rounds [][]*status.Role) string {
	var all [][]contract.RoleKey
	for _, round := range rounds {
		var names []contract.RoleKey
		for _, r := range round {
			names = append(names, r.Key())
		}
		all = append(all, names)
	}
	return fmt.Sprint(all)
}

// Hooks run in the order of who reads from whom, at a deletion in reverse.
func TestOrderOfHooks(t *testing.T) {
	v := site(nil, true)
	var all []*status.Role
	for _, s := range v.Servers {
		all = append(all, s.Roles...)
	}
	if got, want := keys(rounds(v.Plan, all, false)), "[[db.disk proxy.http] [db.mysql] [app.web]]"; got != want {
		t.Errorf("writers first: %s, want %s", got, want)
	}
	if got, want := keys(rounds(v.Plan, all, true)), "[[app.web] [db.mysql] [db.disk proxy.http]]"; got != want {
		t.Errorf("readers first: %s, want %s", got, want)
	}
}

// What prevents hooks is an error that names roles or servers, before anything is requested.
func TestHooksThatCannotRun(t *testing.T) {
	o := &Operator{}
	_, err := o.RunHooks(t.Context(), site(map[string]protocol.RoleState{"mysql": {Status: protocol.RoleRunning}}, true), contract.HookDelete, nil)
	if early, is := errors.AsType[*EarlyHookError](err); !is || early.Role.Key() != "db.mysql" {
		t.Errorf("a role that runs: %v", err)
	}
	_, err = o.RunHooks(t.Context(), site(nil, false), contract.HookDelete, nil)
	if absent, is := errors.AsType[*AbsentError](err); !is || fmt.Sprint(absent.Servers) != "[app db proxy]" {
		t.Errorf("agents that are gone: %v", err)
	}
}

// A retry withdraws what the role and those after it on its server have marked, and runs again what
// failed because of it.
func TestRetry(t *testing.T) {
	cause := &protocol.Cause{Role: "db.disk", Reason: "full"}
	v := site(map[string]protocol.RoleState{
		"disk":  {Status: protocol.RoleFailed, Cause: cause},
		"mysql": {Status: protocol.RoleSkipped, Cause: cause},
		"web":   {Status: protocol.RoleFailed, Cause: &protocol.Cause{Role: "app.web", Reason: "no value", Cause: cause}},
	}, true)
	disk := v.RoleOf("db.disk")
	again := append([]*status.Role{disk}, becauseOf(v, disk)...)
	if got, want := keys([][]*status.Role{again}), "[[db.disk app.web]]"; got != want {
		t.Errorf("again run %s, want %s", got, want)
	}
	posts, cells := requests(again)
	if len(posts) != 2 || posts[0].Server != "db" || posts[0].Request.Role != "disk" || posts[1].Server != "app" {
		t.Errorf("posted is %+v", posts)
	}
	if got, want := fmt.Sprint(cells), "[{db.disk db false } {db.mysql db false } {db.mysql:url db false } {app.web app false }]"; got != want {
		t.Errorf("taken back are %s, want %s", got, want)
	}
	if kept := keptOutputs(v, []*status.Role{v.RoleOf("db.mysql")}); len(kept) != 0 {
		t.Errorf("kept are %+v, and its reader has failed", kept)
	}
	v = site(map[string]protocol.RoleState{"mysql": {Status: protocol.RoleFailed, Cause: cause}}, true)
	if kept := keptOutputs(v, []*status.Role{v.RoleOf("db.mysql")}); len(kept) != 1 || kept[0].Cell != "db.mysql:url" || kept[0].Same || fmt.Sprint(kept[0].Readers) != "[app.web]" {
		t.Errorf("kept are %+v", kept)
	}
	v.RoleOf("app.web").Plan.Follows = []contract.Follow{{Cell: "db.mysql:url", Watch: true}}
	if kept := keptOutputs(v, []*status.Role{v.RoleOf("db.mysql")}); len(kept) != 0 {
		t.Errorf("kept are %+v, and its reader follows it", kept)
	}
}
