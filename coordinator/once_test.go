package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// publishOnce applies a plan with tokens that are good for one enrolment.
func (b bed) publishOnce(t *testing.T, p *contract.Plan) {
	t.Helper()
	if _, err := deploy.Publish(t.Context(), b.open(t), publication(p, enrolling(coordinator.EnrolOnce))); err != nil {
		t.Fatal(err)
	}
}

// knocking is a machine's agent before it is let in.
func (b bed) knocking(t *testing.T, of machine) *member.Member {
	t.Helper()
	m := member.Join(b.session(t, of.server), site, of.server, tokenOf(of.server))
	m.UseMachine(member.Machine{Instance: "i-" + of.id, Now: func() time.Time { return noon },
		Key: func() (seal.Key, error) { return of.key, nil }})
	return m
}

// join is a machine's agent from its start until it is the server.
func (b bed) join(t *testing.T, of machine, enrolledBefore bool) *member.Member {
	t.Helper()
	m := b.knocking(t, of)
	err := m.AwaitDeployment(within(t, patience), func(why string) { t.Errorf("%s waits: %s", of.id, why) })
	if err != nil {
		t.Fatal(err)
	}
	return b.become(t, m, of, enrolledBefore)
}

func (b bed) become(t *testing.T, m *member.Member, of machine, enrolledBefore bool) *member.Member {
	t.Helper()
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(of.key)
	if _, err := m.Enrol(t.Context(), of.id, "i-"+of.id, enrolledBefore, noon); err != nil {
		t.Fatal(err)
	}
	return m
}

// A token lets one machine in, which can do all that a server may, and comes back
// after a restart; the token by itself reads nothing of the deployment, before or
// afterwards.
func TestATokenForOneEnrolment(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := withPassword()
		b.publishOnce(t, p)
		expectTokenWorthless := func(when string) {
			t.Helper()
			thief := b.session(t, "db")
			for _, path := range []coordinator.Path{site.Server("db"), site.ServerPlan("db"), site.Keys("db"), site.Public("db"), site.Pass("db"),
				site.Requests("db"), site.Cell(contract.CellRef{Cell: password, Server: "db"}), site.SealsFor("db", "db")} {
				if _, err := thief.Read(t.Context(), path); !errors.Is(err, coordinator.ErrRefused) {
					t.Errorf("%s the token reads %s: %v", when, path, err)
				}
			}
			for _, path := range []coordinator.Path{site.Server("db"), site.State("db"), site.Cell(contract.CellRef{Cell: password, Server: "db"}), site.Pass("db"), site.Admission("db")} {
				if err := thief.Commit(t.Context(), coordinator.Op{Path: path, Version: coordinator.AnyVersion, Write: true, Data: []byte("{}")}); !errors.Is(err, coordinator.ErrRefused) {
					t.Errorf("%s the token writes %s: %v", when, path, err)
				}
			}
			if err := thief.Announce(t.Context(), site.Presence("db"), nil); !errors.Is(err, coordinator.ErrRefused) {
				t.Errorf("%s the token announces the server: %v", when, err)
			}
		}
		expectTokenWorthless("before the first enrolment")
		first, app := newMachine(t, "db", "d1"), newMachine(t, "app", "a1")
		db := b.join(t, first, false)
		expectTokenWorthless("after the first enrolment")
		own := coordinator.Grant{To: coordinator.ServerCredential("db", secret.ServerToken(site, "db")), May: coordinator.MayRead}
		if err := b.session(t, "db").Allow(t.Context(), site.Pass("db"), own); !errors.Is(err, coordinator.ErrRefused) {
			t.Errorf("the token gives itself the pass: %v", err)
		}
		put(t, db, password, `"hush-hush"`)
		sealing, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = db.KeepSealed(sealing, func(err error) { t.Error(err) }) }()
		expectValue(t, b.join(t, app, false), password, `"hush-hush"`)
		again := b.join(t, first, true)
		expectValue(t, again, password, `"hush-hush"`)
		expectTokenWorthless("after a restart")
		expectNowhere(t, b.operator(t), site.Root(), "hush-hush")
	})
}

// Who makes the pass readable with the token, before the server is there, has used it:
// the server is not let in as if nothing had happened.
func TestAPassThatSomebodyHasRead(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publishOnce(t, withPassword())
		thief := b.session(t, "db")
		own := coordinator.Grant{To: coordinator.ServerCredential("db", secret.ServerToken(site, "db")), May: coordinator.MayRead}
		if err := thief.Allow(t.Context(), site.Pass("db"), own); err != nil {
			t.Fatal(err)
		}
		if _, err := thief.Read(t.Context(), site.Pass("db")); err != nil {
			t.Fatal(err)
		}
		db, waits, ended := newMachine(t, "db", "d1"), make(chan string, 8), make(chan error, 1)
		knocked := b.knocking(t, db)
		go func() {
			ended <- knocked.AwaitDeployment(within(t, patience), func(why string) { waits <- why })
		}()
		select {
		case why := <-waits:
			if !strings.Contains(why, "the token of server db was used before, by another machine") {
				t.Errorf("it says %q", why)
			}
		case err := <-ended:
			t.Fatalf("it is not told that its token was used: %v", err)
		}
		b.expectAsking(t, "db", db)
	})
}

