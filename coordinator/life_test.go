package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
)

func (b bed) expectLife(t *testing.T, id string, want bool) {
	t.Helper()
	if _, stands, err := b.operator(t).Stat(t.Context(), site.Life("db", id)); err != nil || stands != want {
		t.Errorf("the life of %s stands: %v (%v), want %v", id, stands, err, want)
	}
}

// withoutLife takes the node away that agents of an earlier release did not make.
func (b bed) withoutLife(t *testing.T, id string) {
	t.Helper()
	if err := b.operator(t).DeleteTree(t.Context(), site.Life("db", id)); err != nil {
		t.Fatal(err)
	}
}

func (b bed) again(t *testing.T, s coordinator.Store) (*member.Member, error) {
	t.Helper()
	m := member.Join(s, site, "db", tokenOf("db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := m.Enrol(t.Context(), "journal-db", "i-db", true, noon)
	return m, err
}

// makeAnew destroys a deployment, applies it again, and has another machine become db.
func (b bed) makeAnew(t *testing.T) *member.Member {
	t.Helper()
	if err := deploy.Destroy(t.Context(), b.operator(t), site); err != nil {
		t.Fatal(err)
	}
	b.publish(t, threeTier())
	fresh := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
	if _, err := fresh.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := fresh.Enrol(t.Context(), "another journal", "i-new", false, noon); err != nil || got.Number != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	return fresh
}

// A machine that enrolled with an agent which made no life goes on after an upgrade.
func TestEnrolledWithoutALife(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		b.agent(t, "db")
		b.withoutLife(t, "journal-db")
		m, err := b.again(t, b.session(t, "db"))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), noon); err != nil {
			t.Error(err)
		}
		b.expectLife(t, "journal-db", true)
	})
}

// sinceRead lets something happen after the first read of the server's incarnation.
type sinceRead struct {
	coordinator.Store
	then func()
}

func (s *sinceRead) Read(ctx context.Context, path coordinator.Path) (coordinator.Node, error) {
	node, err := s.Store.Read(ctx, path)
	if then := s.then; then != nil && path == site.Server("db") {
		s.then = nil
		then()
	}
	return node, err
}

// While its life is mended the deployment is destroyed, made again, and has another
// machine of that name: the old one must not take the new deployment for its own.
func TestMadeAnewWhileALifeIsMended(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		b.agent(t, "db")
		b.withoutLife(t, "journal-db")
		anew := &sinceRead{b.session(t, "db"), func() { b.makeAnew(t) }}
		if _, err := b.again(t, anew); !errors.Is(err, member.ErrFenced) {
			t.Errorf("%v, want ErrFenced", err)
		}
	})
}

// A server that is built anew many times has one life.
func TestLivesOfReplacedMachinesEnd(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		old := b.agent(t, "db")
		for _, id := range []string{"second", "third"} {
			m := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Enrol(t.Context(), id, "i-"+id, false, noon); err != nil {
				t.Fatal(err)
			}
			if err := m.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), noon); err != nil {
				t.Error(err)
			}
		}
		b.expectLife(t, "journal-db", false)
		b.expectLife(t, "second", false)
		b.expectLife(t, "third", true)
		if err := old.Put(t.Context(), "db.mysql", json.RawMessage(`null`), noon); !errors.Is(err, member.ErrFenced) {
			t.Errorf("the first machine writes: %v, want ErrFenced", err)
		}
	})
}
