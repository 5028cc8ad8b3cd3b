package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A token lets one machine in, which can do all that a server may, and comes back
// after a restart; the token by itself reads nothing of the deployment, before or
// afterwards.
func TestATokenForOneEnrolment(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.WithPassword()
		b.PublishOnce(t, p)
		expectTokenWorthless := func(when string) {
			t.Helper()
			thief := b.Session(t, "db")
			for _, path := range []store.Path{deploytest.Site.Server("db"), deploytest.Site.ServerPlan("db"), deploytest.Site.Keys("db"), deploytest.Site.Public("db"), deploytest.Site.Pass("db"),
				deploytest.Site.Requests("db"), deploytest.Site.Cell(contract.CellRef{Cell: deploytest.Password, Server: "db"}), deploytest.Site.SealsFor("db", "db")} {
				if _, err := thief.Read(t.Context(), path); !errors.Is(err, store.ErrRefused) {
					t.Errorf("%s the token reads %s: %v", when, path, err)
				}
			}
			for _, path := range []store.Path{deploytest.Site.Server("db"), deploytest.Site.State("db"), deploytest.Site.Cell(contract.CellRef{Cell: deploytest.Password, Server: "db"}), deploytest.Site.Pass("db"), deploytest.Site.Admission("db")} {
				if err := thief.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte("{}")}); !errors.Is(err, store.ErrRefused) {
					t.Errorf("%s the token writes %s: %v", when, path, err)
				}
			}
			if err := thief.Announce(t.Context(), deploytest.Site.Presence("db"), nil); !errors.Is(err, store.ErrRefused) {
				t.Errorf("%s the token announces the server: %v", when, err)
			}
		}
		expectTokenWorthless("before the first enrolment")
		first, app := deploytest.NewMachine(t, "db", "d1"), deploytest.NewMachine(t, "app", "a1")
		db := b.Join(t, first, false)
		expectTokenWorthless("after the first enrolment")
		own := store.Grant{To: protocol.ServerCredential("db", deploytest.Secret.ServerToken(deploytest.Site, "db")).Principal(), May: store.MayRead}
		if err := store.Allow(t.Context(), b.Session(t, "db"), deploytest.Site.Pass("db"), own); !errors.Is(err, store.ErrRefused) {
			t.Errorf("the token gives itself the pass: %v", err)
		}
		put(t, db, deploytest.Password, `"hush-hush"`)
		sealing, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = db.KeepSealed(sealing, func(err error) { t.Error(err) }) }()
		deploytest.ExpectValue(t, b.Join(t, app, false), deploytest.Password, `"hush-hush"`)
		again := b.Join(t, first, true)
		deploytest.ExpectValue(t, again, deploytest.Password, `"hush-hush"`)
		expectTokenWorthless("after a restart")
		deploytest.ExpectNowhere(t, b.Operator(t), deploytest.Site.Root(), "hush-hush")
	})
}

// Who makes the pass readable with the token, before the server is there, has used it:
// the server is not let in as if nothing had happened.
func TestAPassThatSomebodyHasRead(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.PublishOnce(t, deploytest.WithPassword())
		thief := b.Session(t, "db")
		own := store.Grant{To: protocol.ServerCredential("db", deploytest.Secret.ServerToken(deploytest.Site, "db")).Principal(), May: store.MayRead}
		if err := store.Allow(t.Context(), thief, deploytest.Site.Pass("db"), own); err != nil {
			t.Fatal(err)
		}
		if _, err := thief.Read(t.Context(), deploytest.Site.Pass("db")); err != nil {
			t.Fatal(err)
		}
		db, waits, ended := deploytest.NewMachine(t, "db", "d1"), make(chan string, 8), make(chan error, 1)
		knocked := b.AwaitingApproval(t, db)
		go func() {
			ended <- knocked.AwaitDeployment(deploytest.Within(t, deploytest.Patience), func(why string) { waits <- why })
		}()
		select {
		case why := <-waits:
			if !strings.Contains(why, "the token of server db was used before, by another machine") {
				t.Errorf("it says %q", why)
			}
		case err := <-ended:
			t.Fatalf("it is not told that its token was used: %v", err)
		}
		b.ExpectAsking(t, "db", db)
	})
}

