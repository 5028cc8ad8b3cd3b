package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
)

// A machine that enrolled with an agent which made no life goes on after an upgrade.
func TestEnrolledWithoutALife(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		b.Agent(t, "db")
		b.WithoutLife(t, "journal-db")
		m, err := b.Again(t, b.Session(t, "db"))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), deploytest.Noon); err != nil {
			t.Error(err)
		}
		b.ExpectLife(t, "journal-db", true)
	})
}

// sinceRead lets something happen after the first read of the server's incarnation.
type sinceRead struct {
	coordinator.Store
	then func()
}

func (s *sinceRead) Read(ctx context.Context, path coordinator.Path) (coordinator.Node, error) {
	node, err := s.Store.Read(ctx, path)
	if then := s.then; then != nil && path == deploytest.Site.Server("db") {
		s.then = nil
		then()
	}
	return node, err
}

// While its life is mended the deployment is destroyed, made again, and has another
// machine of that name: the old one must not take the new deployment for its own.
func TestMadeAnewWhileALifeIsMended(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		b.Agent(t, "db")
		b.WithoutLife(t, "journal-db")
		anew := &sinceRead{b.Session(t, "db"), func() { b.MakeAnew(t) }}
		if _, err := b.Again(t, anew); !errors.Is(err, member.ErrFenced) {
			t.Errorf("%v, want ErrFenced", err)
		}
	})
}

// A server that is built anew many times has one life.
func TestLivesOfReplacedMachinesEnd(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		old := b.Agent(t, "db")
		for _, id := range []string{"second", "third"} {
			m := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := deploytest.Enrolled(t, m, id, false).Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`1`), deploytest.Noon); err != nil {
				t.Error(err)
			}
		}
		b.ExpectLife(t, "journal-db", false)
		b.ExpectLife(t, "second", false)
		b.ExpectLife(t, "third", true)
		if err := old.Put(t.Context(), "db.mysql", json.RawMessage(`null`), deploytest.Noon); !errors.Is(err, member.ErrFenced) {
			t.Errorf("the first machine writes: %v, want ErrFenced", err)
		}
	})
}
