package simulationtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// In a case of rivals other operators change the plan while the first one does, each from what he
// knows of it. Each holds the deployment's lock, waits for nobody, and may take it over. One whose
// program dies does not come back: the first one applies again what is live then. Who is told that
// his plan is applied has applied it, and at rest all rules hold of the plan that came last.

// Rival is a change of the plan by another operator.
type Rival struct {
	At time.Duration
	// Cut is the request at which his program dies for good; 0 is none.
	Cut int
	// Over says that he takes the lock from who holds it.
	Over bool
}

// NewRivals creates the case of a seed in which several operators change the plan.
func NewRivals(seed uint64) Case {
	c := [...]func(uint64) Case{NewFollowing, NewSuperseding}[seed%2](seed)
	g := mishaps{rand.New(rand.NewPCG(seed, 110))}
	f := c.Faults
	f.Destroy, f.Cut, f.Anew = 0, 0, 0
	if f.Updates == nil {
		f.Updates = Updates{{At: max(f.Apply, f.Again) + g.within(90*time.Second)}}
	}
	f.Updates[0].Grows = false // nobody removes what another has added
	for _, u := range f.Updates {
		for len(f.Rivals) < 4 && g.perhaps(0.6) {
			x := Rival{At: max(0, u.At-time.Second) + g.within(4*time.Second), Over: g.perhaps(0.4)}
			if g.perhaps(0.2) {
				x.Cut = 1 + g.IntN(60)
			}
			f.Rivals = append(f.Rivals, x)
		}
	}
	f.name()
	return c
}

// rivalry is what several operators do, and know of each other.
type rivalry struct {
	running sync.WaitGroup // the others
	applied chan struct{}  // closed when the plan was applied first

	mu     sync.Mutex
	runs   int // of commands
	begun  int // changes
	active int // that have not ended
}

// rival plays another operator.
func (w *world) rival(i int) {
	x := &w.Faults.Rivals[i]
	if !w.sleepUntil(x.At, nil) || !w.awaitApplied() {
		return
	}
	plan := w.getLives().plan
	if plan == nil {
		plan = new(w.first())
	}
	next := w.changed(*plan, 100+i)
	change := w.beginChange()
	err := w.publishAs(&operator{dies: x.Cut, over: x.Over}, &next, x.Cut, false)
	w.trace("changed by another operator: %v", err)
	if told := w.endChange(change, &next, err); !told && err != nil && !w.over() {
		w.history.violate("another operator's change: %v", err)
	}
}

func (w *world) awaitApplied() bool {
	select {
	case <-w.rivalry.applied:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// planChange is a change of the plan that has begun.
type planChange struct{ number, beside int }

func (w *world) beginChange() planChange {
	r := &w.rivalry
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.active = r.begun+1, r.active+1
	return planChange{r.begun, r.active - 1}
}

// endChange notes how a change ended, where there are several operators; told says that one was told
// that another has changed the plan, or that his program has died.
func (w *world) endChange(c planChange, p *contract.Plan, err error) (told bool) {
	if len(w.Faults.Rivals) == 0 {
		return false
	}
	var held *deploy.HeldError
	r := &w.rivalry
	r.mu.Lock()
	r.active--
	alone := c.beside == 0 && c.number == r.begun
	r.mu.Unlock()
	switch {
	case err == nil:
		w.history.count("changes beside another operator's")
		w.nowLive(p, alone)
	case errors.Is(err, deploy.ErrOvertaken), errors.As(err, &held):
		w.history.count("operators who were told of another")
		if alone && !w.Faults.someDie() {
			w.history.violate("an operator was told of another, and there is none: %v", err)
		}
	case !errors.Is(err, errDead):
		return false
	}
	return true
}

// nowLive notes which plan is live, after p was applied. If nobody has changed it since, that is p.
func (w *world) nowLive(p *contract.Plan, alone bool) {
	s := w.cluster.openTree(w.secret.Operator(deployment))
	defer s.Close()
	live, err := deploy.ReadPlan(context.Background(), s, deployment, w.secret)
	if err != nil { // another change is on its way
		if w.trace("the live plan cannot be read: %v", err); alone {
			w.history.violate("a plan was applied, and cannot be read: %v", err)
		}
		live = p
	}
	if alone && definitions(live) != definitions(p) {
		w.history.violate("a plan was applied, and another one is live: %s, not %s", definitions(live), definitions(p))
	}
	w.setLives(func(l *lives) { l.plan = live })
}

// definitions are what tells apart the plans of one case.
func definitions(p *contract.Plan) string {
	var all []string
	for server, role := range p.EachRole() {
		all = append(all, fmt.Sprintf("%s %s", server.Path.Role(role.Name), role.Source))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// endRivalry waits until the others have done what they do. If the program of one has died, the
// first operator applies again what is live.
func (w *world) endRivalry() error {
	w.rivalry.running.Wait()
	for len(w.Faults.Rivals) > 0 && w.Faults.someDie() {
		var held *deploy.HeldError
		p := w.lastPlan()
		change := w.beginChange()
		err := w.publish(p, 0)
		w.trace("applied again, as another's program has died: %v", err)
		if w.endChange(change, p, err); !errors.As(err, &held) {
			return err
		}
		if !w.sleep(sessionTimeout) {
			return nil
		}
	}
	return nil
}

// someDie reports whether an operator's program dies, which holds the lock until its session has ended.
func (f *Faults) someDie() bool {
	return slices.ContainsFunc(f.Updates, func(u Update) bool { return u.Cut > 0 }) || slices.ContainsFunc(f.Rivals, func(x Rival) bool { return x.Cut > 0 })
}

// lock takes the deployment's lock for a run of a command, as hotc apply does. isNew says that there
// is no deployment to lock.
func (w *world) lock(s *session, o *operator) (l *deploy.Lock, isNew bool, err error) {
	w.rivalry.mu.Lock()
	w.rivalry.runs++
	id := fmt.Sprint("run-", w.rivalry.runs)
	w.rivalry.mu.Unlock()
	l, err = deploy.TakeLock(w.ctx, s, deployment, w.secret, deploy.Holder{ID: id, Command: "hotc apply", Since: w.operatorsNow()}, func(deploy.Holder) bool { return false }, o.over)
	if errors.Is(err, deploy.ErrNotApplied) {
		return nil, true, nil
	}
	return l, false, err
}

// unlock ends a run of a command: the session of one that has died ends later.
func (w *world) unlock(s *session, o *operator, l *deploy.Lock) {
	if _, dead := o.request(); dead {
		time.AfterFunc(sessionTimeout, func() { _ = s.Close() })
		return
	}
	if l != nil {
		l.Release()
	}
	_ = s.Close()
}