// A machine that comes later is refused, says so where the operator sees it, and is
// let in by its key; nobody else is by that.
func TestALaterMachineIsAdmitted(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.WithGiven("app")
		b.PublishOnce(t, p)
		b.Give(t, p, `"hush-hush"`)
		op := b.Operator(t)
		first, later, thief := deploytest.NewMachine(t, "app", "a1"), deploytest.NewMachine(t, "app", "a2"), deploytest.NewMachine(t, "app", "thief")
		app := b.Join(t, first, false)
		deploytest.ExpectValue(t, app, deploytest.GivenPassword, `"hush-hush"`)
		ended, waits := make(chan error, 1), make(chan string, 8)
		anew := b.AwaitingApproval(t, later)
		go func() {
			ended <- anew.AwaitDeployment(deploytest.Within(t, deploytest.Patience), func(why string) { waits <- why })
		}()
		if why := deploytest.Soon(t, waits); !strings.Contains(why, "the token of server app was used before, by another machine") || !strings.HasSuffix(why, "(hotc admit site app --key "+later.Key.Public()+")") {
			t.Errorf("it says %q", why)
		}
		b.ExpectAsking(t, "app", later)
		askApproval, err := deploytest.Reading(t, op).Admit(t.Context(), "app", later.Key.Public())
		if err != nil || askApproval.Instance != "i-a2" || !askApproval.Since.Equal(deploytest.Noon) {
			t.Fatalf("let in: %+v (%v)", askApproval, err)
		}
		if err := deploytest.Soon(t, ended); err != nil {
			t.Fatal(err)
		}
		// who has the token alone is still kept out, and heard of
		stopped, stop := context.WithCancel(t.Context())
		defer stop()
		told, knocked := make(chan string, 8), b.AwaitingApproval(t, thief)
		go func() {
			ended <- knocked.AwaitDeployment(stopped, func(why string) { told <- why })
		}()
		deploytest.Soon(t, told)
		time.Sleep(time.Second) // in which it would have come in, or said it again
		stop()
		if err := deploytest.Soon(t, ended); !errors.Is(err, context.Canceled) || len(told) > 0 {
			t.Errorf("a thief: %v, told %d times more", err, len(told))
		}
		b.Become(t, anew, later, false)
		if err := app.Put(t.Context(), "app.web", json.RawMessage(`1`), deploytest.Noon); err == nil {
			t.Error("the first machine still writes")
		}
		given, err := deploy.ReadGiven(t.Context(), op, deploytest.Site, deploytest.Secret, p)
		if err != nil || len(given[0].Lacking) != 1 || given[0].Since.IsZero() {
			t.Errorf("the operator sees %+v (%v)", given, err)
		}
		b.Give(t, p, `"hush-hush"`)
		deploytest.ExpectValue(t, anew, deploytest.GivenPassword, `"hush-hush"`)
		if given, err := deploy.ReadGiven(t.Context(), op, deploytest.Site, deploytest.Secret, p); err != nil || len(given[0].Lacking) != 0 {
			t.Errorf("given again the operator sees %+v (%v)", given, err)
		}
		snapshot, err := deploy.TakeSnapshot(t.Context(), op, deploytest.Site, deploytest.Secret, p)
		if err != nil || len(snapshot.Servers[0].AwaitingApproval) != 1 || snapshot.Servers[0].AwaitingApproval[0].Instance != "i-thief" {
			t.Errorf("the thief's knock: %+v (%v)", snapshot, err)
		}
	})
}

// What is given before a machine has a key is sealed for its token; once it is there
// the token opens nothing, whenever it was given.
func TestTheTokenOpensNothingAfterwards(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.WithGiven("app")
		b.PublishOnce(t, p)
		b.Give(t, p, `"hush-hush"`)
		app := deploytest.NewMachine(t, "app", "a1")
		member := b.Join(t, app, false)
		expectClosed := func(when string) {
			t.Helper()
			node, err := b.Operator(t).Read(t.Context(), deploytest.Site.SealsFor(contract.Operator, "app"))
			if err != nil {
				t.Fatal(err)
			}
			var keys protocol.SealsRecord
			if err := json.Unmarshal(node.Data, &keys); err != nil || keys[deploytest.GivenPassword].To != seal.ID(app.Key.Public()) {
				t.Errorf("%s it is sealed for %s (%v)", when, keys[deploytest.GivenPassword].To, err)
			}
		}
		expectClosed("given before the machine came")
		deploytest.ExpectValue(t, member, deploytest.GivenPassword, `"hush-hush"`)
		b.Give(t, p, `"another"`)
		expectClosed("given afterwards")
		deploytest.ExpectValue(t, member, deploytest.GivenPassword, `"another"`)
	})
}