// A machine that comes later is refused, says so where the operator sees it, and is
// let in by its key; nobody else is by that.
func TestALaterMachineIsAdmitted(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := withGiven("app")
		b.publishOnce(t, p)
		b.give(t, p, `"hush-hush"`)
		op := b.operator(t)
		first, later, thief := newMachine(t, "app", "a1"), newMachine(t, "app", "a2"), newMachine(t, "app", "thief")
		app := b.join(t, first, false)
		expectValue(t, app, givenPassword, `"hush-hush"`)
		ended, waits := make(chan error, 1), make(chan string, 8)
		anew := b.knocking(t, later)
		go func() {
			ended <- anew.AwaitDeployment(within(t, patience), func(why string) { waits <- why })
		}()
		if why := soon(t, waits); !strings.Contains(why, "the token of server app was used before, by another machine") || !strings.HasSuffix(why, "(hotc admit app --stack site --key "+later.key.Public()+")") {
			t.Errorf("it says %q", why)
		}
		b.expectAsking(t, "app", later)
		knock, err := reading(t, op).Admit(t.Context(), "app", later.key.Public())
		if err != nil || knock.Instance != "i-a2" || !knock.Since.Equal(noon) {
			t.Fatalf("let in: %+v (%v)", knock, err)
		}
		if err := soon(t, ended); err != nil {
			t.Fatal(err)
		}
		// who has the token alone is still kept out, and heard of
		stopped, stop := context.WithCancel(t.Context())
		defer stop()
		told, knocked := make(chan string, 8), b.knocking(t, thief)
		go func() {
			ended <- knocked.AwaitDeployment(stopped, func(why string) { told <- why })
		}()
		soon(t, told)
		time.Sleep(time.Second) // in which it would have come in, or said it again
		stop()
		if err := soon(t, ended); !errors.Is(err, context.Canceled) || len(told) > 0 {
			t.Errorf("a thief: %v, told %d times more", err, len(told))
		}
		b.become(t, anew, later, false)
		if err := app.Put(t.Context(), "app.web", json.RawMessage(`1`), noon); err == nil {
			t.Error("the first machine still writes")
		}
		given, err := deploy.ReadGiven(t.Context(), op, site, secret, p)
		if err != nil || len(given[0].Lacking) != 1 || given[0].Since.IsZero() {
			t.Errorf("the operator sees %+v (%v)", given, err)
		}
		b.give(t, p, `"hush-hush"`)
		expectValue(t, anew, givenPassword, `"hush-hush"`)
		if given, err := deploy.ReadGiven(t.Context(), op, site, secret, p); err != nil || len(given[0].Lacking) != 0 {
			t.Errorf("given again the operator sees %+v (%v)", given, err)
		}
		snapshot, err := deploy.TakeSnapshot(t.Context(), op, site, secret, p)
		if err != nil || len(snapshot.Servers[0].Knocks) != 1 || snapshot.Servers[0].Knocks[0].Instance != "i-thief" {
			t.Errorf("the thief's knock: %+v (%v)", snapshot, err)
		}
	})
}

// What is given before a machine has a key is sealed for its token; once it is there
// the token opens nothing, whenever it was given.
func TestTheTokenOpensNothingAfterwards(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := withGiven("app")
		b.publishOnce(t, p)
		b.give(t, p, `"hush-hush"`)
		app := newMachine(t, "app", "a1")
		member := b.join(t, app, false)
		expectClosed := func(when string) {
			t.Helper()
			node, err := b.operator(t).Read(t.Context(), site.SealsFor(contract.Operator, "app"))
			if err != nil {
				t.Fatal(err)
			}
			var keys coordinator.SealsRecord
			if err := json.Unmarshal(node.Data, &keys); err != nil || keys[givenPassword].To != seal.ID(app.key.Public()) {
				t.Errorf("%s it is sealed for %s (%v)", when, keys[givenPassword].To, err)
			}
		}
		expectClosed("given before the machine came")
		expectValue(t, member, givenPassword, `"hush-hush"`)
		b.give(t, p, `"another"`)
		expectClosed("given afterwards")
		expectValue(t, member, givenPassword, `"another"`)
	})
}

