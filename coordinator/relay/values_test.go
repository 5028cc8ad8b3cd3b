package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// dying is a store that takes so many commits.
type dying struct {
	coordinator.Store
	left *atomic.Int64
}

var errDead = errors.New("dead")

func (s dying) Commit(ctx context.Context, ops ...coordinator.Op) error {
	if s.left.Add(-1) < 0 {
		return errDead
	}
	return s.Store.Commit(ctx, ops...)
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
		gives := func(value string) map[contract.ServerPath]coordinator.HeatValues {
			return map[contract.ServerPath]coordinator.HeatValues{db: {Instance: "id", Values: map[string]json.RawMessage{"k": json.RawMessage(value)}, From: map[string]string{"w": value}}}
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
