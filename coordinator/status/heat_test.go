package status

import (
	"encoding/json"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// What Heat gives otherwise than when a role ran makes the role out of date, or nothing does.
// What was said of another machine says nothing of this one.
func TestWhatHeatGives(t *testing.T) {
	for name, c := range map[string]struct {
		watch    bool
		instance string
		value    string
		want     string
		detail   string
	}{
		"the same":                 {true, "id", `{"a":1}`, "done", ""},
		"another":                  {true, "id", `2`, "to be updated", "what it follows has changed"},
		"of another machine":       {true, "other", `2`, "done", ""},
		"another, which nobody is": {false, "id", `2`, "not reached", "it keeps the values it ran with, since it has no hook update and is not idempotent; changed since: {get_param: level}; hotc retry NAME a.r --force runs it with them"},
	} {
		cell := contract.HeatCell("k")
		role := contract.Role{Name: "r", Follows: []contract.Follow{{Cell: cell, Watch: c.watch}}, Idempotent: c.watch}
		p := &contract.Plan{Servers: []contract.Server{{Path: "a", Roles: []contract.Role{role},
			Deploy: map[string]contract.DeployValue{"k": {Expr: json.RawMessage(`{"get_param":"level"}`), Carried: true}}}}}
		had := protocol.HeatRecordOf(json.RawMessage(`{"a": 1}`), 0)
		v := New(p, &deploy.Snapshot{Ready: true, Servers: []deploy.ServerSnapshot{{Path: "a", Alive: true,
			Incarnation: protocol.IncarnationRecord{Number: 1, Instance: "id"},
			Heat:        protocol.HeatValues{Number: 9, Instance: c.instance, Values: map[string]json.RawMessage{"k": json.RawMessage(c.value)}},
			State: protocol.ServerState{Incarnation: 1, Phase: protocol.PhaseDone, Roles: []protocol.RoleState{{Name: "r", Status: protocol.RoleDone,
				Made: role.Made(), Followed: map[contract.CellName]protocol.Count{cell: had.At()}}}}}}}, nil)
		r := v.Role("a", "r")
		if got, detail := r.Shown(), UpdateDetail(r); got != c.want || detail != c.detail {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got, detail, c.want, c.detail)
		}
	}
}
