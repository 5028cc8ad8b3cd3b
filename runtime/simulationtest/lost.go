package simulationtest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// In a case of losing, the coordinator loses all its data, or comes back with an older state: while
// roles run, or at rest. As in ZooKeeper, it refuses the sessions that have seen more, until they
// give up and begin anew. The operator restores what is not there, and applies the plan that he
// applied last; agents publish again what was theirs. At rest all that holds elsewhere has to hold.

// Loss is a loss of data.
type Loss struct {
	// At is when the coordinator goes away, Back when it returns.
	At, Back time.Duration
	// Older is how old the state is with which it returns; 0 is none at all.
	Older time.Duration
	// Repair is when the operator restores the deployment, dying at request Cut if that is not 0,
	// only to start again.
	Repair time.Duration
	Cut    int
}

// NewLosing creates the case of a seed in which the coordinator loses data.
func NewLosing(seed uint64) Case {
	c := newChanging(seed, func(seed uint64) Case { return NewCase(seed, false) })
	f := c.Faults
	f.Destroy, f.Cut, f.Anew = 0, 0, 0
	g := mishaps{rand.New(rand.NewPCG(seed, 110))}
	at, rest := time.Duration(0), f.last()
	for range 1 + g.IntN(2) {
		l := Loss{At: max(at, f.Apply/2) + g.within(2*time.Minute)}
		if g.perhaps(0.3) {
			l.At = max(at, rest) + 10*time.Minute + g.within(time.Minute)
		}
		l.Back = l.At + g.within(20*time.Second)
		if g.perhaps(0.6) {
			if l.Older = g.within(30 * time.Second); g.perhaps(0.4) {
				l.Older = g.within(5 * time.Minute)
			}
		}
		if l.Repair = l.Back + g.within(time.Minute); g.perhaps(0.3) {
			l.Cut = 1 + g.IntN(30)
		}
		f.Losses, at = append(f.Losses, l), l.Repair
	}
	return c
}

// past is a change of the tree. A state is restored by doing again what led to it.
type past struct {
	before int // the number of commits before it
	creds  []store.Credential
	do     func(store.Session) error
}

// perform does a change of the tree for a session. Locked.
func (c *cluster) perform(s *session, do func(store.Session) error) error {
	if len(c.faults.Losses) > 0 {
		c.past = append(c.past, past{len(c.commits), s.identities(), do})
	}
	return do(s.store())
}

// lose replaces the tree by that of an earlier commit; 0 is the beginning.
func (c *cluster) lose(l *Loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keeps := 0
	if l.Older > 0 {
		keeps = max(c.asOf(time.Now().Add(-l.Older)), c.floor) // what was lost before stays lost
	}
	c.tree = memory.New()
	all := c.past
	for c.past = nil; len(all) > 0 && all[0].before < keeps; all = all[1:] {
		s := c.tree.Open(all[0].creds...)
		_ = all[0].do(s) // as it ended then
		s.Close()
		c.past = append(c.past, all[0])
	}
	n := len(c.commits)
	c.commits = append(c.commits, commit{at: time.Now(), session: "the loss", lost: true})
	for path := range c.nodes {
		was, now := c.state(path, keeps), c.state(path, n)
		if was.commit != now.commit || was.exists != now.exists {
			was.commit = n
			c.nodes[path] = append(c.nodes[path], was)
		}
	}
	c.moved, c.floor = time.Now(), n+1
	for _, s := range c.sessions {
		sawMore := s.seen > keeps
		s.seen = c.floor
		s.lose(c, l, sawMore)
	}
	close(c.lossy)
	c.lossy = make(chan struct{})
}

// lose moves a session to the new tree. One that has seen more is refused for longer than it lives.
func (s *session) lose(c *cluster, l *Loss, sawMore bool) {
	s.mu.Lock()
	before := s.inner
	s.inner = c.tree.Open(s.creds...)
	c.closed = append(c.closed, s.inner)
	until := l.Back
	if sawMore {
		until += sessionTimeout + c.dice.between(0, 5*time.Second, s.name, "gives up", l.At)
		s.refused = append(s.refused, until)
	}
	s.absent = until
	s.mu.Unlock()
	before.Close()
}

// store is the session with the tree that there is now.
func (s *session) store() store.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner
}

// away is how long the coordinator does not answer the session.
func (s *session) away() (left time.Duration) {
	now := s.cluster.now()
	for _, l := range s.cluster.faults.Losses {
		if l.At <= now {
			left = max(left, l.Back-now)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(left, s.absent-now)
}

// losses is how many there were.
func (s *session) losses() int {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	return s.cluster.floor
}

// Connection implements store.Session: a session that has been refused for too long has ended.
func (s *session) Connection() (store.Connection, <-chan struct{}) {
	now := s.cluster.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := store.Connection{Up: true}
	for _, until := range s.refused {
		if until <= now {
			c.Ended++
		}
	}
	return c, nil
}

// openTree is a session with the tree that there is now.
func (c *cluster) openTree(creds ...store.Credential) store.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tree.Open(creds...)
}

// untilLost is closed at the next loss: then operators interrupt their commands.
func (c *cluster) untilLost() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lossy
}

// lossesBefore reports whether data was lost before a commit. Locked.
func (c *cluster) lossesBefore(commit int) bool {
	for i := range c.commits[:commit] {
		if c.commits[i].lost {
			return true
		}
	}
	return false
}

