package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// An agent may be there before its deployment is: it waits, says what for, and
// goes on when apply has come to its end.
func TestAgentBeforeApply(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		var mu sync.Mutex
		var said []string
		done := make(chan error, 1)
		m := coordinator.Join(b.session(t, "db"), site, "db")
		go func() {
			done <- m.AwaitDeployment(within(t, 20*time.Second), func(why string) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, why)
			})
		}()
		time.Sleep(50 * time.Millisecond)
		select {
		case err := <-done:
			t.Fatalf("it did not wait (%v)", err)
		default:
		}
		b.publish(t, threeTier())
		if err := soon(t, done); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(said) == 0 || said[0] != "the deployment site is not applied yet" {
			t.Errorf("it said %q", said)
		}
	})
}

func TestAgentThatDoesNotBelong(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		stranger := b.open(t, coordinator.ServerCredential("db", another.ServerToken(site, "db")))
		if err := coordinator.Join(stranger, site, "db").AwaitDeployment(t.Context(), nil); !errors.Is(err, coordinator.ErrRefused) {
			t.Errorf("wrong token: %v, want ErrRefused", err)
		}
		if err := coordinator.Join(b.session(t, "cache"), site, "cache").AwaitDeployment(t.Context(), nil); !errors.Is(err, coordinator.ErrNotInPlan) {
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
		got, err := b.agent(t, "app").Await(t.Context(), "db.mysql:endpoint", coordinator.AwaitOptions{})
		if err != nil || string(got) != value {
			t.Errorf("wrote %s, read %s (%v)", value, got, err)
		}
	}
}

