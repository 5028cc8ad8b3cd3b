package simulationtest

import (
	"errors"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// lives records how the deployment was destroyed and applied again.
type lives struct {
	// began and ended are when the operator began to destroy it and had done so; 0 is not yet.
	began, ended time.Duration
	// again says that it was applied again.
	again bool
	// plan is what the plan was last changed to; nil is never.
	plan *contract.Plan
}

// finish destroys the deployment, and applies it again, where that is planned.
func (w *world) finish() error {
	f := w.Faults
	if f.Destroy == 0 || !w.sleepUntil(f.Destroy, nil) {
		return nil
	}
	w.setLives(func(l *lives) { l.began = w.cluster.now() })
	err := w.destroy(f.Cut)
	w.trace("destroyed: %v", err)
	if f.Cut > 0 && errors.Is(err, errDead) {
		if !w.sleep(f.Apply) { // at any time
			return nil
		}
		err = w.destroy(0)
		w.trace("destroyed again: %v", err)
	}
	if err != nil && !errors.Is(err, deploy.ErrNotApplied) {
		return err
	}
	w.setLives(func(l *lives) { l.ended = w.cluster.now() })
	w.history.count("destroyed")
	if f.Anew == 0 || !w.sleepUntil(f.Anew, nil) {
		return nil
	}
	w.setLives(func(l *lives) { l.again = true })
	err = w.apply(0)
	w.trace("applied anew: %v", err)
	return err
}

func (w *world) destroy(interrupted int) error {
	o := &operator{dies: interrupted}
	s := w.cluster.open(nil, "destroyer", nil, o, []store.Credential{w.secret.Operator(deployment)})
	return deploy.Destroy(w.ctx, s, deployment)
}

func (w *world) setLives(change func(*lives)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.lives)
}

func (w *world) getLives() lives {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lives
}

func (w *world) wasDestroyed() bool { return w.getLives().began > 0 }

// isGone reports whether the deployment is gone for good.
func (w *world) isGone() bool {
	l := w.getLives()
	return l.ended > 0 && !l.again
}

// judgeDestroyed checks that nothing is left of a destroyed deployment, nor any agent that knew it.
func (w *world) judgeDestroyed() {
	l := w.getLives()
	if l.ended == 0 {
		return
	}
	for _, m := range w.machines {
		p := m.last.Load()
		if p == nil || p.isEnded() {
			continue
		}
		if joined := p.joinedAt(); joined > 0 && joined < l.began {
			w.history.violate("the agent %v goes on after the deployment was destroyed", p)
		}
	}
	if l.again {
		return
	}
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, changes := range c.nodes {
		if changes[len(changes)-1].exists {
			defer w.history.violate("%s is left of a deployment that was destroyed", path)
		}
	}
}
