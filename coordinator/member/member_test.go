package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// An agent may be there before its deployment is: it waits, says what for, and
// goes on when apply has come to its end.
func TestAgentBeforeApply(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		said, done := make(chan string, 8), make(chan error, 1)
		m := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
		go func() {
			done <- m.AwaitDeployment(deploytest.Within(t, deploytest.Patience), func(why string) { said <- why })
		}()
		if why := deploytest.Soon(t, said); why != "the deployment site is not applied yet" {
			t.Errorf("it said %q", why)
		}
		select {
		case err := <-done:
			t.Fatalf("it did not wait (%v)", err)
		default:
		}
		b.Publish(t, deploytest.ThreeTier())
		if err := deploytest.Soon(t, done); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAgentThatDoesNotBelong(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		stranger := b.Open(t, protocol.ServerCredential("db", deploytest.Another.ServerToken(deploytest.Site, "db")))
		if err := member.Join(stranger, deploytest.Site, "db", deploytest.Another.ServerToken(deploytest.Site, "db")).AwaitDeployment(t.Context(), nil); !errors.Is(err, store.ErrRefused) {
			t.Errorf("wrong token: %v, want ErrRefused", err)
		}
		if err := member.Join(b.Session(t, "cache"), deploytest.Site, "cache", deploytest.TokenOf("cache")).AwaitDeployment(t.Context(), nil); !errors.Is(err, member.ErrNotInPlan) {
			t.Errorf("unknown server: %v, want ErrNotInPlan", err)
		}
	})
}

func TestValuesTravelAsTheyAre(t *testing.T) {
	for _, value := range []string{
		`"mysql://db"`, `false`, `null`, `""`, `0`, `1.50`, `12345678901234567890`, `[]`, `{"a":[1,{"b":null}]}`,
		`"<&>\u2028 \" \\ \n ü 🦉"`,
	} {
		b, plan := deploytest.InMemory(), deploytest.ThreeTier()
		for _, role := range plan.EachRole() {
			for i := range role.Outputs {
				role.Outputs[i].Type = contract.JSON
			}
		}
		b.Publish(t, plan)
		if err := b.Agent(t, "db").Put(t.Context(), "db.mysql:endpoint", json.RawMessage(value), deploytest.Noon); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		got, err := b.Agent(t, "app").Await(t.Context(), "db.mysql:endpoint", member.AwaitOptions{})
		if err != nil || string(got) != value {
			t.Errorf("wrote %s, read %s (%v)", value, got, err)
		}
	}
}

func TestCellIsWrittenOnce(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		db := b.Agent(t, "db")
		put := func(v string) error {
			return db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(v), deploytest.Noon)
		}
		if err := put(`{"a": 1, "b": ["x"]}`); err != nil {
			t.Fatal(err)
		}
		for _, same := range []string{`{"a":1,"b":["x"]}`, `{"b":["\u0078"],"a":1}`} {
			if err := put(same); err != nil {
				t.Errorf("the same value, %s: %v", same, err)
			}
		}
		for _, other := range []string{`{"a":1.0,"b":["x"]}`, `{"a":1}`, `{"a":1,"b":["y"]}`, `null`} {
			if err := put(other); !errors.Is(err, member.ErrOtherValue) {
				t.Errorf("%s: %v, want ErrOtherValue", other, err)
			}
		}
		if err := put(`{`); err == nil {
			t.Error("half a value is taken")
		}
		if err := db.Put(t.Context(), "app.web:port", json.RawMessage(`1`), deploytest.Noon); !errors.Is(err, member.ErrNotInPlan) {
			t.Errorf("another server's cell: %v, want ErrNotInPlan", err)
		}
		if _, err := db.Await(t.Context(), "app.web:port", member.AwaitOptions{}); !errors.Is(err, member.ErrNotInPlan) {
			t.Errorf("a cell the server does not read: %v, want ErrNotInPlan", err)
		}
	})
}

// lossy takes commits and loses their answers: what the caller sees is a version
// that does not fit.
type lossy struct {
	store.Session
	lose int
}

func (s *lossy) Commit(ctx context.Context, ops ...store.Op) error {
	err := s.Session.Commit(ctx, ops...)
	if err == nil && s.lose > 0 {
		s.lose--
		return store.ErrVersion
	}
	return err
}

func TestLostAnswers(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		s := &lossy{b.Session(t, "db"), 1}
		m := member.Join(s, deploytest.Site, "db", deploytest.TokenOf("db"))
		if _, err := m.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		enrolled, err := m.Enrol(t.Context(), "one", "i-1", false, deploytest.Noon)
		if err != nil || enrolled.Incarnation.Number != 1 {
			t.Fatalf("enrolled as %+v (%v), want 1", enrolled, err)
		}
		s.lose = 1
		if err := enrolled.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), deploytest.Noon); err != nil {
			t.Errorf("Put: %v", err)
		}
		s.lose = 1
		cause := &protocol.Cause{Role: "db.mysql", Reason: "exit status 1"}
		if err := enrolled.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed, Since: deploytest.Noon}, map[contract.CellName]*protocol.Cause{"db.mysql": cause}); err != nil {
			t.Errorf("Report: %v", err)
		}
		s.lose = 1
		if err := enrolled.WriteLog(t.Context(), "mysql", []byte("hello")); err != nil {
			t.Errorf("WriteLog: %v", err)
		}
		if rec, err := m.Cell(t.Context(), "db.mysql"); err != nil || rec.State != protocol.Failed || rec.Cause.Reason != "exit status 1" {
			t.Errorf("the completion is %+v (%v)", rec, err)
		}
	})
}

func TestValuesNearTheLimit(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		s := b.Session(t, "db")
		limit := s.MaxValue() - 16<<10
		db, app := b.Agent(t, "db"), b.Agent(t, "app")
		err := db.Put(t.Context(), "db.mysql:endpoint", deploytest.JsonString(limit+1), deploytest.Noon)
		if !errors.Is(err, store.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(limit+1)) || !strings.Contains(err.Error(), fmt.Sprint(limit)) {
			t.Errorf("%v, want ErrTooLarge with both sizes", err)
		}
		value := deploytest.JsonString(limit)
		copy(value[1:], "<<<<&&&&>>>>") // no growth by escapes
		if err := db.Put(t.Context(), "db.mysql:endpoint", value, deploytest.Noon); err != nil {
			t.Fatal(err)
		}
		if got, err := app.Await(t.Context(), "db.mysql:endpoint", member.AwaitOptions{}); err != nil || len(got) != limit {
			t.Errorf("%d bytes arrived (%v)", len(got), err)
		}
	})
}