func TestReadBlocksUntilTheWrite(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		db, app := b.agent(t, "db"), b.agent(t, "app")
		blocked := make(chan time.Time, 1)
		type result struct {
			value json.RawMessage
			err   error
		}
		got := make(chan result, 1)
		go func() {
			v, err := app.Await(within(t, 20*time.Second), "db.mysql:endpoint", coordinator.AwaitOptions{
				Blocked: func(since time.Time) { blocked <- since },
			})
			got <- result{v, err}
		}()
		soon(t, blocked)
		if err := db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"here"`), noon); err != nil {
			t.Fatal(err)
		}
		if r := soon(t, got); r.err != nil || string(r.value) != `"here"` {
			t.Errorf("%s, %v", r.value, r.err)
		}
	})
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
			if err := put(other); !errors.Is(err, coordinator.ErrOtherValue) {
				t.Errorf("%s: %v, want ErrOtherValue", other, err)
			}
		}
		if err := put(`{`); err == nil {
			t.Error("half a value is taken")
		}
		if err := db.Put(t.Context(), "app.web:port", json.RawMessage(`1`), noon); !errors.Is(err, coordinator.ErrNotInPlan) {
			t.Errorf("another server's cell: %v, want ErrNotInPlan", err)
		}
		if _, err := db.Await(t.Context(), "app.web:port", coordinator.AwaitOptions{}); !errors.Is(err, coordinator.ErrNotInPlan) {
			t.Errorf("a cell the server does not read: %v, want ErrNotInPlan", err)
		}
	})
}

func TestWritesComeAfterEnrolment(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	m := coordinator.Join(b.session(t, "db"), site, "db")
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(t.Context(), "db.mysql", json.RawMessage(`null`), noon); err == nil {
		t.Error("an agent that was not enrolled wrote a cell")
	}
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
		m := coordinator.Join(s, site, "db")
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
		if err := m.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed, Since: noon}, map[plan.CellName]*coordinator.Cause{"db.mysql": cause}); err != nil {
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

// A server that is built anew has the same name and token. It fences the old one,
// and its cells are empty again.
func TestIncarnations(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		enrol := func(id string, before bool) (*coordinator.Member, coordinator.IncarnationRecord, error) {
			m := coordinator.Join(b.session(t, "db"), site, "db")
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			rec, err := m.Enrol(t.Context(), id, "i-"+id, before, noon)
			return m, rec, err
		}
		old, rec, err := enrol("old", false)
		if err != nil || rec.Number != 1 {
			t.Fatalf("%+v, %v", rec, err)
		}
		old.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"old"`), noon)
		old.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseDone}, nil)

		rebooted, rec, err := enrol("old", true)
		if err != nil || rec.Number != 1 {
			t.Fatalf("after a reboot: %+v, %v", rec, err)
		}
		if err := rebooted.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"old"`), noon); err != nil {
			t.Errorf("the same value after a reboot: %v", err)
		}
		if state, err := rebooted.State(t.Context()); err != nil || state.Phase != coordinator.PhaseDone {
			t.Errorf("the state after a reboot: %+v, %v", state, err)
		}

		anew, rec, err := enrol("new", false)
		if err != nil || rec.Number != 2 {
			t.Fatalf("built anew: %+v, %v", rec, err)
		}
		if cell, err := anew.Cell(t.Context(), "db.mysql:endpoint"); err != nil || cell.State != coordinator.Empty || cell.Incarnation != 2 {
			t.Errorf("the cell is %+v (%v), want empty of incarnation 2", cell, err)
		}
		if state, err := anew.State(t.Context()); err != nil || state.Phase != "" {
			t.Errorf("the new server has the old one's state: %+v, %v", state, err)
		}
		for what, err := range map[string]error{
			"Put":       old.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"late"`), noon),
			"Put again": rebooted.Put(t.Context(), "db.mysql", json.RawMessage(`null`), noon),
			"Report":    old.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed}, map[plan.CellName]*coordinator.Cause{"db.mysql": {Reason: "late"}}),
			"WriteLog":  old.WriteLog(t.Context(), "mysql", []byte("late")),
		} {
			if !errors.Is(err, coordinator.ErrFenced) {
				t.Errorf("%s of the old agent: %v, want ErrFenced", what, err)
			}
		}
		if _, _, err := enrol("old", true); !errors.Is(err, coordinator.ErrFenced) {
			t.Errorf("the old server comes back: %v, want ErrFenced", err)
		}
		if err := anew.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"new"`), noon); err != nil {
			t.Error(err)
		}
	})
}

// preceded lets something happen right before a commit.
type preceded struct {
	coordinator.Store
	before func()
}

func (s *preceded) Commit(ctx context.Context, ops ...coordinator.Op) error {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return s.Store.Commit(ctx, ops...)
}

// An agent is killed after it got its number and before it noted so; then a later
// machine takes over. The agent that comes back must not fence that one.
func TestKilledBetweenNumberAndNote(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		tries := map[string]int{}
		enrol := func(id string) (coordinator.IncarnationRecord, error) {
			m := coordinator.Join(b.session(t, "db"), site, "db")
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.RememberTries(tries[id], func(number int) error {
				tries[id] = number
				return nil
			})
			return m.Enrol(t.Context(), id, "i-"+id, false, noon) // enrolled, but for the note
		}
		if rec, err := enrol("older"); err != nil || rec.Number != 1 {
			t.Fatalf("older: %+v, %v", rec, err)
		}
		if rec, err := enrol("older"); err != nil || rec.Number != 1 {
			t.Fatalf("the same again: %+v, %v", rec, err)
		}
		if rec, err := enrol("newer"); err != nil || rec.Number != 2 {
			t.Fatalf("newer: %+v, %v", rec, err)
		}
		if _, err := enrol("older"); !errors.Is(err, coordinator.ErrFenced) {
			t.Errorf("the older machine comes back: %v, want ErrFenced", err)
		}
	})
}

// held keeps commits back, as a network does.
type held struct {
	coordinator.Store
	on  bool
	ops []coordinator.Op
}

func (s *held) Commit(ctx context.Context, ops ...coordinator.Op) error {
	if s.on {
		s.ops = ops
		return errors.New("killed before it had an answer")
	}
	return s.Store.Commit(ctx, ops...)
}

// A report arrives when the agent that made it is dead and its successor on the same
// machine has reported: it comes too late.
func TestLateReport(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		slow := &held{Store: b.session(t, "db")}
		agent := func(s coordinator.Store) *coordinator.Member {
			m := coordinator.Join(s, site, "db")
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Enrol(t.Context(), "one", "i-1", false, noon); err != nil {
				t.Fatal(err)
			}
			return m
		}
		first := agent(slow)
		if err := first.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseRunning}, nil); err != nil {
			t.Fatal(err)
		}
		slow.on = true
		if err := first.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseRunning}, nil); err == nil {
			t.Fatal("the report was not kept back")
		}
		second := agent(b.session(t, "db"))
		if err := second.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseDone}, nil); err != nil {
			t.Fatal(err)
		}
		if err := slow.Store.Commit(t.Context(), slow.ops...); !errors.Is(err, coordinator.ErrVersion) {
			t.Errorf("the late report: %v, want ErrVersion", err)
		}
		if state, err := second.State(t.Context()); err != nil || state.Phase != coordinator.PhaseDone {
			t.Errorf("the state is %+v, %v", state, err)
		}
	})
}

// lagging answers the first read of a node with what stood there before.
type lagging struct {
	coordinator.Store
	path   coordinator.Path
	before []coordinator.Node
}

func (s *lagging) Read(ctx context.Context, path coordinator.Path) (coordinator.Node, error) {
	if path == s.path && len(s.before) > 0 {
		node := s.before[0]
		s.before = s.before[1:]
		return node, nil
	}
	return s.Store.Read(ctx, path)
}

// An agent that was enrolled and starts again on a server of the ensemble that lags
// behind is not fenced by the past.
func TestEnrolledAgentReadsThePast(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		before, err := b.operator(t).Read(t.Context(), site.Server("db"))
		if err != nil {
			t.Fatal(err)
		}
		b.agent(t, "db")
		again := coordinator.Join(&lagging{b.session(t, "db"), site.Server("db"), []coordinator.Node{before, before}}, site, "db")
		if _, err := again.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rec, err := again.Enrol(t.Context(), "journal-db", "i-db", true, noon); err != nil || rec.Number != 1 {
			t.Fatalf("%+v, %v", rec, err)
		}
	})
}

// A value that the old machine publishes while the new one takes over the name is
// gone with the rest: seed 194 of the simulation left it for readers to find.
func TestPredecessorWritesDuringTheTakeOver(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		old := b.agent(t, "db")
		s := &preceded{b.session(t, "db"), func() {
			if err := old.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"old"`), noon); err != nil {
				t.Error(err)
			}
		}}
		next := coordinator.Join(s, site, "db")
		if _, err := next.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rec, err := next.Enrol(t.Context(), "next", "i-next", false, noon); err != nil || rec.Number != 2 {
			t.Fatalf("%+v, %v", rec, err)
		}
		if rec, err := next.Cell(t.Context(), "db.mysql:endpoint"); err != nil || rec.State != coordinator.Empty {
			t.Errorf("the new incarnation begins with %+v (%v)", rec, err)
		}
	})
}

