package member_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A failure ends every reader at once, with the chain of causes.
func TestPoisoning(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		db, app, lb := b.Agent(t, "db"), b.Agent(t, "app"), b.Agent(t, "lb")
		if err := db.Put(t.Context(), "db:first_address", json.RawMessage(`"10.0.0.3"`), deploytest.Noon); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := app.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:endpoint", member.AwaitOptions{})
			failed <- err
		}()
		first := &protocol.Cause{Role: "db.mysql", Reason: "exit status 7", At: "site.yaml:5:9"}
		err := db.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed, Since: deploytest.Noon},
			map[contract.CellName]*protocol.Cause{"db.mysql:endpoint": first, "db.mysql": first, "db:first_address": first})
		if err != nil {
			t.Fatal(err)
		}
		var cell *member.FailedCellError
		if err := deploytest.Soon(t, failed); !errors.As(err, &cell) || cell.Cause.Reason != "exit status 7" {
			t.Fatalf("the reader got %v", err)
		}
		second := &protocol.Cause{Role: "app.web", Reason: "its input db failed", Cause: cell.Cause}
		if err := app.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed}, map[contract.CellName]*protocol.Cause{"app.web:port": second}); err != nil {
			t.Fatal(err)
		}
		_, err = lb.Await(t.Context(), "app.web:port", member.AwaitOptions{})
		if !errors.As(err, &cell) || cell.Cause.Root().Reason != "exit status 7" {
			t.Errorf("the end of the chain got %v", err)
		}
		if rec, _ := db.Cell(t.Context(), "db:first_address"); rec.State != protocol.Valued {
			t.Errorf("a value that was published became %s", rec.State)
		}
		if err := db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), deploytest.Noon); !errors.As(err, &cell) {
			t.Errorf("writing a failed cell: %v, want a FailedCellError", err)
		}
	})
}

func TestLongChainsOfCausesAreCut(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		var chain *protocol.Cause
		for i := range 5_000 {
			chain = &protocol.Cause{Role: contract.RoleKey(fmt.Sprintf("s%d.r", i)), Reason: strings.Repeat("because ", 1_000), Cause: chain}
		}
		db := b.Agent(t, "db")
		if err := db.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed}, map[contract.CellName]*protocol.Cause{"db.mysql": chain, "db.mysql:endpoint": chain}); err != nil {
			t.Fatal(err)
		}
		rec, err := db.Cell(t.Context(), "db.mysql")
		if err != nil || rec.Cause.Role != "s4999.r" || rec.Cause.Root().Role != "s0.r" {
			t.Errorf("neither end of the chain may be lost: %v … %v (%v)", rec.Cause.Role, rec.Cause.Root().Role, err)
		}
	})
}

// A state near the limit does not end its agent when a failure keeps its role behind thousands of values:
// the report leaves out which it has seen.
func TestARoleBehindVeryManyValues(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		db := b.Agent(t, "db")
		seen := map[contract.CellName]protocol.Count{}
		limit := b.Session(t, "db").MaxValue()
		for size := 0; size < limit*2/3; {
			cell := contract.CellName(fmt.Sprintf("workers/%d.join:address_of_the_member", len(seen)))
			seen[cell] = protocol.Count{1, 2}
			size += len(cell) + len(`"":[1,2],`)
		}
		behind := &protocol.BehindState{Cause: &protocol.Cause{Role: "app.web", Reason: "exit status 3"}, Seen: seen}
		state := protocol.ServerState{Phase: protocol.PhaseDone, Roles: []protocol.RoleState{{Name: "mysql", Status: protocol.RoleDone, Followed: seen, Behind: behind}}}
		if err := db.Report(t.Context(), state, nil); err != nil {
			t.Fatal(err)
		}
		if len(behind.Seen) == 0 {
			t.Error("the agent's own record has changed")
		}
	})
}

func TestSnapshot(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		db := b.Agent(t, "db")
		db.Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1, Since: deploytest.Noon})
		db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"a value"`), deploytest.Noon)
		db.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseRunning, Since: deploytest.Noon,
			Roles: []protocol.RoleState{{Name: "mysql", Status: protocol.RoleRunning, Started: deploytest.Noon}}}, nil)
		db.WriteLog(t.Context(), "mysql", []byte(strings.Repeat("x", protocol.LogSize)+"the end"))

		s := b.Operator(t)
		got, err := deploy.TakeSnapshot(t.Context(), s, deploytest.Site, deploytest.Secret, deploytest.ThreeTier())
		if err != nil {
			t.Fatal(err)
		}
		v := got.Servers[0]
		if !got.Ready || v.Path != "db" || !v.Alive || v.Incarnation.Instance != "i-db" || v.State.Phase != protocol.PhaseRunning {
			t.Errorf("db is %+v", v)
		}
		if c := v.Cells["db.mysql:endpoint"]; c.State != protocol.Valued || c.Value != nil {
			t.Errorf("the cell is %+v, want its state without its value", c)
		}
		if v := got.Servers[1]; v.Alive || v.Incarnation.Number != 0 || v.State.Phase != "" {
			t.Errorf("app is %+v, want one that never came", v)
		}
		log, err := deploy.ReadLog(t.Context(), s, deploytest.Site, "db", "mysql")
		if err != nil || len(log) != protocol.LogSize || !strings.HasSuffix(string(log), "the end") {
			t.Errorf("the log has %d bytes (%v)", len(log), err)
		}
	})
}
