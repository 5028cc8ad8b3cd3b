package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
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
	store.Session
	then func()
}

func (s *sinceRead) Read(ctx context.Context, path store.Path) (store.Node, error) {
	node, err := s.Session.Read(ctx, path)
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

// olderAgent makes lives as agents of an earlier release did, and dies at its first write after that.
type olderAgent struct {
	store.Session
	dies bool
}

func (s *olderAgent) Create(ctx context.Context, nodes []store.NewNode) error {
	for i := range nodes {
		for k := range nodes[i].Grants {
			nodes[i].Grants[k].May &^= store.MayWrite
		}
	}
	return s.Session.Create(ctx, nodes)
}

func (s *olderAgent) Commit(ctx context.Context, ops ...store.Op) error {
	if s.dies {
		return store.ErrClosed
	}
	return s.Session.Commit(ctx, ops...)
}

// A life that an agent of an earlier release made cannot be written where tokens are good for one
// enrolment: the machine goes on with it, whether it has become the server or not.
func TestALifeThatCanOnlyBeRead(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		for _, dies := range []bool{false, true} {
			server := map[bool]contract.ServerPath{false: "db", true: "app"}[dies]
			if !dies {
				b.PublishOnce(t, deploytest.WithPassword())
			}
			machine := deploytest.NewMachine(t, server, "d1")
			older := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
				t.Helper()
				return &olderAgent{b.Open(t, creds...), dies}
			}}
			m := older.AwaitingApproval(t, machine)
			if err := m.AwaitDeployment(deploytest.Within(t, deploytest.Patience), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.UseKey(machine.Key)
			if _, err := m.Enrol(t.Context(), "d1", "i-d1", false, deploytest.Noon); (err != nil) != dies {
				t.Fatal(err)
			}
			if err := b.Join(t, machine, !dies).Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseDone}, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The machine's next agent starts while another machine replaces it, which ends its life: it was
// replaced, and nothing was destroyed.
func TestReplacedWhileTheNextAgentStarts(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		b.Agent(t, "db")
		replace := func() {
			m := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			deploytest.Enrolled(t, m, "second", false)
		}
		turn := func(ops []store.Op) bool {
			return ops[0].Write && ops[0].Path == deploytest.Site.Life("db", "journal-db")
		}
		if _, err := b.Again(t, &deploytest.Between{Session: b.Session(t, "db"), When: turn, Do: replace}); !errors.Is(err, member.ErrFenced) {
			t.Errorf("%v, want ErrFenced", err)
		}
	})
}