// A server with more cells than one request takes is still taken over as a whole.
func TestTakeOverOfManyCells(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := threeTier()
		for i := range 12_000 {
			c := plan.CellName(fmt.Sprintf("db.mysql:output_%05d", i))
			p.Servers[0].Writes = append(p.Servers[0].Writes, c)
			p.Cells = append(p.Cells, plan.Cell{Name: c, Server: "db", Role: "mysql"})
		}
		b.publish(t, p)
		old := b.agent(t, "db")
		causes := map[plan.CellName]*coordinator.Cause{}
		for _, c := range p.Servers[0].Writes {
			causes[c] = &coordinator.Cause{Role: "db.mysql", Reason: "exit status 1"}
		}
		if err := old.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed}, causes); err != nil {
			t.Fatal(err)
		}
		states := func() map[coordinator.CellState]int {
			snapshot, err := coordinator.TakeSnapshot(t.Context(), b.operator(t), site, p)
			if err != nil {
				t.Fatal(err)
			}
			n := map[coordinator.CellState]int{}
			for _, c := range snapshot.Servers[0].Cells {
				n[c.State]++
			}
			return n
		}
		if n := states(); n[coordinator.Failed] != 12_003 {
			t.Errorf("poisoned %v", n)
		}
		m := coordinator.Join(b.session(t, "db"), site, "db")
		m.Plan(t.Context())
		if _, err := m.Enrol(t.Context(), "new", "i-2", false, noon); err != nil {
			t.Fatal(err)
		}
		if n := states(); n[coordinator.Empty] != 12_003 {
			t.Errorf("after the take-over: %v", n)
		}
	})
}