// Many machines with one token: one of them becomes the server.
func TestOneOfManyMachines(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.PublishOnce(t, deploytest.WithGiven("app"))
		const many = 6
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		in := make(chan bool, many)
		for i := range many {
			m := b.AwaitingApproval(t, deploytest.NewMachine(t, "app", strings.Repeat("a", i+1)))
			go func() { in <- m.AwaitDeployment(ctx, func(string) { in <- false }) == nil }()
		}
		winners := 0
		for range many {
			if deploytest.Soon(t, in) {
				winners++
			}
		}
		if winners != 1 {
			t.Errorf("%d of %d machines were let in", winners, many)
		}
	})
}

// A token of another secret is told from one that was used, and a deployment keeps the
// enrolment that it was made with.
func TestEnrolmentIsRefused(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.WithGiven("app")
	b.PublishOnce(t, p)
	m := deploytest.NewMachine(t, "app", "a1")
	stranger := member.Join(b.Open(t, protocol.ServerCredential("app", deploytest.Another.ServerToken(deploytest.Site, "app"))), deploytest.Site, "app", deploytest.Another.ServerToken(deploytest.Site, "app"))
	stranger.UseMachine(member.Machine{Now: time.Now, Key: func() (seal.Key, error) { return m.Key, nil }})
	var used *protocol.TokenUsedError
	if err := stranger.AwaitDeployment(t.Context(), nil); !errors.Is(err, store.ErrRefused) || errors.As(err, &used) {
		t.Errorf("another secret's token: %v", err)
	}
	if done := b.Publish(t, p); done.Outcome != deploy.Unchanged || done.Record.Enrol != protocol.EnrolOnce {
		t.Errorf("applied again: %+v", done)
	}
	var other *deploy.OtherEnrolmentError
	_, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p, deploytest.Enrolling(protocol.EnrolAlways)))
	if !errors.As(err, &other) || other.Live != protocol.EnrolOnce {
		t.Errorf("applied again with tokens that stay good: %v", err)
	}
	always := deploytest.InMemory()
	always.Publish(t, p)
	if _, err := deploytest.Reading(t, always.Operator(t)).Admit(t.Context(), "app", "x"); !errors.Is(err, deploy.ErrEnrolsAlways) {
		t.Errorf("where tokens stay good: %v", err)
	}
}

// remade lets a deployment be destroyed right before the pass is looked for, and be made
// again right after.
type remade struct {
	store.Session
	before, after func()
}

func (s *remade) Stat(ctx context.Context, path store.Path) (store.Version, bool, error) {
	if path != deploytest.Site.Pass("app") || s.before == nil {
		return s.Session.Stat(ctx, path)
	}
	s.before()
	s.before = nil
	version, exists, err := s.Session.Stat(ctx, path)
	s.after()
	return version, exists, err
}

// A deployment that is made anew while a machine looks at it does not refuse its token.
func TestMadeAnewWhileAMachineLooks(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.PublishOnce(t, deploytest.WithGiven("app"))
		s := &remade{b.Session(t, "app"), func() {
			if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
				t.Error(err)
			}
		}, func() { b.PublishOnce(t, deploytest.WithGiven("app")) }}
		of := deploytest.NewMachine(t, "app", "a1")
		m := member.Join(s, deploytest.Site, "app", deploytest.TokenOf("app"))
		m.UseMachine(member.Machine{Now: time.Now, Key: func() (seal.Key, error) { return of.Key, nil }})
		if err := m.AwaitDeployment(deploytest.Within(t, deploytest.Patience), nil); err != nil {
			t.Fatal(err)
		}
		b.Become(t, m, of, false)
	})
}

// remadeLate lets a deployment be made anew when a machine has the pass of the one before,
// and looks for its plan.
type remadeLate struct {
	store.Session
	anew func()
}

func (s *remadeLate) Read(ctx context.Context, path store.Path) (store.Node, error) {
	if anew := s.anew; anew != nil && path == deploytest.Site.ServerPlan("app") {
		s.anew = nil
		anew()
	}
	return s.Session.Read(ctx, path)
}

// A machine that has the pass of a deployment which is made anew right then is let in by
// the new one's.
func TestMadeAnewWhenAMachineHasThePass(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.PublishAt(t, deploytest.Noon)
		s := &remadeLate{b.Session(t, "app"), func() {
			if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
				t.Error(err)
			}
			b.PublishAt(t, deploytest.Noon.Add(time.Hour)) // another member
		}}
		of := deploytest.NewMachine(t, "app", "a1")
		m := member.Join(s, deploytest.Site, "app", deploytest.TokenOf("app"))
		m.UseMachine(member.Machine{Now: time.Now, Key: func() (seal.Key, error) { return of.Key, nil }})
		if err := m.AwaitDeployment(deploytest.Within(t, deploytest.Patience), nil); err != nil {
			t.Fatal(err)
		}
		b.Become(t, m, of, false)
	})
}
