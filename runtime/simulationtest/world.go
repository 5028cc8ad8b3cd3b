// Package simulationtest runs whole deployments in virtual time and checks for violations. The
// agents are the real ones (runtime/agent and everything below it, the protocol of package
// coordinator included); the coordinator is the in-process one behind a simulated network and
// ensemble; the disks remember what was synced; roles are generated programs. docs/simulation.md
// describes what is checked and how to replay a seed.
package simulationtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

const deployment protocol.Deployment = "blog"

// Case is what is played: a program and what goes wrong with it.
type Case struct {
	Seed    uint64
	Program *Program
	Faults  *Faults
}

// NewCase creates the case of a seed. With calm nothing goes wrong, and nothing in the program ends
// by the clock.
func NewCase(seed uint64, calm bool) Case {
	r := rand.New(rand.NewPCG(seed, 1))
	c := Case{Seed: seed, Program: Generate(r, Options{Timed: !calm, Straight: calm})}
	c.Faults = GenerateFaults(r, c.Program, calm)
	// What Heat and a destruction add is drawn separately: so a seed keeps its program.
	more := rand.New(rand.NewPCG(seed, 2))
	c.Program.addSignals(more)
	c.Faults.addHeat(more, calm)
	if !calm {
		c.Faults.addDestruction(more, c.Program)
		c.Faults.addFull(rand.New(rand.NewPCG(seed, 9)))
		c.Faults.addRebuilds(rand.New(rand.NewPCG(seed, 10)))
		c.Faults.addUpdates(rand.New(rand.NewPCG(seed, 3)))
	}
	c.addSealed(rand.New(rand.NewPCG(seed, 4)))
	c.Faults.name()
	return c
}

// Outcome is how a run ended.
type Outcome struct {
	Case
	// Plan is the one that was applied last.
	Plan *contract.Plan
	// Snapshot is the deployment at rest, as hotc status would show it.
	Snapshot *deploy.Snapshot
	// Lasted is the virtual time until everything was at rest.
	Lasted time.Duration
	// Violations are what must not have happened.
	Violations []string
	// Trace is what happened, in order; Counts how often some of it did.
	Trace  []string
	Counts map[string]int
}

// Fatal fails a test with all that is known of a run.
func (o *Outcome) Fatal(t testing.TB) {
	t.Helper()
	t.Fatalf("seed %d:\n  %s\n\n%s\n%v\n%s", o.Seed, strings.Join(o.Violations, "\n  "), o.Program, o.Faults, strings.Join(o.Trace, "\n"))
}

// world is a run.
type world struct {
	Case
	program *Program
	dice    dice
	folder  string
	secret  protocol.Secret
	cluster *cluster
	history *history
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	heat     *heat
	machines []*machine

	operated atomic.Bool // the operator has done all that is planned

	relayKilled atomic.Int64 // when one was last killed
	gives       atomic.Int64 // how often secrets were supplied again
	leavings    leavings
	rivalry     rivalry

	// operating has a token while the operator runs a command: a mutex would stop the time. It guards
	// known.
	operating chan struct{}
	known     knows
	repaired  atomic.Int64 // losses that the operator has dealt with

	mu    sync.Mutex
	lives lives
}

// Run plays a case in a bubble of virtual time. The roles' folders lie in folder.
func Run(t *testing.T, c Case, folder string) *Outcome {
	var o *Outcome
	synctest.Test(t, func(t *testing.T) { o = play(c, folder) })
	return o
}

// The times of a run: how long without a write it takes to be at rest (readers wait 300 s for a
// producer that is gone, and check every half minute whether it ever came), and when it has taken
// too long.
const (
	restAfter = 400 * time.Second
	tooLong   = 3 * time.Hour
	// heatPatience is long enough for repeatedly lost signals.
	heatPatience = time.Hour
)

func play(c Case, folder string) *Outcome {
	w := &world{Case: c, program: c.Program, dice: dice(c.Seed), folder: folder}
	secret, err := protocol.NewSecret(randomness(c.Seed))
	if err != nil {
		panic(err)
	}
	w.secret = secret
	w.cluster = newCluster(w.dice, c.Faults, c.Program)
	w.history = newHistory(w)
	w.heat = newHeat(w)
	w.leavings = leavings{waiting: map[string]*leaving{}, ended: map[*machine]time.Duration{}, hooks: map[*machine]int{}}
	w.ctx, w.end = context.WithCancel(context.Background())
	w.cluster.over = w.ctx.Done()
	w.operating = make(chan struct{}, 1)
	w.rivalry.applied = make(chan struct{})
	for i := range c.Faults.Machines {
		m := &machine{Machine: &c.Faults.Machines[i], world: w, disk: newDisk(), gone: make(chan struct{})}
		w.machines = append(w.machines, m)
		w.start(m)
	}
	w.running.Go(w.operate)
	for i := range c.Faults.Rivals {
		w.rivalry.running.Go(func() { w.rival(i) })
	}
	for i := range c.Faults.Losses {
		w.running.Go(func() { w.lose(&c.Faults.Losses[i]) })
	}
	if c.Program.Joining != nil {
		w.relay()
	}
	if c.Faults.Once {
		w.running.Go(w.admit)
	}
	w.awaitRest()
	o := w.outcome()
	for _, m := range w.machines {
		if m.last.Load() != nil {
			m.last.Load().kill(false)
		}
	}
	w.end()
	w.running.Wait()
	w.cluster.close()
	return o
}