// A failure ends every reader at once, with the chain of causes.
func TestPoisoning(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		db, app, lb := b.agent(t, "db"), b.agent(t, "app"), b.agent(t, "lb")
		if err := db.Put(t.Context(), "db:first_address", json.RawMessage(`"10.0.0.3"`), noon); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := app.Await(within(t, 20*time.Second), "db.mysql:endpoint", coordinator.AwaitOptions{})
			failed <- err
		}()
		first := &coordinator.Cause{Role: "db.mysql", Reason: "exit status 7", At: "site.yaml:5:9"}
		err := db.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed, Since: noon},
			map[plan.CellName]*coordinator.Cause{"db.mysql:endpoint": first, "db.mysql": first, "db:first_address": first})
		if err != nil {
			t.Fatal(err)
		}
		var cell *coordinator.FailedCellError
		if err := soon(t, failed); !errors.As(err, &cell) || cell.Cause.Reason != "exit status 7" {
			t.Fatalf("the reader got %v", err)
		}
		second := &coordinator.Cause{Role: "app.web", Reason: "its input db failed", Cause: cell.Cause}
		if err := app.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed}, map[plan.CellName]*coordinator.Cause{"app.web:port": second}); err != nil {
			t.Fatal(err)
		}
		_, err = lb.Await(t.Context(), "app.web:port", coordinator.AwaitOptions{})
		if !errors.As(err, &cell) || cell.Cause.Root().Reason != "exit status 7" {
			t.Errorf("the end of the chain got %v", err)
		}
		if rec, _ := db.Cell(t.Context(), "db:first_address"); rec.State != coordinator.Valued {
			t.Errorf("a value that was published became %s", rec.State)
		}
		if err := db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), noon); !errors.As(err, &cell) {
			t.Errorf("writing a failed cell: %v, want a FailedCellError", err)
		}
	})
}

func TestLongChainsOfCausesAreCut(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		var chain *coordinator.Cause
		for i := range 5_000 {
			chain = &coordinator.Cause{Role: plan.RoleKey(fmt.Sprintf("s%d.r", i)), Reason: strings.Repeat("because ", 1_000), Cause: chain}
		}
		db := b.agent(t, "db")
		if err := db.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed}, map[plan.CellName]*coordinator.Cause{"db.mysql": chain, "db.mysql:endpoint": chain}); err != nil {
			t.Fatal(err)
		}
		rec, err := db.Cell(t.Context(), "db.mysql")
		if err != nil || rec.Cause.Role != "s4999.r" || rec.Cause.Root().Role != "s0.r" {
			t.Errorf("neither end of the chain may be lost: %v … %v (%v)", rec.Cause.Role, rec.Cause.Root().Role, err)
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
		if got, err := app.Await(t.Context(), "db.mysql:endpoint", coordinator.AwaitOptions{}); err != nil || len(got) != limit {
			t.Errorf("%d bytes arrived (%v)", len(got), err)
		}
	})
}

