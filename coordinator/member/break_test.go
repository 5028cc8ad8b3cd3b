package member_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// What an operator fails in a server's name is as good as what the server writes, to its
// readers and to itself; what has a value already is let alone.
func TestCellsThatAnOperatorFails(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		db, app, lb := b.Agent(t, "db"), b.Agent(t, "app"), b.Agent(t, "lb")
		r, err := deploy.NewReader(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, deploytest.ThreeTier())
		if err != nil {
			t.Fatal(err)
		}
		fail := func(cells ...contract.CellRef) error {
			causes := make([]*protocol.Cause, len(cells))
			for i := range causes {
				causes[i] = &protocol.Cause{Role: "db.mysql", Reason: "a dependency cycle"}
			}
			return r.Break(t.Context(), cells, causes, deploytest.Noon)
		}
		endpoint, port := contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}, contract.CellRef{Cell: "app.web:port", Server: "app"}
		if err := db.Put(t.Context(), endpoint.Cell, json.RawMessage(`"here"`), deploytest.Noon); err != nil {
			t.Fatal(err)
		}
		if err := fail(port, endpoint); !errors.Is(err, store.ErrVersion) {
			t.Errorf("one of two has a value: %v, want ErrVersion", err)
		}
		if rec, err := r.Cell(t.Context(), port); err != nil || rec.State != protocol.Empty {
			t.Errorf("the other one became %s (%v)", rec.State, err)
		}
		if err := fail(port); err != nil {
			t.Fatal(err)
		}
		var failed *member.FailedCellError
		if _, err := lb.Await(t.Context(), port.Cell, member.AwaitOptions{}); !errors.As(err, &failed) || failed.Cause.Reason != "a dependency cycle" {
			t.Errorf("its reader got %v", err)
		}
		if err := app.Put(t.Context(), port.Cell, json.RawMessage(`80`), deploytest.Noon); !errors.As(err, &failed) {
			t.Errorf("its writer got %v, want a FailedCellError", err)
		}
		if err := app.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed}, map[contract.CellName]*protocol.Cause{port.Cell: failed.Cause}); err != nil {
			t.Errorf("the writer's report: %v", err)
		}
	})
}
