package agent_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// dying is the store of an agent that is killed when it is about to mark a cell.
type dying struct {
	store.Session
	cell store.Path
	dead atomic.Bool
	died chan struct{}
}

func (s *dying) Commit(ctx context.Context, ops ...store.Op) error {
	marks := slices.ContainsFunc(ops, func(op store.Op) bool { return op.Write && op.Path == s.cell })
	if marks && s.dead.CompareAndSwap(false, true) {
		close(s.died)
	}
	if s.dead.Load() {
		return store.ErrClosed
	}
	return s.Session.Commit(ctx, ops...)
}

// An agent that is killed again and again after its role has failed, and before it
// could mark what the role was to write: the one that lives marks it.
func TestAFailureThatWasNotTold(t *testing.T) {
	b := newBed(t)
	b.server("db", with(b.sh("mysql", "exit 3"), output("url", contract.String)))
	b.apply()
	const cell = "db.mysql:url"
	for range 3 {
		session := &dying{cell: protocol.Deployment(deployment).Cell(contract.CellRef{Cell: cell, Server: "db"}), died: make(chan struct{})}
		r := b.start("db", func(c *agent.Config) {
			open := c.Open
			c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
				var err error
				session.Session, err = open(ctx, url, creds...)
				return session, err
			}
		})
		select {
		case <-session.died:
		case err := <-r.ended:
			r.ended <- err
			if !session.dead.Load() { // else it has ended over that already
				t.Fatalf("the agent did not try to mark what its role was to write: %v", err)
			}
		}
		r.cancel()
		if err := r.wait(); err == nil {
			t.Fatal("the agent has reported the failure")
		}
		b.want(cell, "empty")
	}
	b.start("db").mustFail()
	b.want(cell, "failed: db.mysql: exit status 3 (site.yaml:2:2)")
}
