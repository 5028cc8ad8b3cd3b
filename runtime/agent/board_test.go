package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// scripted is a reporter that answers when it is told to.
type scripted struct {
	reports chan protocol.ServerState // that are made
	answers chan error                // to them
}

func (s scripted) Report(_ context.Context, state protocol.ServerState, _ map[contract.CellName]*protocol.Cause) error {
	s.reports <- state
	return <-s.answers
}

func (s scripted) ReportStart(ctx context.Context, state protocol.ServerState) error {
	return s.Report(ctx, state, nil)
}

// TestARoleThatDoesNotStartIsNotShownAsStarted: whoever changes the plan counts a role
// that is shown as running as one that runs by the old plan.
func TestARoleThatDoesNotStartIsNotShownAsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := scripted{make(chan protocol.ServerState), make(chan error)}
		b := newBoard(to, &console{}, func(error) {}, time.Now, protocol.ServerState{
			Roles: []protocol.RoleState{{Name: "mysql", Status: protocol.RolePending}}})
		expect := func(what string, want protocol.RoleStatus) {
			t.Helper()
			if got := (<-to.reports).Roles[0].Status; got != want {
				t.Errorf("%s shows the role as %s, want %s", what, got, want)
			}
		}
		committed, began := make(chan error), make(chan error)
		commit := func() { committed <- b.commit(t.Context(), nil, nil) }
		go commit()
		synctest.Wait() // a report is under way, and not yet read
		go func() {
			began <- b.begin(t.Context(), protocol.RoleState{Name: "mysql", Status: protocol.RoleRunning})
		}()
		synctest.Wait()
		if got := b.copy().Roles[0].Status; got != protocol.RolePending {
			t.Errorf("while another report is under way the role is %s", got)
		}
		expect("that report", protocol.RolePending)
		go commit()
		to.answers <- nil
		if err := <-committed; err != nil {
			t.Error(err)
		}
		expect("the report of its start", protocol.RoleRunning)
		go commit()
		synctest.Wait() // one is made before it is refused
		to.answers <- member.ErrPlanChanged
		if err := <-began; !errors.Is(err, member.ErrPlanChanged) {
			t.Errorf("it starts: %v", err)
		}
		for range 2 {
			expect("the next report", protocol.RolePending)
			to.answers <- nil
			if err := <-committed; err != nil {
				t.Error(err)
			}
		}
	})
}
