package up

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// dice are an operator's: how long each of the operator's requests is under way. They stop with the
// operator, who may be killed at any moment.
type dice struct {
	*rand.Rand
	killed <-chan struct{}
	end    <-chan struct{} // of the test
}

// shared is a source of dice that several goroutines of an operator throw.
type shared struct {
	mu sync.Mutex
	*rand.PCG
}

func (s *shared) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.PCG.Uint64()
}

func (d *dice) wait(most time.Duration) {
	time.Sleep(time.Duration(d.Int64N(int64(most))))
	select {
	case <-d.killed:
		<-d.end
	default:
	}
}

// slow is a coordinator whose answers take their time, now and then so long that much happens.
type slow struct {
	store.Session
	*dice
}

func (s *slow) pause() {
	if s.wait(20 * time.Millisecond); s.IntN(25) == 0 {
		s.wait(4 * time.Second)
	}
}

func (s *slow) Read(ctx context.Context, p store.Path) (store.Node, error) {
	s.pause()
	return s.Session.Read(ctx, p)
}

func (s *slow) Commit(ctx context.Context, ops ...store.Op) error {
	s.pause()
	return s.Session.Commit(ctx, ops...)
}

func (s *slow) Create(ctx context.Context, nodes []store.NewNode) error {
	s.pause()
	return s.Session.Create(ctx, nodes)
}

func (s *slow) Stat(ctx context.Context, p store.Path) (store.Version, bool, error) {
	s.pause()
	return s.Session.Stat(ctx, p)
}

// heats is Heat, with one stack at most.
type heats struct {
	mu     sync.Mutex
	stack  *heat.Stack
	ends   time.Time
	events []heat.Event
}

// now is the stack as it is now.
func (h *heats) now() (heat.Stack, error) {
	if h.stack == nil {
		return heat.Stack{}, heat.ErrNotFound
	}
	if h.stack.State.InProgress() && !time.Now().Before(h.ends) {
		h.to(heat.State(h.stack.State.Action()) + "_COMPLETE")
	}
	return *h.stack, nil
}

func (h *heats) to(s heat.State) {
	h.stack.State = s
	h.events = append(h.events, heat.Event{ID: fmt.Sprint(len(h.events)), Time: heat.Time{Time: time.Now()}, Name: "site", Physical: "id", StackID: "id", StackName: "site", State: s})
}

// toHeat is an operator's way to Heat.
type toHeat struct {
	Cloud // what is not needed here
	*heats
	*dice
}

