package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A role that runs from one look to the next is told of all the same, again and again.
func TestUpTellsOfShortRuns(t *testing.T) {
	var out strings.Builder
	v := newUpView(t.Context(), streams{err: &out, out: &out}, &target{stack: "blog"}, nil, true)
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
		out.Reset()
		v.changed("web.app", step.old, step.now)
		if got := out.String(); !strings.Contains(got, step.want) || strings.Count(got, "\n") > 1 || (got == "") != (step.want == "") {
			t.Errorf("from %+v to %+v it says %q, want %q", step.old, step.now, got, step.want)
		}
	}
}