// Many machines with one token: one of them becomes the server.
func TestOneOfManyMachines(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publishOnce(t, withGiven("app"))
		const many = 6
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		in := make(chan bool, many)
		for i := range many {
			m := b.knocking(t, newMachine(t, "app", strings.Repeat("a", i+1)))
			go func() { in <- m.AwaitDeployment(ctx, func(string) { in <- false }) == nil }()
		}
		winners := 0
		for range many {
			if soon(t, in) {
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
	b := inMemory()
	p := withGiven("app")
	b.publishOnce(t, p)
	m := newMachine(t, "app", "a1")
	stranger := member.Join(b.open(t, coordinator.ServerCredential("app", another.ServerToken(site, "app"))), site, "app", another.ServerToken(site, "app"))
	stranger.UseMachine(member.Machine{Now: time.Now, Key: func() (seal.Key, error) { return m.key, nil }})
	var used *coordinator.TokenUsedError
	if err := stranger.AwaitDeployment(t.Context(), nil); !errors.Is(err, coordinator.ErrRefused) || errors.As(err, &used) {
		t.Errorf("another secret's token: %v", err)
	}
	if done := b.publish(t, p); done.Outcome != deploy.Unchanged || done.Record.Enrol != coordinator.EnrolOnce {
		t.Errorf("applied again: %+v", done)
	}
	var other *deploy.OtherEnrolmentError
	_, err := deploy.Publish(t.Context(), b.open(t), publication(p, enrolling(coordinator.EnrolAlways)))
	if !errors.As(err, &other) || other.Live != coordinator.EnrolOnce {
		t.Errorf("applied again with tokens that stay good: %v", err)
	}
	always := inMemory()
	always.publish(t, p)
	if _, err := reading(t, always.operator(t)).Admit(t.Context(), "app", "x"); !errors.Is(err, deploy.ErrEnrolsAlways) {
		t.Errorf("where tokens stay good: %v", err)
	}
}

// remade lets a deployment be destroyed right before the pass is looked for, and be made
// again right after.
type remade struct {
	coordinator.Store
	before, after func()
}

func (s *remade) Stat(ctx context.Context, path coordinator.Path) (coordinator.Version, bool, error) {
	if path != site.Pass("app") || s.before == nil {
		return s.Store.Stat(ctx, path)
	}
	s.before()
	s.before = nil
	version, exists, err := s.Store.Stat(ctx, path)
	s.after()
	return version, exists, err
}

// A deployment that is made anew while a machine looks at it does not refuse its token.
func TestMadeAnewWhileAMachineLooks(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publishOnce(t, withGiven("app"))
		s := &remade{b.session(t, "app"), func() {
			if err := deploy.Destroy(t.Context(), b.operator(t), site); err != nil {
				t.Error(err)
			}
		}, func() { b.publishOnce(t, withGiven("app")) }}
		of := newMachine(t, "app", "a1")
		m := member.Join(s, site, "app", tokenOf("app"))
		m.UseMachine(member.Machine{Now: time.Now, Key: func() (seal.Key, error) { return of.key, nil }})
		if err := m.AwaitDeployment(within(t, patience), nil); err != nil {
			t.Fatal(err)
		}
		b.become(t, m, of, false)
	})
}

// remadeLate lets a deployment be made anew when a machine has the pass of the one before,
// and looks for its plan.
type remadeLate struct {
	coordinator.Store
	anew func()
}

func (s *remadeLate) Read(ctx context.Context, path coordinator.Path) (coordinator.Node, error) {
	if anew := s.anew; anew != nil && path == site.ServerPlan("app") {
		s.anew = nil
		anew()
	}
	return s.Store.Read(ctx, path)
}

// A machine that has the pass of a deployment which is made anew right then is let in by
// the new one's.
func TestMadeAnewWhenAMachineHasThePass(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publishAt(t, noon)
		s := &remadeLate{b.session(t, "app"), func() {
			if err := deploy.Destroy(t.Context(), b.operator(t), site); err != nil {
				t.Error(err)
			}
			b.publishAt(t, noon.Add(time.Hour)) // another member
		}}
		of := newMachine(t, "app", "a1")
		m := member.Join(s, site, "app", tokenOf("app"))
		m.UseMachine(member.Machine{Now: time.Now, Key: func() (seal.Key, error) { return of.key, nil }})
		if err := m.AwaitDeployment(within(t, patience), nil); err != nil {
			t.Fatal(err)
		}
		b.become(t, m, of, false)
	})
}

func (b bed) publishAt(t *testing.T, now time.Time) {
	t.Helper()
	p := withGiven("app")
	if _, err := deploy.Publish(t.Context(), b.open(t), publication(p, func(w *deploy.Publication) { w.Now = now }, enrolling(coordinator.EnrolOnce))); err != nil {
		t.Fatal(err)
	}
}
