package deploy_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func nobodyIsGone(deploy.Holder) bool { return false }

func lock(t *testing.T, s store.Session, id string, over bool) (*deploy.Lock, error) {
	t.Helper()
	return deploy.TakeLock(t.Context(), s, deploytest.Site, deploytest.Secret, deploy.Holder{ID: id, Command: "hotc up", User: "ann", Host: "desk", Process: 7, Since: deploytest.Noon}, nobodyIsGone, over)
}

func mustLock(t *testing.T, s store.Session, id string, over bool) *deploy.Lock {
	t.Helper()
	l, err := lock(t, s, id, over)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A deployment is locked for one command, until its session ends or it is told to give way. The
// others learn who, where and since when.
func TestLock(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		if _, err := lock(t, b.Operator(t), "early", false); !errors.Is(err, deploy.ErrNotApplied) {
			t.Errorf("without a deployment: %v", err)
		}
		b.Publish(t, deploytest.ThreeTier())
		first := b.Operator(t)
		held := mustLock(t, first, "first", false)
		_, err := lock(t, b.Operator(t), "second", false)
		if other, is := errors.AsType[*deploy.HeldError](err); !is || other.ID != "first" || !strings.Contains(err.Error(), `"hotc up" of ann on desk (process 7, since 2026-03-01 12:00:00Z)`) {
			t.Errorf("a second command: %v", err)
		}
		if _, err := deploy.TakeLock(t.Context(), b.Open(t, deploytest.Another.Operator(deploytest.Site)), deploytest.Site, deploytest.Another, deploy.Holder{ID: "x"}, nobodyIsGone, true); err == nil {
			t.Error("with another secret it can be locked")
		}
		if err := held.Check(t.Context()); err != nil {
			t.Errorf("the first one has lost it: %v", err)
		}
		b.Publish(t, deploytest.ThreeTier()) // a lock is nobody else's node
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := mustLock(t, b.Operator(t), "second", false)
		third := mustLock(t, b.Operator(t), "third", true)
		if other, lost := errors.AsType[*deploy.HeldError](second.Check(t.Context())); !lost || other.ID != "third" {
			t.Error("the second one does not know that the third has taken over")
		}
		if _, err := deploy.TakeLock(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, deploy.Holder{ID: "fourth"}, func(h deploy.Holder) bool { return h.ID == "third" }, false); err != nil {
			t.Errorf("after a holder whose process is gone: %v", err)
		}
		if third.Check(t.Context()) == nil {
			t.Error("the third one does not know")
		}
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
			t.Errorf("a locked deployment cannot be destroyed: %v", err)
		}
	})
}

// Of many commands at the same time one gets the lock.
func TestOneOfManyLocks(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		stores := make([]store.Session, 8)
		for i := range stores {
			stores[i] = b.Operator(t)
		}
		var all sync.WaitGroup
		locks := make([]*deploy.Lock, len(stores))
		for i, s := range stores {
			all.Go(func() {
				var err error
				if locks[i], err = lock(t, s, string(rune('a'+i)), false); err != nil && !errors.As(err, new(*deploy.HeldError)) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		n := 0
		for _, l := range locks {
			if l != nil && l.Check(t.Context()) == nil {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d hold it", n)
		}
	})
}

// justBefore is a store that does something else, once, before a node is written.
type justBefore struct {
	store.Session
	path store.Path
	do   func()
}

func (s *justBefore) Commit(ctx context.Context, ops ...store.Op) error {
	for _, op := range ops {
		if do := s.do; do != nil && op.Write && op.Path == s.path {
			s.do = nil
			do()
		}
	}
	return s.Session.Commit(ctx, ops...)
}

// A command that has lost the lock changes no plan, however late it finds out. An answer of the lock
// itself that is lost is no loss of the lock.
func TestNoChangeWithoutTheLock(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		s := &justBefore{Session: b.Operator(t), path: deploytest.Site.Root()}
		held := mustLock(t, &answerless{Session: s}, "first", false)
		s.do = func() { mustLock(t, b.Operator(t), "second", true) }
		_, err := deploy.Publish(t.Context(), s, deploytest.Publication(large("changed"), func(w *deploy.Publication) { w.Lock = held }))
		if !errors.As(err, new(*deploy.HeldError)) || s.do != nil {
			t.Errorf("published: %v", err)
		}
		b.ExpectWhole(t, deploytest.ThreeTier())
		if _, err := deploy.Publish(t.Context(), b.Operator(t), deploytest.Publication(large("changed"), func(w *deploy.Publication) { w.New = true })); !errors.Is(err, deploy.ErrOvertaken) {
			t.Errorf("a deployment that was created meanwhile is changed: %v", err)
		}
		b.ExpectWhole(t, deploytest.ThreeTier())
	})
}

// answerless is a store whose first commit takes effect without an answer.
type answerless struct {
	store.Session
	once sync.Once
}

func (s *answerless) Commit(ctx context.Context, ops ...store.Op) (err error) {
	err = s.Session.Commit(ctx, ops...)
	s.once.Do(func() { err = errors.Join(err, store.ErrVersion) })
	return err
}
