package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/member"
)

// An agent may be there before its deployment is: it waits, says what for, and
// goes on when apply has come to its end.
func TestAgentBeforeApply(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		said, done := make(chan string, 8), make(chan error, 1)
		m := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
		go func() {
			done <- m.AwaitDeployment(within(t, patience), func(why string) { said <- why })
		}()
		if why := soon(t, said); why != "the deployment site is not applied yet" {
			t.Errorf("it said %q", why)
		}
		select {
		case err := <-done:
			t.Fatalf("it did not wait (%v)", err)
		default:
		}
		b.publish(t, threeTier())
		if err := soon(t, done); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAgentThatDoesNotBelong(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		stranger := b.open(t, coordinator.ServerCredential("db", another.ServerToken(site, "db")))
		if err := member.Join(stranger, site, "db", another.ServerToken(site, "db")).AwaitDeployment(t.Context(), nil); !errors.Is(err, coordinator.ErrRefused) {
			t.Errorf("wrong token: %v, want ErrRefused", err)
		}
		if err := member.Join(b.session(t, "cache"), site, "cache", tokenOf("cache")).AwaitDeployment(t.Context(), nil); !errors.Is(err, member.ErrNotInPlan) {
			t.Errorf("unknown server: %v, want ErrNotInPlan", err)
		}
	})
}

func TestValuesTravelAsTheyAre(t *testing.T) {
	for _, value := range []string{
		`"mysql://db"`, `false`, `null`, `""`, `0`, `1.50`, `12345678901234567890`, `[]`, `{"a":[1,{"b":null}]}`,
		`"<&>\u2028 \" \\ \n ü 🦉"`,
	} {
		b := inMemory()
		b.publish(t, threeTier())
		if err := b.agent(t, "db").Put(t.Context(), "db.mysql:endpoint", json.RawMessage(value), noon); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		got, err := b.agent(t, "app").Await(t.Context(), "db.mysql:endpoint", member.AwaitOptions{})
		if err != nil || string(got) != value {
			t.Errorf("wrote %s, read %s (%v)", value, got, err)
		}
	}
}

func TestCellIsWrittenOnce(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		db := b.agent(t, "db")
		put := func(v string) error {
			return db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(v), noon)
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
		if err := db.Put(t.Context(), "app.web:port", json.RawMessage(`1`), noon); !errors.Is(err, member.ErrNotInPlan) {
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
	coordinator.Store
	lose int
}

func (s *lossy) Commit(ctx context.Context, ops ...coordinator.Op) error {
	err := s.Store.Commit(ctx, ops...)
	if err == nil && s.lose > 0 {
		s.lose--
		return coordinator.ErrVersion
	}
	return err
}

func TestLostAnswers(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		s := &lossy{b.session(t, "db"), 1}
		m := member.Join(s, site, "db", tokenOf("db"))
		if _, err := m.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		rec, err := m.Enrol(t.Context(), "one", "i-1", false, noon)
		if err != nil || rec.Number != 1 {
			t.Fatalf("enrolled as %d (%v), want 1", rec.Number, err)
		}
		s.lose = 1
		if err := m.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), noon); err != nil {
			t.Errorf("Put: %v", err)
		}
		s.lose = 1
		cause := &coordinator.Cause{Role: "db.mysql", Reason: "exit status 1"}
		if err := m.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed, Since: noon}, map[contract.CellName]*coordinator.Cause{"db.mysql": cause}); err != nil {
			t.Errorf("Report: %v", err)
		}
		s.lose = 1
		if err := m.WriteLog(t.Context(), "mysql", []byte("hello")); err != nil {
			t.Errorf("WriteLog: %v", err)
		}
		if rec, err := m.Cell(t.Context(), "db.mysql"); err != nil || rec.State != coordinator.Failed || rec.Cause.Reason != "exit status 1" {
			t.Errorf("the completion is %+v (%v)", rec, err)
		}
	})
}

func TestValuesNearTheLimit(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		s := b.session(t, "db")
		limit := s.MaxValue() - 16<<10
		db, app := b.agent(t, "db"), b.agent(t, "app")
		err := db.Put(t.Context(), "db.mysql:endpoint", jsonString(limit+1), noon)
		if !errors.Is(err, coordinator.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(limit+1)) || !strings.Contains(err.Error(), fmt.Sprint(limit)) {
			t.Errorf("%v, want ErrTooLarge with both sizes", err)
		}
		value := jsonString(limit)
		copy(value[1:], "<<<<&&&&>>>>") // no growth by escapes
		if err := db.Put(t.Context(), "db.mysql:endpoint", value, noon); err != nil {
			t.Fatal(err)
		}
		if got, err := app.Await(t.Context(), "db.mysql:endpoint", member.AwaitOptions{}); err != nil || len(got) != limit {
			t.Errorf("%d bytes arrived (%v)", len(got), err)
		}
	})
}