// lossOf is what a loss does to a cell. Locked.
func (c *cluster) lossOf(w *world, of contract.Cell, commit int) act {
	number := incarnation(c.state(deployment.Server(of.Server), commit+1).data).Number
	left := register{incarnation: number, state: protocol.Empty}
	if r := c.plain(w, contract.CellRef{Cell: of.Name, Server: of.Server}, commit+1); r.Incarnation == number && r.State != "" {
		left.state, left.value = r.State, string(r.Value)
	}
	return act{op: "lose", left: left}
}

// knows is what the operator knows of his deployment.
type knows struct {
	// begun is the plan that he has tried to apply last, applied the one that he has.
	begun, applied *contract.Plan
}

// lose plays a loss, and the operator who repairs it.
func (w *world) lose(l *Loss) {
	if !w.sleepUntil(l.At, nil) {
		return
	}
	w.trace("the coordinator loses data: it returns with %v", l.Older)
	w.history.count("losses of data")
	w.cluster.lose(l)
	if !w.sleepUntil(l.Repair, nil) {
		return
	}
	w.operating <- struct{}{}
	defer func() { <-w.operating }()
	if err := w.repair(); err != nil && !w.over() {
		w.history.violate("the deployment is not restored: %v", err)
	}
	w.running.Go(w.heed)
}

// heed plays an operator who looks at `hotc status` after a loss, and applies the newest plan again as
// long as a server says that it waits for that.
func (w *world) heed() {
	for range 10 {
		if !w.sleep(time.Minute) {
			return
		}
		w.applyAgain()
	}
}

func (w *world) applyAgain() {
	w.operating <- struct{}{} // otherwise another change might come before it
	defer func() { <-w.operating }()
	p := w.known.begun
	if p != nil && slices.ContainsFunc(w.snapshot().Servers, func(s deploy.ServerSnapshot) bool { return strings.Contains(s.State.Message, "hotc apply") }) {
		err := w.publishLast(p, 0)
		w.trace("applied again, as a server waits for it: %v", err)
		w.history.count("applied again for a server that waits")
	}
}

// restored reports whether no loss is left to be repaired.
func (w *world) restored() bool { return int(w.repaired.Load()) == len(w.Faults.Losses) }

// publish applies a plan. If the coordinator loses data meanwhile the operator begins again, when he
// has restored what was there.
func (w *world) publish(p *contract.Plan, interrupted int) error {
	w.operating <- struct{}{}
	defer func() { <-w.operating }()
	return w.publishLast(p, interrupted)
}

// publishLast is publish where operating is held.
func (w *world) publishLast(p *contract.Plan, interrupted int) error {
	for ; ; interrupted = 0 {
		if err := w.repair(); err != nil {
			return err
		}
		w.known.begun = p
		lost := w.cluster.untilLost()
		err := w.publishOnce(p, interrupted, false)
		if err == nil {
			w.known.applied = p
		}
		if !isClosed(lost) {
			return err
		}
		if !w.sleep(time.Second) { // the loss is to be noticed
			return nil
		}
	}
}

// repair puts back what was lost: what the operator applied last, or has tried to, if that was the
// first. operating is held.
func (w *world) repair() error {
	for int(w.repaired.Load()) < w.lossesSoFar() {
		n := w.lossesSoFar()
		l := &w.Faults.Losses[n-1]
		if !w.sleepUntil(l.Back, nil) {
			return nil
		}
		p, cut := w.known.applied, l.Cut
		if p == nil {
			p = w.known.begun
		}
		for p != nil {
			lost := w.cluster.untilLost()
			err := w.putBack(p, cut)
			w.trace("restored: %v", err)
			if isClosed(lost) {
				break
			}
			if cut > 0 && errors.Is(err, errDead) {
				cut = 0
				continue
			}
			if err != nil {
				return err
			}
			w.history.count("deployments restored")
			break
		}
		w.repaired.Store(int64(n))
	}
	return nil
}

// lossesSoFar is how many there were.
func (w *world) lossesSoFar() (n int) {
	for _, l := range w.Faults.Losses {
		if l.At <= w.cluster.now() {
			n++
		}
	}
	return n
}

// putBack applies the plan that was applied last, with --restore where no deployment is there, as
// `hotc status` says.
func (w *world) putBack(p *contract.Plan, cut int) error {
	s := w.cluster.open(nil, "operator (looks)", w.cluster.untilLost(), &operator{}, []store.Credential{w.secret.Operator(deployment)})
	defer s.Close()
	_, ready, err := s.Stat(w.ctx, deployment.Ready())
	if err != nil {
		return err
	}
	if !ready {
		err = w.publishOnce(p, cut, true)
		if !errors.Is(err, deploy.ErrUnfinished) {
			return err
		}
		// The older state is from when the deployment was being created.
		first := w.first()
		if err := w.publishOnce(&first, 0, false); err != nil {
			return err
		}
	}
	return w.publishOnce(p, cut, false)
}

// reusesNumber reports whether two machines of a server had the same number: all data was lost, and
// the second one came when the first was gone. Who followed the first one's values then takes the
// second one's for the same.
func (w *world) reusesNumber() bool {
	if len(w.Faults.Losses) == 0 { // a deployment that is applied anew may begin again at 1
		return false
	}
	for _, s := range w.program.Plan.Servers {
		had := map[int]string{}
		for _, x := range w.cluster.changesOf(deployment.Server(s.Path)) {
			is := incarnation(x.data)
			if id := had[is.Number]; is.Number > 0 && id != "" && id != is.ID {
				return true
			}
			had[is.Number] = is.ID
		}
	}
	return false
}
