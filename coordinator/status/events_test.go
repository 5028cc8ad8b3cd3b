package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A role that runs from one look to the next is told of all the same, again and again.
func TestEventsOfShortRuns(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	done := func(ran, updated int) protocol.RoleState {
		s := protocol.RoleState{Name: "app", Status: protocol.RoleDone, Started: noon, Ended: noon.Add(time.Duration(ran) * time.Second)}
		if updated > 0 {
			s.Update = &protocol.UpdateState{Status: protocol.RoleDone, Ended: noon.Add(time.Duration(updated) * time.Second)}
		}
		return s
	}
	for _, step := range []struct {
		old, now protocol.RoleState
		want     string
	}{
		{protocol.RoleState{}, done(1, 0), "done in 1.0s"},
		{done(1, 0), done(1, 0), ""},
		{done(1, 0), done(2, 0), "done in 2.0s"}, // on another machine
		{done(2, 0), done(2, 3), "updated"},
		{done(2, 3), done(2, 3), ""},
		{done(2, 3), done(2, 4), "updated"},
		{done(2, 4), done(5, 5), "updated"},
	} {
		var got string
		for _, e := range RoleEvents("web.app", step.old, step.now) {
			got += e.Text
		}
		if got != step.want {
			t.Errorf("from %+v to %+v it says %q, want %q", step.old, step.now, got, step.want)
		}
	}
}

// An agent that is away for a while is told of once, and its return; one that is back at once is not.
func TestEventsOfAgentsThatAreAway(t *testing.T) {
	p := &contract.Plan{Servers: []contract.Server{{Path: "db", Roles: []contract.Role{{Name: "mysql"}}}}}
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var h History
	said := ""
	for _, look := range []struct {
		after int // seconds
		alive bool
	}{{0, true}, {1, false}, {3, true}, {4, false}, {8, false}, {9, false}, {10, true}} {
		v := New(p, &deploy.Snapshot{Servers: []deploy.ServerSnapshot{{Path: "db", Alive: look.alive, Incarnation: protocol.IncarnationRecord{Number: 1}}}}, nil)
		for _, e := range h.See(v, noon.Add(time.Duration(look.after)*time.Second)) {
			said += fmt.Sprintf("%d: %s %.17s; ", look.after, e.Subject, e.Text)
		}
	}
	if want := "8: db its agent is away; 10: db its agent is back; "; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
}
