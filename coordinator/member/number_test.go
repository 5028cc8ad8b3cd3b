package member_test

import (
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
	"github.com/hotc-dev/hotc/coordinator/store"
)

func at(now time.Time) func(*deploy.Publication) {
	return func(w *deploy.Publication) { w.Now = now }
}

func publishAt(t *testing.T, b deploytest.Bed, p *contract.Plan, now time.Time) {
	t.Helper()
	if _, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p, at(now))); err != nil {
		t.Fatal(err)
	}
}

// The clock of an operator is an hour ahead of another one's, who applies the deployment anew,
// restores it, or changes its plan. That keeps no machine out.
func TestOperatorsWithOtherClocks(t *testing.T) {
	late, p := deploytest.Noon.Add(time.Hour), deploytest.ThreeTier()
	t.Run("applied anew, before a machine has enrolled", func(t *testing.T) {
		b, d := deploytest.InMemory(), &deploytest.Disk{}
		publishAt(t, b, p, late)
		if _, _, err := b.Comes(t, "db", deploytest.TokenOf("db"), d); err != nil {
			t.Fatal(err)
		}
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
			t.Fatal(err)
		}
		publishAt(t, b, p, deploytest.Noon)
		m, _, err := b.Comes(t, "db", deploytest.TokenOf("db"), d)
		if err != nil {
			t.Fatal(err)
		}
		put(t, deploytest.Enrolled(t, m, "d1", false), "db.mysql", "null")
	})
	t.Run("restored", func(t *testing.T) {
		b, db := deploytest.InMemory(), newRemains(t, "db", "d1")
		publishAt(t, b, p, late)
		m := b.MustBegin(t, db, 0)
		b.Lose(t, db)
		b.Restore(t, p)
		if err := m.Put(deploytest.Within(t, deploytest.Patience), "db.mysql", json.RawMessage("null"), deploytest.Noon); err != nil {
			t.Errorf("%v\n%s", err, db.Words())
		}
	})
	t.Run("changed", func(t *testing.T) {
		b, d := deploytest.InMemory(), &deploytest.Disk{}
		publishAt(t, b, p, late)
		m, _, err := b.Comes(t, "app", deploytest.TokenOf("app"), d)
		if err != nil {
			t.Fatal(err)
		}
		publishAt(t, b, deploytest.WithUpdate(), deploytest.Noon)
		if p, err := m.PlanAgain(t.Context()); err != nil || p.Roles[0].Files[0] != deploytest.WebAgain {
			t.Error(p, err)
		}
	})
}

