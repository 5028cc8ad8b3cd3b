package deploytest

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// forgetful is a session whose coordinator may be restored to an older state.
type forgetful struct {
	store.Session
	ended *atomic.Int64
}

func (f *forgetful) Connection() (store.Connection, <-chan struct{}) {
	return store.Connection{Up: true, Ended: int(f.ended.Load())}, nil
}

// Remains is a machine's agent with its disk, as it restarts.
type Remains struct {
	Machine
	Disk  *Disk
	Ended *atomic.Int64

	mu   sync.Mutex
	said []string
}

func (r *Remains) Words() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

func (b Bed) Begin(t *testing.T, r *Remains, number int) (*member.Session, error) {
	t.Helper()
	m := member.Join(&forgetful{b.Session(t, r.server), r.Ended}, Site, r.server, TokenOf(r.server))
	m.UseMemory(r.Disk)
	m.UseMachine(member.Machine{Instance: "i-" + r.Id, Now: func() time.Time { return Noon }, Key: func() (seal.Key, error) { return r.Key, nil }})
	m.OnLoss(func(what string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, what)
	})
	if err := m.AwaitDeployment(Within(t, Patience), nil); err != nil {
		return nil, err
	}
	if _, err := m.Plan(t.Context()); err != nil {
		return nil, err
	}
	m.UseKey(r.Key)
	m.RememberTries(number, func(int) error { return nil })
	s, err := m.Enrol(t.Context(), r.Id, "i-"+r.Id, number > 0, Noon)
	if err != nil {
		return nil, err
	}
	return s, s.Republish(t.Context(), s.Incarnation.Number)
}

func (b Bed) MustBegin(t *testing.T, r *Remains, number int) *member.Session {
	t.Helper()
	m, err := b.Begin(t, r, number)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Lose deletes everything, as a coordinator that has lost its data.
func (b Bed) Lose(t *testing.T, all ...*Remains) {
	t.Helper()
	if err := b.Operator(t).DeleteTree(t.Context(), Site.Root()); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		r.Ended.Add(1)
	}
}

func (b Bed) Restore(t *testing.T, p *contract.Plan, options ...func(*deploy.Publication)) {
	t.Helper()
	_, err := deploy.Publish(t.Context(), b.Open(t), Publication(p, append(options, Restored, func(w *deploy.Publication) { w.Now = Noon.Add(1e9) })...))
	if err != nil {
		t.Fatal(err)
	}
}
