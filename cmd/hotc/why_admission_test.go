package main

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// A machine that waits to be let in is told of also where the server before it is done.
func TestWhyTellsOfMachinesThatWaitToBeLetIn(t *testing.T) {
	p := &contract.Plan{Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "mysql"}}}}}
	for what, alive := range map[string]bool{"the one before is there": true, "the one before is gone": false} {
		v := status.New(p, &deploy.Snapshot{Ready: true, Servers: []deploy.ServerSnapshot{{
			Path: "db", Alive: alive, Incarnation: protocol.IncarnationRecord{Number: 1, Instance: "i-old"},
			State:            protocol.ServerState{Phase: protocol.PhaseDone, Roles: []protocol.RoleState{done("mysql")}},
			AwaitingApproval: []protocol.ApprovalRequest{{Instance: "i-new", Key: "KEY", Since: noon}},
		}}}, hot.DecidedSize)
		open, err := operate.Questioned(v, "")
		if err != nil {
			t.Fatal(err)
		}
		i := status.Explain(v, open)
		at := (&target{stack: "blog"}).session(nil, "blog", protocol.Secret{})
		at.Advise(i)
		text := rootsText(at, i, noon)
		if strings.Contains(text, "Nothing is waiting") || strings.Count(text, "instance i-new asks to be db") != 1 {
			t.Errorf("%s: %s", what, text)
		}
		if roots := i.Roots(); !alive && (len(roots) != 1 || roots[0].Kind != status.KindRefused) {
			t.Errorf("%s: the roots are %+v", what, roots)
		}
	}
}