func (w *world) start(m *machine) {
	w.running.Go(m.live)
	if m.Gone > 0 {
		w.running.Go(func() {
			if w.sleepUntil(m.Gone, nil) {
				if w.hasDeleteHook(m) {
					w.awaitHooks(m)
				}
				w.trace("%v is deleted", m)
				close(m.gone)
			}
		})
	}
	if m.Twice > 0 {
		w.running.Go(m.second)
	}
}

func (w *world) over() bool { return w.ctx.Err() != nil }

// sleep is false when the run is over earlier, or its purpose is gone.
func (w *world) sleep(d time.Duration, gone ...<-chan struct{}) bool {
	var never, other <-chan struct{}
	if len(gone) > 0 {
		never = gone[0]
	}
	if len(gone) > 1 {
		other = gone[1]
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !w.over() && !isClosed(never)
	case <-w.ctx.Done():
		return false
	case <-never:
		return false
	case <-other:
		return false
	}
}

func (w *world) sleepUntil(at time.Duration, gone <-chan struct{}) bool {
	return w.sleep(at-w.cluster.now(), gone)
}

// operate applies the plan.
func (w *world) operate() {
	defer w.operated.Store(true)
	if !w.sleepUntil(w.Faults.Apply, nil) {
		return
	}
	err := w.apply(w.Faults.Interrupted)
	w.trace("applied: %v", err)
	if w.Faults.Interrupted > 0 && errors.Is(err, errDead) {
		if !w.sleepUntil(w.Faults.Again, nil) {
			return
		}
		err = w.apply(0)
		w.trace("applied again: %v", err)
	}
	close(w.rivalry.applied)
	if err == nil {
		err = w.update()
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil && !w.over() {
		w.history.violate("apply or destroy: %v", err)
	}
}

func (w *world) apply(interrupted int) error {
	p := w.first()
	return w.publish(&p, interrupted)
}

// publishOnce applies a plan, in one run of the command.
func (w *world) publishOnce(p *contract.Plan, interrupted int, restore bool) error {
	return w.publishAs(&operator{dies: interrupted}, p, interrupted, restore)
}

func (w *world) publishAs(o *operator, p *contract.Plan, interrupted int, restore bool) error {
	s := w.cluster.open(nil, fmt.Sprintf("operator (%d)", interrupted), w.cluster.untilLost(), o, []store.Credential{w.secret.Operator(deployment)})
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := s.Authenticate(w.ctx, w.secret.Operator(deployment)); err != nil {
		return err
	}
	publication := deploy.Publication{Deployment: deployment, Secret: w.secret, Plan: p, JSON: text,
		Files: func(string) ([]byte, error) { return nil, errors.New("no files") }, Now: w.operatorsNow(), Enrol: new(w.enrolment()), Restore: restore}
	if len(w.Faults.Rivals) > 0 {
		publication.Lock, publication.New, err = w.lock(s, o)
		defer w.unlock(s, o, publication.Lock)
	}
	if err == nil {
		publication.After, err = w.after(s, p)
	}
	if err == nil {
		w.history.offer(p)
		_, err = deploy.Publish(w.ctx, s, publication)
	}
	if err == nil {
		err = w.give(s, p)
	}
	return err
}

// operatorsNow is the clock of the machine from which the plan is applied: each time it may be
// another one.
func (w *world) operatorsNow() time.Time {
	return time.Now().Add(w.dice.between(-48*time.Hour, 48*time.Hour, "the operator's clock", w.cluster.now()))
}

// operator counts the requests of hotc apply, which makes many in parallel.
type operator struct {
	dies int
	died func() // called when it dies; may be nil
	over bool   // it takes the lock from who holds it

	mu       sync.Mutex
	requests int
	dead     bool
}

func (o *operator) request() (int, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests++
	if o.requests == o.dies {
		if o.dead = true; o.died != nil {
			o.died()
		}
	}
	return o.requests, o.dead
}

func (o *operator) taken(int) bool { return false }

// awaitRest waits until everything planned has happened and nothing more does.
func (w *world) awaitRest() {
	for {
		time.Sleep(10 * time.Second)
		now := w.cluster.now()
		switch {
		case now < max(w.Faults.last(), w.lastRelay()), len(w.waitsWith()) > 0 && now < tooLong:
		case time.Since(w.cluster.lastMove()) > restAfter && (len(w.heat.untold()) == 0 || time.Since(w.cluster.lastMove()) > heatPatience):
			return
		case w.settled():
			time.Sleep(time.Second)
			return
		case now > tooLong:
			w.history.violate("after %v there is still no rest", tooLong)
			return
		}
	}
}

// calm is how long nothing must have been written or started.
const calm = time.Minute

// settled reports whether every machine has reached its end, and every server has finished: nothing
// more can happen.
func (w *world) settled() bool {
	if time.Since(w.cluster.lastMove()) < calm || !w.operated.Load() || !w.restored() {
		return false
	}
	for _, m := range w.machines {
		if !m.left.Load() && (m.last.Load() == nil || m.last.Load().number < len(m.Ends) || w.cluster.now()-m.last.Load().started < calm) {
			return false
		}
	}
	s := w.snapshot()
	for _, server := range s.Servers {
		if w.current(server.Path) != nil && slices.ContainsFunc(w.planned(server.Path), func(r contract.Role) bool { return owes(r, server.State.Role(r.Name)) }) {
			return false // held while another's agent may return
		}
		if server.State.Phase != protocol.PhaseDone && server.State.Phase != protocol.PhaseFailed {
			return false
		}
		for _, q := range server.Requests {
			if q.Incarnation == server.Incarnation.Number && w.current(server.Path) != nil && !slices.ContainsFunc(server.Answers, func(a protocol.Answer) bool { return a.ID == q.ID && a.Final() }) {
				return false
			}
		}
	}
	return s.Ready && len(w.heat.untold()) == 0
}

// newestPlan is the one that was applied last.
func (w *world) newestPlan() *contract.Plan {
	if last := w.getLives().plan; last != nil {
		return last
	}
	return &w.program.Plan
}

// planned are a server's roles in the newest plan.
func (w *world) planned(server contract.ServerPath) []contract.Role {
	for _, s := range w.newestPlan().Servers {
		if s.Path == server {
			return s.Roles
		}
	}
	return nil
}

// owes reports whether a role that is done has to run because its plan has changed.
func owes(r contract.Role, now protocol.RoleState) bool {
	return now.Status == protocol.RoleDone && r.OutOfDate(now.Made) && r.Updating() != nil
}

func (w *world) snapshot() *deploy.Snapshot { return w.snapshotOf(&w.program.Plan) }

func (w *world) snapshotOf(p *contract.Plan) *deploy.Snapshot {
	s := w.cluster.openTree(w.secret.Operator(deployment))
	defer s.Close()
	snapshot, err := deploy.TakeSnapshot(context.Background(), s, deployment, w.secret, p)
	if err != nil {
		return &deploy.Snapshot{}
	}
	return snapshot
}

func (w *world) outcome() *Outcome {
	o := &Outcome{Case: w.Case, Plan: w.newestPlan(), Snapshot: w.snapshotOf(w.newestPlan()), Lasted: w.cluster.now()}
	w.check(o.Snapshot)
	w.judgeDestroyed()
	w.judgeRelays()
	for _, m := range w.waitsWith() {
		w.history.violate("Heat waits with %v for ever", m)
	}
	w.heat.checkAll()
	w.history.finish(o)
	return o
}

// trace records what happened.
func (w *world) trace(format string, arguments ...any) {
	w.history.note(fmt.Sprintf("%12v  %s", w.cluster.now(), fmt.Sprintf(format, arguments...)))
}

// String tells a program.
func (p *Program) String() string {
	var b strings.Builder
	for _, s := range p.Plan.Servers {
		fmt.Fprintf(&b, "server %s, facts %v\n", s.Path, s.Facts)
		for _, r := range s.Roles {
			role := p.Roles[s.Path.Role(r.Name)]
			fmt.Fprintf(&b, "  role %s: %v; exit %d", r.Name, role.Steps, role.Exit)
			if role.Stubborn {
				b.WriteString(", stubborn")
			}
			for _, to := range r.Signals {
				fmt.Fprintf(&b, ", signals %s %v", to.Handle, to.Outputs)
			}
			if r.Idempotent {
				b.WriteString(", idempotent")
			}
			if r.Timeout > 0 {
				fmt.Fprintf(&b, ", timeout %v", r.Timeout)
			}
			for _, d := range r.DependsOn {
				fmt.Fprintf(&b, ", depends on %s", d.Cell)
			}
			b.WriteString("\n")
			for _, in := range r.Inputs {
				fmt.Fprintf(&b, "    %s = %s", in.Name, in.Expr)
				if in.Default != nil {
					fmt.Fprintf(&b, ", default %s", in.Default)
				}
				fmt.Fprintf(&b, ", optional %v, timeout %v, if_down %v\n", in.Optional, in.Timeout, in.IfDown)
			}
		}
	}
	return b.String()
}

// sorted are a trace's lines in an order that does not depend on which of two came first in the
// same instant.
func sorted(trace []string) []string {
	lines := slices.Clone(trace)
	slices.Sort(lines)
	return lines
}