func (c *toHeat) Stack(context.Context, string) (*heat.Stack, error) {
	c.wait(50 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.now()
	return &s, err
}

func (c *toHeat) StackAt(ctx context.Context, name, _ string) (*heat.Stack, error) {
	return c.Stack(ctx, name)
}

func (c *toHeat) ask(o heat.StackOptions, s heat.State) {
	c.stack.Tags, c.stack.Updated, c.ends = o.Tags, heat.Time{Time: time.Now()}, time.Now().Add(2*time.Second+time.Duration(c.Int64N(int64(2*time.Second))))
	c.to(s)
}

func (c *toHeat) Create(_ context.Context, _ string, _ *heat.Template, o heat.StackOptions) (string, error) {
	c.wait(time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stack != nil {
		return "", heat.ErrExists
	}
	c.stack = &heat.Stack{Name: "site", ID: "id"}
	c.ask(o, "CREATE_IN_PROGRESS")
	return "id", nil
}

func (c *toHeat) Update(_ context.Context, _ *heat.Stack, _ *heat.Template, o heat.StackOptions) error {
	c.wait(time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.now()
	c.ask(o, "UPDATE_IN_PROGRESS")
	return nil
}

func (c *toHeat) Preview(context.Context, *heat.Stack, *heat.Template, heat.StackOptions, bool) (*heat.Changes, error) {
	return &heat.Changes{}, nil
}

func (c *toHeat) Definition(context.Context, *heat.Stack) (json.RawMessage, error) {
	return json.RawMessage("{}"), nil
}

func (c *toHeat) Resources(context.Context, string, string, int) ([]heat.Resource, error) {
	return nil, nil
}

func (c *toHeat) Events(_ context.Context, _, _, marker string, _ int) ([]heat.Event, error) {
	c.wait(50 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.now()
	return slices.Clone(c.events[1+slices.IndexFunc(c.events, func(e heat.Event) bool { return e.ID == marker }):]), nil
}

// place is a coordinator with a deployment, and Heat with its stack.
type place struct {
	tree  *memory.Tree
	heats heats
	dead  sync.Map // operators' processes
}

func (p *place) isDead(h deploy.Holder) bool {
	_, dead := p.dead.Load(h.Process)
	return dead
}

// at is an operator's side of the deployment: the lock and the plan are real, all roles are done.
type at struct {
	deployment
	place     *place
	store     store.Session
	plan      *contract.Plan
	process   int
	over      bool
	lock      *deploy.Lock
	published string
}

func (a *at) Hold(ctx context.Context) (bool, error) {
	var held *deploy.HeldError
	if a.lock != nil {
		err := a.lock.Check(ctx)
		if errors.As(err, &held) {
			err = fmt.Errorf("%w: %w", ErrTakenOver, err)
		}
		return err == nil, err
	}
	var err error
	a.lock, err = deploy.TakeLock(ctx, a.store, deploytest.Site, deploytest.Secret, deploy.Holder{ID: fmt.Sprint("run-", a.process), Command: "hotc up", Process: a.process},
		a.place.isDead, a.over)
	if errors.Is(err, deploy.ErrNotApplied) {
		return false, nil
	}
	return err == nil, err
}

func (a *at) publication() deploy.Publication {
	return deploytest.Publication(a.plan, func(w *deploy.Publication) { w.Lock, w.New, w.Now = a.lock, a.lock == nil, time.Now() })
}

func (a *at) Rehearse(ctx context.Context) (deploy.Outcome, []deploy.RoleChange, error) {
	p, err := deploy.Rehearse(ctx, a.store, a.publication())
	if p.Outcome != deploy.Unchanged {
		a.published = ""
	}
	return p.Outcome, p.Changes, err
}

func (a *at) Publish(ctx context.Context) error {
	p, err := deploy.Publish(ctx, a.store, a.publication())
	if a.published = p.Record.Plan; err != nil && a.lock != nil {
		if _, lost := a.Hold(ctx); errors.Is(lost, ErrTakenOver) {
			return lost
		}
	}
	return err
}

func (a *at) Status(ctx context.Context) (*status.Status, error) {
	v, err := status.Look(ctx, a.store, deploytest.Site, deploytest.Secret, a.plan, nil)
	if errors.Is(err, deploy.ErrNotApplied) || errors.Is(err, deploy.ErrUnfinished) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if a.lock != nil {
		if _, err := a.Hold(ctx); err != nil {
			return nil, err
		}
	}
	if a.published != "" && v.Stands != a.published {
		return nil, ErrTakenOver
	}
	return &status.Status{Plan: a.plan}, nil
}

func (p *place) up(t *testing.T, d *dice, process int, text string, over bool) *Up {
	path := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(path, []byte("heat_template_version: 2018-08-31\ndescription: "+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	template, err := heat.ReadTemplate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	plan := deploytest.ThreeTier()
	plan.Servers[2].Roles[0].Source = json.RawMessage(fmt.Sprintf(`{"text":"true %s"}`, text))
	on := &at{place: p, store: &slow{p.tree.Open(deploytest.Secret.Operator(deploytest.Site)), d}, plan: plan, process: process, over: over}
	return &Up{Cloud: &toHeat{heats: &p.heats, dice: d}, Deployment: on, View: &view{}, Name: "site", Template: template, Plan: plan, Key: []byte("k"), Look: time.Second, TakesOver: true}
}

// is reports whether the coordinator and Heat have what an operator wanted, and Heat is done.
func (p *place) is(t *testing.T, u *Up) bool {
	t.Helper()
	digest, err := (&Up{Template: u.Template, Key: u.Key}).Template.Digest(u.Key, heat.StackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.heats.mu.Lock()
	s, err := p.heats.now()
	p.heats.mu.Unlock()
	if err != nil {
		return false
	}
	store := p.tree.Open(deploytest.Secret.Operator(deploytest.Site))
	defer store.Close()
	live, err := deploy.ReadPlan(t.Context(), store, deploytest.Site, deploytest.Secret)
	return err == nil && string(deploytest.Text(live)) == string(deploytest.Text(u.Plan)) && s.State.Complete() && slices.Contains(s.Tags, tagPrefix+digest[:24])
}

// Of two commands that want different things at about the same time one wins, though one may take
// over on purpose, or be killed: the plan and the stack are what it wanted, and the other has said
// so. After that the same command gets what it wants, whatever it finds.
func TestOneOfTwoWins(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) { oneOfTwoWins(t, seed) })
	}
}

func oneOfTwoWins(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	p := &place{tree: memory.New()}
	end := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	run := func(process int, text string, over bool) (u *Up, kill func(), ended chan error) {
		killed := make(chan struct{})
		u = p.up(t, &dice{rand.New(&shared{PCG: rand.NewPCG(seed, uint64(process))}), killed, end}, process, text, over)
		ended = make(chan error, 1)
		go func() {
			result, err := u.Run(ctx)
			if err == nil && !result.OK() {
				err = errors.New("not OK")
			}
			on := u.Deployment.(*at)
			if on.lock != nil {
				on.lock.Release()
			}
			on.store.Close()
			ended <- err
		}()
		return u, func() { close(killed); p.dead.Store(process, true) }, ended
	}
	if r.IntN(3) > 0 { // there is a stack already
		if _, _, ended := run(1, "before", false); true {
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
	}
	over := r.IntN(3) == 0
	first, kill, firstEnds := run(2, "first", false)
	time.Sleep(time.Duration(r.Int64N(int64(3 * time.Second))))
	left := 2
	if !over && r.IntN(3) == 0 {
		kill()
		left--
	}
	second, _, secondEnds := run(3, "second", over)
	var errs [2]error
	var last *Up // that was successful
	for ; left > 0; left-- {
		select {
		case errs[0] = <-firstEnds:
			if errs[0] == nil {
				last = first
			}
		case errs[1] = <-secondEnds:
			if errs[1] == nil {
				last = second
			}
		}
	}
	_, killed := p.dead.Load(2)
	if last == nil && !killed {
		t.Fatalf("seed %d: both lose: %v; %v", seed, errs[0], errs[1])
	}
	if last != nil && !p.is(t, last) {
		t.Errorf("seed %d: what is there is not what the winner wanted: %v; %v", seed, errs[0], errs[1])
	}
	for _, err := range errs {
		if err != nil && !strings.Contains(err.Error(), `is being changed by "hotc up"`) && !strings.Contains(err.Error(), `another "hotc up" has taken over`) &&
			!errors.Is(err, deploy.ErrUnfinished) && !errors.Is(err, deploy.ErrOvertaken) {
			t.Errorf("seed %d: the other one ends with %v", seed, err)
		}
	}
	text := "second"
	if killed && last == nil { // killed while it was creating the deployment
		text = "first"
	}
	again, _, ends := run(4, text, false)
	if err := <-ends; err != nil || !p.is(t, again) {
		t.Errorf("seed %d: the same command again: %v", seed, err)
	}
	stop()
	close(end)
	if killed {
		<-firstEnds
	}
}