// A producer that came and is gone for if_down fails its readers; one that never
// came may still be booting.
func TestLostProducer(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		app := b.agent(t, "app")
		wait := func(d time.Duration, o coordinator.AwaitOptions) error {
			_, err := app.Await(within(t, d), "db.mysql:endpoint", o)
			return err
		}
		quick := coordinator.AwaitOptions{IfDown: 100 * time.Millisecond}
		if err := wait(300*time.Millisecond, quick); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the server never came: %v, want to wait on", err)
		}
		db := b.agent(t, "db")
		session, leave := context.WithCancel(t.Context())
		if err := db.Announce(session, coordinator.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
			t.Fatal(err)
		}
		if err := wait(300*time.Millisecond, quick); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the agent is there: %v, want to wait on", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- wait(20*time.Second, quick) }()
		leave()
		var lost *coordinator.LostProducerError
		if err := soon(t, ended); !errors.As(err, &lost) || lost.Server != "db" {
			t.Errorf("the agent is gone: %v, want a LostProducerError", err)
		}
		if err := wait(300*time.Millisecond, coordinator.AwaitOptions{IfDown: -1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("negative if_down: %v, want to wait on", err)
		}
		// An agent that comes back in time is as if it had not been away.
		go func() { ended <- wait(20*time.Second, coordinator.AwaitOptions{IfDown: 1500 * time.Millisecond}) }()
		time.Sleep(100 * time.Millisecond)
		if err := db.Announce(t.Context(), coordinator.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Errorf("the agent came back, and yet: %v", err)
		case <-time.After(2 * time.Second):
		}
		db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), noon)
		if err := soon(t, ended); err != nil {
			t.Error(err)
		}
	})
}

func TestDestroyedUnderAReader(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		app := b.agent(t, "app")
		blocked, ended := make(chan time.Time, 1), make(chan error, 1)
		go func() {
			_, err := app.Await(within(t, 20*time.Second), "db.mysql:endpoint", coordinator.AwaitOptions{Blocked: func(s time.Time) { blocked <- s }})
			ended <- err
		}()
		soon(t, blocked)
		if err := coordinator.Destroy(t.Context(), b.operator(t), site); err != nil {
			t.Fatal(err)
		}
		if err := soon(t, ended); !errors.Is(err, coordinator.ErrDestroyed) {
			t.Errorf("%v, want ErrDestroyed", err)
		}
	})
}

func TestSnapshot(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		db := b.agent(t, "db")
		db.Announce(t.Context(), coordinator.PresenceRecord{Incarnation: 1, Since: noon})
		db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"a value"`), noon)
		db.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseRunning, Since: noon,
			Roles: []coordinator.RoleState{{Name: "mysql", Status: coordinator.RoleRunning, Started: noon}}}, nil)
		db.WriteLog(t.Context(), "mysql", []byte(strings.Repeat("x", coordinator.LogSize)+"the end"))

		s := b.operator(t)
		got, err := coordinator.TakeSnapshot(t.Context(), s, site, threeTier())
		if err != nil {
			t.Fatal(err)
		}
		v := got.Servers[0]
		if !got.Ready || v.Path != "db" || !v.Alive || v.Incarnation.Instance != "i-db" || v.State.Phase != coordinator.PhaseRunning {
			t.Errorf("db is %+v", v)
		}
		if c := v.Cells["db.mysql:endpoint"]; c.State != coordinator.Valued || c.Value != nil {
			t.Errorf("the cell is %+v, want its state without its value", c)
		}
		if v := got.Servers[1]; v.Alive || v.Incarnation.Number != 0 || v.State.Phase != "" {
			t.Errorf("app is %+v, want one that never came", v)
		}
		log, err := coordinator.ReadLog(t.Context(), s, site, "db", "mysql")
		if err != nil || len(log) != coordinator.LogSize || !strings.HasSuffix(string(log), "the end") {
			t.Errorf("the log has %d bytes (%v)", len(log), err)
		}
	})
}
