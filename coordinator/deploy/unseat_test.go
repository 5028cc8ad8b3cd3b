package deploy_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// beforeCommit does something else, once, before it writes a node.
type beforeCommit struct {
	store.Session
	path store.Path
	do   func()
	done atomic.Bool
}

func (s *beforeCommit) Commit(ctx context.Context, ops ...store.Op) error {
	for _, op := range ops {
		if op.Write && op.Path == s.path && s.done.CompareAndSwap(false, true) {
			s.do()
		}
	}
	return s.Session.Commit(ctx, ops...)
}

// A machine enrols while its server is removed, after the change has read the server's incarnation:
// its number is not given again.
func TestAMachineEnrolsWhileItsServerIsRemoved(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.FanOut(2))
	s := &beforeCommit{Session: b.Open(t), path: deploytest.Site.Server("node/1"), do: func() { b.Agent(t, "node/1") }}
	if _, err := deploy.Publish(t.Context(), s, deploytest.Publication(deploytest.FanOut(1))); err != nil {
		t.Fatal(err)
	}
	node, err := b.Operator(t).Read(t.Context(), deploytest.Site.Server("node/1"))
	if there := protocol.ParseIncarnation(node); err != nil || !s.done.Load() || there.ID != "" || there.Number != 1 {
		t.Errorf("the server's record is %+v (%v), the machine has enrolled: %v", there, err, s.done.Load())
	}
}

// A change that removes a server is overtaken by one that keeps it, before the server's machine is
// unseated: it stays.
func TestAServerThatTheNextChangeKeepsIsNotRemoved(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.FanOut(2))
	b.Agent(t, "node/1")
	last := deploytest.FanOut(2)
	last.Servers[0].Roles[0].Timeout = 77
	s := &beforeCommit{Session: b.Open(t), path: deploytest.Site.Server("node/1"), do: func() { b.Publish(t, last) }}
	if _, err := deploy.Publish(t.Context(), s, deploytest.Publication(deploytest.FanOut(1))); !errors.Is(err, deploy.ErrOvertaken) {
		t.Errorf("the first change: %v", err)
	}
	b.ExpectWhole(t, last)
	node, err := b.Operator(t).Read(t.Context(), deploytest.Site.Server("node/1"))
	if there := protocol.ParseIncarnation(node); err != nil || !s.done.Load() || there.ID == "" {
		t.Errorf("the server's record is %+v (%v), it was overtaken: %v", there, err, s.done.Load())
	}
}
