package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// before does something before the first call that creates, or else commits, a node.
type before struct {
	store.Session
	creates, writes func(store.Path) bool
	do              func()
}

func (s *before) Create(ctx context.Context, nodes []store.NewNode) error {
	for _, n := range nodes {
		if s.creates != nil && s.creates(n.Path) {
			s.do()
		}
	}
	return s.Session.Create(ctx, nodes)
}

func (s *before) Commit(ctx context.Context, ops ...store.Op) error {
	for _, op := range ops {
		if s.writes != nil && op.Write && s.writes(op.Path) {
			s.do()
		}
	}
	return s.Session.Commit(ctx, ops...)
}

// A deployment is destroyed and applied again between two steps of a machine that joins it: the
// machine joins the new one, and what it publishes there is valid.
func TestADeploymentIsAppliedAnewWhileAMachineJoins(t *testing.T) {
	server := func(p store.Path) bool { return p == deployment.Server("db") }
	life := func(p store.Path) bool { return strings.HasPrefix(string(p), string(deployment.Life("db", ""))) }
	for _, enrol := range []protocol.Enrolment{protocol.EnrolAlways, protocol.EnrolOnce} {
		for name, s := range map[string]before{"before its life begins": {creates: life}, "before it takes the name": {writes: server}} {
			t.Run(name+", enrol="+string(enrol), func(t *testing.T) {
				b := newBed(t)
				enrolling := func(w *deploy.Publication) { w.Enrol = &enrol }
				b.server("db", with(b.sh("mysql", "printf up | hotc-agent put x"), output("x", contract.String)))
				b.apply(enrolling)
				once := sync.OnceFunc(func() {
					if err := deploy.Destroy(t.Context(), b.operator(), deployment); err != nil {
						t.Error(err)
					}
					b.apply(enrolling)
				})
				b.start("db", func(c *agent.Config) {
					open := c.Open
					c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
						own, err := open(ctx, url, creds...)
						return &before{own, s.creates, s.writes, once}, err
					}
				}).mustBeDone()
				once() // it has been done
				b.want("db.mysql:x", `"up"`)
				if state := b.awaitState("db", inPhase(protocol.PhaseDone)); state.Incarnation != 1 {
					t.Errorf("it is incarnation %d", state.Incarnation)
				}
			})
		}
	}
}

// refused is a session that the coordinator had refused once, as after a loss of its data. Its reads
// wait while the gate is locked.
type refused struct {
	*before
	gate *sync.RWMutex
}

func (s refused) Connection() (store.Connection, <-chan struct{}) {
	now, changed := s.before.Connection()
	now.Ended = 1
	return now, changed
}

func (s refused) Read(ctx context.Context, path store.Path) (store.Node, error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	return s.before.Read(ctx, path)
}

// The deployment is lost while a machine enrols again, and its server is taken out of what is restored:
// the agent ends, and says so.
func TestAServerIsTakenOutOfWhatIsRestored(t *testing.T) {
	b := newBed(t)
	app := b.sh("app", "true")
	b.server("db", b.sh("mysql", "true"))
	b.server("app", app)
	b.apply()
	b.start("db").mustBeDone()
	lose := sync.OnceFunc(func() {
		if err := deploy.Destroy(t.Context(), b.operator(), deployment); err != nil {
			t.Error(err)
		}
	})
	var gate sync.RWMutex
	db := b.start("db", func(c *agent.Config) {
		open := c.Open
		c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
			own, err := open(ctx, url, creds...)
			return refused{&before{Session: own, writes: func(store.Path) bool { return true }, do: lose}, &gate}, err
		}
	})
	db.await("is not applied yet")
	gate.Lock()
	b.apply(func(w *deploy.Publication) { w.Restore = true })
	b.anew()
	b.server("app", app)
	b.apply()
	gate.Unlock()
	err := db.wait()
	if removed := (*member.RemovedError)(nil); !errors.As(err, &removed) {
		t.Errorf("it ends with %v", err)
	}
}
