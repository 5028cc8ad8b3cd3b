package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func TestReadBlocksUntilTheWrite(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		db, app := b.Agent(t, "db"), b.Agent(t, "app")
		blocked := make(chan time.Time, 1)
		type result struct {
			value json.RawMessage
			err   error
		}
		got := make(chan result, 1)
		go func() {
			v, err := app.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:endpoint", member.AwaitOptions{
				Blocked: func(since time.Time) { blocked <- since },
			})
			got <- result{v, err}
		}()
		deploytest.Soon(t, blocked)
		if err := db.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"here"`), deploytest.Noon); err != nil {
			t.Fatal(err)
		}
		if r := deploytest.Soon(t, got); r.err != nil || string(r.value) != `"here"` {
			t.Errorf("%s, %v", r.value, r.err)
		}
	})
}

// A producer that came and is gone for if_down fails its readers; one that never
// came may still be booting.
func TestLostProducer(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		app := b.Agent(t, "app")
		wait := func(d time.Duration, o member.AwaitOptions) error {
			_, err := app.Await(deploytest.Within(t, d), "db.mysql:endpoint", o)
			return err
		}
		quick := member.AwaitOptions{IfDown: 100 * time.Millisecond}
		if err := wait(300*time.Millisecond, quick); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the server never came: %v, want to wait on", err)
		}
		db := b.Agent(t, "db")
		session, leave := context.WithCancel(t.Context())
		if err := db.Announce(session, protocol.PresenceRecord{Incarnation: 1, Since: deploytest.Noon}); err != nil {
			t.Fatal(err)
		}
		if err := wait(300*time.Millisecond, quick); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the agent is there: %v, want to wait on", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- wait(deploytest.Patience, quick) }()
		leave()
		var lost *member.LostProducerError
		if err := deploytest.Soon(t, ended); !errors.As(err, &lost) || lost.Server != "db" {
			t.Errorf("the agent is gone: %v, want a LostProducerError", err)
		}
		if err := wait(300*time.Millisecond, member.AwaitOptions{IfDown: -1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("negative if_down: %v, want to wait on", err)
		}
	})
}

// An agent that comes back in time is as if it had not been away. (The clock stands while
// anybody can do something.)
func TestAProducerThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := deploytest.InMemory()
		b.Publish(t, deploytest.ThreeTier())
		db, app := b.Agent(t, "db"), b.Agent(t, "app")
		ended := make(chan error, 1)
		go func() {
			_, err := app.Await(t.Context(), "db.mysql:endpoint", member.AwaitOptions{IfDown: time.Minute})
			ended <- err
		}()
		time.Sleep(time.Minute - time.Second)
		session, leave := context.WithCancel(t.Context())
		if err := db.Announce(session, protocol.PresenceRecord{Incarnation: 1, Since: deploytest.Noon}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		leave()
		time.Sleep(time.Minute - time.Second) // counted anew
		select {
		case err := <-ended:
			t.Fatalf("the agent came back, and yet: %v", err)
		default:
		}
		time.Sleep(2 * time.Second)
		var lost *member.LostProducerError
		if err := <-ended; !errors.As(err, &lost) {
			t.Errorf("the agent is gone again: %v, want a LostProducerError", err)
		}
	})
}

func TestDestroyedUnderAReader(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		app := b.Agent(t, "app")
		blocked, ended := make(chan time.Time, 1), make(chan error, 1)
		go func() {
			_, err := app.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:endpoint", member.AwaitOptions{Blocked: func(s time.Time) { blocked <- s }})
			ended <- err
		}()
		deploytest.Soon(t, blocked)
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
			t.Fatal(err)
		}
		if err := deploytest.Soon(t, ended); !errors.Is(err, member.ErrDestroyed) {
			t.Errorf("%v, want ErrDestroyed", err)
		}
	})
}

// A deployment that was destroyed and made again has nodes of the same names and
// versions. An agent of the first one, who did not notice, can write nothing there.
func TestDestroyedAndMadeAgain(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		old := b.Agent(t, "db")
		fresh := b.MakeAnew(t)
		if err := old.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"old"`), deploytest.Noon); !errors.Is(err, member.ErrDestroyed) {
			t.Errorf("a value of the destroyed deployment's server: %v, want ErrDestroyed", err)
		}
		if err := old.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseRunning, Since: deploytest.Noon}, nil); !errors.Is(err, member.ErrDestroyed) {
			t.Errorf("a report of the destroyed deployment's server: %v, want ErrDestroyed", err)
		}
		if err := fresh.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"new"`), deploytest.Noon); err != nil {
			t.Error(err)
		}
	})
}

// A wait whose session is closed ends with that reason: the agent tells it from a role's failure.
func TestWaitsEndWithTheirSession(t *testing.T) {
	for name, wait := range map[string]func(t *testing.T, b deploytest.Bed, s store.Session) error{
		"for a value": func(t *testing.T, b deploytest.Bed, s store.Session) error {
			b.Publish(t, deploytest.ThreeTier())
			app := member.Join(s, deploytest.Site, "app", deploytest.TokenOf("app"))
			if _, err := app.Plan(t.Context()); err != nil {
				return err
			}
			_, err := app.Await(t.Context(), "db.mysql:endpoint", member.AwaitOptions{IfDown: -1})
			return err
		},
		"for the deployment": func(t *testing.T, _ deploytest.Bed, s store.Session) error {
			return member.Join(s, deploytest.Site, "app", deploytest.TokenOf("app")).AwaitDeployment(t.Context(), nil)
		},
		"for a slot": func(t *testing.T, _ deploytest.Bed, s store.Session) error {
			_, err := claim("m1").Take(t.Context(), s)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := deploytest.InMemory()
				s := b.Session(t, "app")
				ended := make(chan error, 1)
				go func() { ended <- wait(t, b, s) }()
				synctest.Wait()
				s.Close()
				if err := <-ended; !errors.Is(err, store.ErrClosed) {
					t.Errorf("it ended with %v", err)
				}
			})
		})
	}
}