// A backup of the coordinator lacks several changes of the plan, which a machine has seen. The next
// apply makes it go on, whether its agent runs or is started again.
func TestAppliedAfterABackup(t *testing.T) {
	changed := func(timeout int) *contract.Plan {
		return deploytest.WithUpdate(func(p *contract.Plan) { p.Servers[1].Roles[0].Timeout = float64(timeout) })
	}
	for _, restarts := range []bool{false, true} {
		b, app := deploytest.InMemory(), newRemains(t, "app", "a1")
		b.Publish(t, deploytest.WithUpdate())
		a, m := b.Attacker(t), b.MustBegin(t, app, 0)
		backup := map[store.Path]string{}
		for _, path := range []store.Path{deploytest.Site.Root(), deploytest.Site.Plan(), deploytest.Site.ServerPlan("app")} {
			backup[path] = a.Read(path)
		}
		for timeout := range 5 {
			b.Publish(t, changed(60+timeout))
			if _, err := m.PlanAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for path, text := range backup {
			a.Write(path, text)
		}
		joined := m.Member
		if restarts {
			joined = member.Join(b.Session(t, "app"), deploytest.Site, "app", deploytest.TokenOf("app"))
			joined.UseMemory(app.Disk)
			if err := joined.AwaitDeployment(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := joined.Plan(t.Context()); !errors.Is(err, member.ErrOlder) {
			t.Fatalf("restarts %v: the older plan: %v", restarts, err)
		}
		b.Publish(t, changed(77))
		if p, err := joined.Plan(t.Context()); err != nil || p.Roles[0].Timeout != 77 {
			t.Errorf("restarts %v: the next plan: %+v, %v", restarts, p, err)
		}
	}
}

// A machine takes no part again in a deployment that it has left, whoever shows it.
func TestADeploymentThatWasLeft(t *testing.T) {
	b, app := deploytest.InMemory(), newRemains(t, "app", "a1")
	b.Publish(t, deploytest.ThreeTier())
	a := b.Attacker(t)
	b.MustBegin(t, app, 0)
	var was [][2]string
	for range 3 {
		was = append(was, [2]string{a.Read(deploytest.Site.Identity("app")), a.Read(deploytest.Site.ServerPlan("app"))})
		b.Lose(t)
		b.Restore(t, deploytest.ThreeTier())
		b.MustBegin(t, app, 1)
	}
	for i, old := range was {
		a.Write(deploytest.Site.Identity("app"), old[0])
		a.Write(deploytest.Site.ServerPlan("app"), old[1])
		if _, err := b.Begin(t, app, 1); !errors.Is(err, member.ErrOlder) {
			t.Errorf("the deployment %d: %v", i, err)
		}
	}
}

// NextNumber follows what is there, and what servers have seen, unless it is made up.
func TestNextNumber(t *testing.T) {
	seen := func(n int64) protocol.ServerState {
		return protocol.ServerState{Newer: map[string]int64{protocol.KindPlan: n, "other": 99}}
	}
	for _, c := range []struct {
		there  int64
		states []protocol.ServerState
		want   int64
	}{
		{4, nil, 5},
		{4, []protocol.ServerState{{}, seen(3)}, 5},
		{4, []protocol.ServerState{seen(9), seen(7)}, 10},
		{4, []protocol.ServerState{seen(1<<63 - 1), seen(-1 << 63)}, 5},
	} {
		if n := protocol.NextNumber(c.there, protocol.KindPlan, c.states...); n != c.want {
			t.Errorf("after %d, with %+v: %d, want %d", c.there, c.states, n, c.want)
		}
	}
}

// Somebody deletes a part of a plan that is stored in several, or says that there are fewer: nobody
// takes the rest for a plan, nor the deployment for destroyed.
func TestAPlanWithoutAPart(t *testing.T) {
	b, db := deploytest.InMemory(), newRemains(t, "db", "d1")
	b.Publish(t, deploytest.WithUpdate())
	a, m, path := b.Attacker(t), b.MustBegin(t, db, 0), deploytest.Site.ServerPlan("db")
	large, err := json.Marshal(strings.Repeat("x", 900<<10)) // two parts
	if err != nil {
		t.Fatal(err)
	}
	b.Publish(t, deploytest.WithUpdate(func(p *contract.Plan) {
		r := &p.Servers[0].Roles[0]
		r.Inputs = append(r.Inputs, contract.Input{Name: "big", Time: contract.Static, Expr: large, At: map[string]contract.Position{}})
	}))
	head := a.Read(path)
	if !strings.HasPrefix(head, `{"parts":2,`) {
		t.Fatalf("%.80s", head)
	}
	parts, err := a.Store.Children(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		if p, err := m.PlanAgain(t.Context()); p != nil || err == nil || errors.Is(err, member.ErrDestroyed) {
			t.Errorf("%s: %v", what, err)
		}
		if _, p, err := b.Comes(t, "db", deploytest.TokenOf("db"), &deploytest.Disk{}); p != nil || err == nil || errors.Is(err, member.ErrDestroyed) {
			t.Errorf("%s, to a new machine: %v", what, err)
		}
	}
	a.Write(path, strings.Replace(head, `"parts":2`, `"parts":1`, 1))
	refused("the first part alone")
	a.Write(path, head)
	text := a.Read(path.Join(parts[1]))
	a.Write(path.Join(parts[1]), text[:len(text)/2])
	refused("half of the second part")
	a.Write(path.Join(parts[1]), text)
	if _, err := m.PlanAgain(t.Context()); err != nil {
		t.Errorf("all of it: %v", err)
	}
	if err := a.Store.DeleteTree(t.Context(), path.Join(parts[1])); err != nil {
		t.Fatal(err)
	}
	refused("no second part")
}

// A relay's answer to a machine is for one question: which machine, in place of which one.
func TestAnOlderAnswerToAMachine(t *testing.T) {
	key, err := deploytest.Secret.Relay(deploytest.Site)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := key.Signer()
	if err != nil {
		t.Fatal(err)
	}
	place := deploytest.Site.Place("id", protocol.KindNext, "db", "")
	answer, err := protocol.Signed(signer, place, 0, protocol.NextRecord{ID: "m1", Instance: "i-1", After: 1, Has: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	if r := protocol.OpenNext(answer, signer.Public(), place); r.Has == nil || !*r.Has || r.After != 1 {
		t.Errorf("its own question: %+v", r)
	}
	for what, text := range map[string]string{
		"in place of a later one": strings.Replace(string(answer), `"after":1`, `"after":2`, 1),
		"another machine":         strings.Replace(string(answer), "i-1", "i-2", 1),
		"not signed":              bare(string(answer)),
	} {
		if r := protocol.OpenNext([]byte(text), signer.Public(), place); r.Has != nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
	if r := protocol.OpenNext(answer, signer.Public(), deploytest.Site.Place("another", protocol.KindNext, "db", "")); r.Has != nil {
		t.Errorf("in another deployment: %+v", r)
	}
}
