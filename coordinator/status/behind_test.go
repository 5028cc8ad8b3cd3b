package status

import (
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Of a role that is out of date it is said what has failed, and where: its own hook, or the role
// that writes what it follows.
func TestWhyOutOfDate(t *testing.T) {
	ended := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	cause := &protocol.Cause{Role: "db.mysql", At: "site.yaml:9:9", Reason: "exit status 4"}
	const cell = contract.CellName("db.mysql:url")
	mysql := contract.Role{Name: "mysql", Hooks: []contract.Task{{Name: contract.HookUpdate}}}
	app := contract.Role{Name: "app", At: "site.yaml:20:9", Idempotent: true, Follows: []contract.Follow{{Cell: cell, Watch: true}}}
	p := &contract.Plan{
		Servers: []contract.Server{{Path: "db", Roles: []contract.Role{mysql}}, {Path: "web", Roles: []contract.Role{app}}},
		Cells:   []contract.Cell{{Name: cell, Server: "db", Role: "mysql"}},
	}
	server := func(path contract.ServerPath, r protocol.RoleState) deploy.ServerSnapshot {
		return deploy.ServerSnapshot{Path: path, Alive: true, Incarnation: protocol.IncarnationRecord{Number: 1},
			Cells: map[contract.CellName]protocol.CellRecord{cell: {State: protocol.Valued, Incarnation: 1, Version: 2, Cause: cause}},
			State: protocol.ServerState{Incarnation: 1, Phase: protocol.PhaseDone, Roles: []protocol.RoleState{r}}}
	}
	v := New(p, &deploy.Snapshot{Ready: true, Servers: []deploy.ServerSnapshot{
		server("db", protocol.RoleState{Name: "mysql", Status: protocol.RoleDone, Made: mysql.Made(),
			Update: &protocol.UpdateState{Status: protocol.RoleFailed, Ended: ended, Cause: cause}}),
		server("web", protocol.RoleState{Name: "app", Status: protocol.RoleDone, Ended: ended, Made: app.Made(),
			Followed: map[contract.CellName]protocol.Count{cell: {1, 1}}}),
	}}, nil)
	for key, want := range map[contract.RoleKey]Finding{
		"db.mysql": {Since: ended, Message: "the update hook failed: exit status 4 (site.yaml:9:9)"},
		"web.app":  {Message: "the role that writes what it follows failed (site.yaml:20:9): db.mysql: exit status 4 (site.yaml:9:9)"},
	} {
		r := v.RoleOf(key)
		f := &Finding{}
		if describeUpdate(f, r); r.Shown() != "not updated" || f.Kind != KindOutOfDate || !f.Since.Equal(want.Since) || f.Message != want.Message {
			t.Errorf("%s is %s: %v %q, want %v %q", key, r.Shown(), f.Since, f.Message, want.Since, want.Message)
		}
	}
}
