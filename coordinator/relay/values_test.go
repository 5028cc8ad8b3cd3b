package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// dying is a store that takes so many commits.
type dying struct {
	store.Session
	left *atomic.Int64
}

var errDead = errors.New("dead")

func (s dying) Commit(ctx context.Context, ops ...store.Op) error {
	if s.left.Add(-1) < 0 {
		return errDead
	}
	return s.Session.Commit(ctx, ops...)
}

// A relay is killed between any two of its writes; another one finishes what it has begun.
// One that has looked at Heat before writes nothing over it.
func TestRelaysSayWhatHeatGives(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		for i := range p.Servers {
			p.Servers[i].Deploy = map[string]contract.DeployValue{"k": {Expr: json.RawMessage(`{"get_param":"k"}`), Carried: true}}
		}
		b.Publish(t, p)
		db, other := p.Servers[0].Path, p.Servers[1].Path
		gives := func(value string) map[contract.ServerPath]protocol.HeatValues {
			return map[contract.ServerPath]protocol.HeatValues{db: {Instance: "id", Values: map[string]json.RawMessage{"k": json.RawMessage(value)}, From: map[string]string{"w": value}}}
		}
		join := func(commits int) (*relay.Session, *relay.Values) {
			var left atomic.Int64
			left.Store(int64(commits))
			s, err := relay.Join(t.Context(), dying{b.Open(t, relayKey(t).Credential()), &left}, relayKey(t))
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Values(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s, v
		}
		late, seen := join(99)
		s, v := join(99)
		if written, err := s.Say(t.Context(), v, gives("1")); !written || err != nil {
			t.Fatal(written, err)
		}
		if _, err := late.Say(t.Context(), seen, gives("0")); !errors.Is(err, relay.ErrStale) {
			t.Fatalf("who has looked before writes: %v", err)
		}
		for left := range len(p.Servers) + 1 {
			s, v := join(left)
			if _, err := s.Say(t.Context(), v, gives(string(rune('2'+left)))); !errors.Is(err, errDead) {
				t.Fatalf("%d writes: %v", left, err)
			}
			if s, v = join(99); left > 0 { // with the number written, the rest follows from it
				if written, err := s.Say(t.Context(), v, nil); !written || err != nil {
					t.Fatalf("after %d writes: %v %v", left, written, err)
				}
			}
			s, v = join(99)
			if _, err := s.Say(t.Context(), v, gives(string(rune('2'+left)))); err != nil {
				t.Fatal(err)
			}
			s, v = join(99)
			one, _ := v.Of(db)
			two, _ := v.Of(other)
			if string(one.Values["k"]) != string(rune('2'+left)) || one.Number != two.Number || two.Values != nil {
				t.Errorf("after %d writes: %+v %+v", left, one, two)
			}
			if written, err := s.Say(t.Context(), v, nil); written || err != nil {
				t.Errorf("at rest it writes: %v %v", written, err)
			}
		}
	})
}

// A relay was killed when it had written the number of a change. Two others look; one of them
// writes what Heat gives since then, and the other one, which is slow, nothing over it.
func TestASlowRelayWritesNothingOverNewerValues(t *testing.T) {
	b, p := deploytest.InMemory(), deploytest.ThreeTier()
	db := p.Servers[0].Path
	p.Servers[0].Deploy = map[string]contract.DeployValue{"k": {Expr: json.RawMessage(`{"get_param":"k"}`), Carried: true}}
	b.Publish(t, p)
	join := func(commits int64) (*relay.Session, *relay.Values) {
		left := &atomic.Int64{}
		left.Store(commits)
		s, err := relay.Join(t.Context(), dying{b.Open(t, relayKey(t).Credential()), left}, relayKey(t))
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Values(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s, v
	}
	gives := func(value string) map[contract.ServerPath]protocol.HeatValues {
		return map[contract.ServerPath]protocol.HeatValues{db: {Instance: "id", Values: map[string]json.RawMessage{"k": json.RawMessage(value)}}}
	}
	killed, v := join(1)
	if _, err := killed.Say(t.Context(), v, gives("1")); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	slow, seen := join(9)
	quick, v := join(9)
	if _, err := quick.Say(t.Context(), v, gives("2")); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Say(t.Context(), seen, nil); !errors.Is(err, relay.ErrStale) {
		t.Errorf("the slow one: %v", err)
	}
	_, v = join(0)
	if now, _ := v.Of(db); string(now.Values["k"]) != "2" {
		t.Errorf("%+v", now)
	}
}

// An older state of the coordinator was restored: the next record of a relay is newer than what
// servers have seen.
func TestRelaysNumberAfterABackup(t *testing.T) {
	b, p := deploytest.InMemory(), deploytest.ThreeTier()
	db := p.Servers[0].Path
	p.Servers[0].Deploy = map[string]contract.DeployValue{"k": {Expr: json.RawMessage(`{"get_param":"k"}`), Carried: true}}
	b.Publish(t, p)
	a, agent, path := b.Attacker(t), b.Agent(t, db), deploytest.Site.HeatValues(db)
	say := func(value string) {
		t.Helper()
		s, err := relay.Join(t.Context(), b.Open(t, relayKey(t).Credential()), relayKey(t))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go s.Watch(ctx)
		for s.Servers()[db].Instance == "" { // it has read the agent's state then
			<-s.Changed()
		}
		v, err := s.Values(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Say(ctx, v, map[contract.ServerPath]protocol.HeatValues{db: {Instance: "id", Values: map[string]json.RawMessage{"k": json.RawMessage(value)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := agent.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseDone}, nil); err != nil {
		t.Fatal(err)
	}
	say("0")
	backup := map[store.Path]string{path: a.Read(path), deploytest.Site.HeatNumber(): a.Read(deploytest.Site.HeatNumber())}
	for _, value := range []string{"1", "2", "3"} {
		say(value)
		if now, err := agent.Heat(t.Context()); err != nil || string(now.Values["k"]) != value {
			t.Fatal(now, err)
		}
	}
	for path, text := range backup {
		a.Write(path, text)
	}
	if now, err := agent.Heat(t.Context()); !errors.Is(err, member.ErrOlder) {
		t.Fatal(now, err)
	}
	say("4")
	if now, err := agent.Heat(t.Context()); err != nil || string(now.Values["k"]) != "4" {
		t.Errorf("after the backup: %+v, %v", now, err)
	}
}
