package status

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A member that Heat has taken out of its group is not lost, and its failure is nobody's any
// more. The machine that takes its place is a server again.
func TestLeft(t *testing.T) {
	p := &contract.Plan{Servers: []contract.Server{{Path: "web/0", Roles: []contract.Role{{Name: "app"}}}}}
	for _, c := range []struct {
		name              string
		incarnation, gone int
		alive, left       bool
	}{
		{"in the group", 1, 0, true, false},
		{"switched off", 1, 0, false, false},
		{"left", 1, 1, false, true},
		{"left, and still there for a moment", 1, 1, true, true},
		{"another machine", 2, 1, true, false},
		{"never came", 0, 0, false, false},
	} {
		v := New(p, &deploy.Snapshot{
			Servers: []deploy.ServerSnapshot{{Path: "web/0", Alive: c.alive, Incarnation: protocol.IncarnationRecord{Number: c.incarnation},
				State: protocol.ServerState{Phase: protocol.PhaseFailed, Roles: []protocol.RoleState{{Name: "app", Status: protocol.RoleFailed}}}}},
			Members: map[string]protocol.MembersRecord{"web": {Gone: map[contract.ServerPath]int{"web/0": c.gone}}},
		}, nil)
		s := v.Servers[0]
		if s.Left != c.left || AnyFailed(v.Servers) == c.left || c.left && (s.Gone() || s.Lost() || !v.Finished()) {
			t.Errorf("%s: left %v, failed %v, gone %v, lost %v, finished %v", c.name, s.Left, AnyFailed(v.Servers), s.Gone(), s.Lost(), v.Finished())
		}
	}
}
