package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/signal"
)

const blog = protocol.Deployment("blog")

// cloud plays Heat with one stack and its software deployments.
type cloud struct {
	mu      sync.Mutex
	state   heat.State
	reason  string
	seen    func(*cloud)
	waits   map[string]*heat.Deployment
	down    error
	looks   int
	ends    []string
	before  func() // an End takes effect
	changed chan struct{}
	updated time.Time // the stack was, last
	has     []string  // machines that the stack has
	names   string    // the resources of its template
	handles []heat.Resource
	signals map[string]map[string]string // of handles, by their stack and name
	events  []heat.Event
	cleared []string
}

func newCloud() *cloud {
	return &cloud{state: "CREATE_IN_PROGRESS", waits: map[string]*heat.Deployment{}, changed: make(chan struct{}, 1000)}
}

// wait lets Heat wait for a server.
func (c *cloud) wait(id, config string, servers ...contract.HeatServer) {
	text, _ := json.Marshal(servers)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits[id] = &heat.Deployment{ID: id, Config: config, Status: "IN_PROGRESS", Created: heat.Time{Time: noon}, Inputs: map[string]json.RawMessage{
		"hotc": json.RawMessage(`{"format":1,"deployment":"blog","wait":"hotc_done"}`), "servers": text}}
}

func (c *cloud) Stack(context.Context, string) (*heat.Stack, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &heat.Stack{Name: "blog", ID: "stack-1", State: c.state, Reason: c.reason, Updated: heat.Time{Time: c.updated}}, c.down
}

func (c *cloud) Deployments(_ context.Context, server string) ([]heat.Deployment, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks++; c.down != nil || server != "stack-1" {
		return nil, c.down
	}
	var all []heat.Deployment
	for _, d := range c.waits {
		all = append(all, *d)
	}
	if c.seen != nil {
		c.seen(c)
	}
	return all, nil
}

func (c *cloud) Definition(context.Context, *heat.Stack) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return json.RawMessage(`{"resources":` + c.names + `}`), nil
}

func (c *cloud) Resources(context.Context, string, string, int) ([]heat.Resource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []heat.Resource
	for _, id := range c.has {
		all = append(all, heat.Resource{ID: id, StackID: "stack-1"})
	}
	return append(all, c.handles...), nil
}

func (c *cloud) Signals(_ context.Context, _, stack, handle string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.signals[stack+" "+handle]), nil
}

// Signal takes it, but for the first of each, which Heat answers and drops.
func (c *cloud) Signal(_ context.Context, _, stack, handle string, data any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := json.Marshal(data)
	c.ends = append(c.ends, stack+" "+handle+" "+string(text))
	if there := c.signals[stack+" "+handle]; there != nil {
		there[data.(signal.Signal).ID] = string(data.(signal.Signal).Status)
		return nil
	}
	c.signals[stack+" "+handle] = map[string]string{}
	return nil
}

func (c *cloud) EndDeployment(_ context.Context, id string, end heat.DeploymentEnd) (*heat.Deployment, error) {
	if c.before != nil {
		c.before()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return nil, c.down
	}
	text, _ := json.Marshal(end.Outputs)
	c.ends = append(c.ends, fmt.Sprintf("%s %s %s %s", id, end.Status, end.Reason, text))
	d := c.waits[id]
	for name, value := range end.Outputs {
		text, _ := json.Marshal(value)
		d.Outputs = map[string]json.RawMessage{name: text}
	}
	if end.Status == "" { // output values alone
		c.changed <- struct{}{}
		now := *d
		return &now, nil
	}
	d.Status, d.Reason = end.Status, end.Reason
	if c.state = "CREATE_IN_PROGRESS"; end.Status != "IN_PROGRESS" {
		c.state = heat.State("CREATE_" + end.Status)
	}
	c.changed <- struct{}{}
	now := *d
	return &now, nil
}

func (c *cloud) Events(_ context.Context, _, _, marker string, _ int) ([]heat.Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.events, func(e heat.Event) bool { return e.ID == marker })
	return slices.Clone(c.events[at+1:]), nil
}

func (c *cloud) Properties(context.Context, heat.Event) (json.RawMessage, error) {
	return json.RawMessage(`{"user_data": "/etc/hotc/boot.json"}`), nil
}

func (c *cloud) ClearHook(_ context.Context, e heat.Event, hook string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cleared = append(c.cleared, e.Physical+" "+hook)
	return nil
}

func (c *cloud) looked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

func (c *cloud) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.ends...)
}

// world is a deployment in a coordinator, and a cloud.
type world struct {
	*cloud
	t      *testing.T
	tree   *memory.Tree
	secret protocol.Secret
	plan   *contract.Plan
}

func newWorld(t *testing.T, change ...func(*contract.Plan)) *world {
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{newCloud(), t, memory.New(), secret, site()}
	w.plan.Servers = w.plan.Servers[:1]
	for _, name := range []contract.CellName{"db.mysql:endpoint", "db.mysql:own", "db.mysql", "db.backup"} {
		w.plan.Cells = append(w.plan.Cells, contract.Cell{Name: name, Server: "db", Role: "mysql"})
	}
	for _, c := range change {
		c(w.plan)
	}
	w.publish()
	return w
}

func (w *world) publish() {
	w.t.Helper()
	w.plan.Derive()
	text, _ := json.Marshal(w.plan)
	_, err := deploy.Publish(w.t.Context(), w.tree.Open(w.secret.Operator(blog)), deploy.Publication{Deployment: blog, Secret: w.secret, Plan: w.plan, JSON: text, Now: noon})
	if err != nil {
		w.t.Fatal(err)
	}
}

// machine is a server's agent, on a machine that Heat has.
func (w *world) machine(instance string) *member.Session {
	w.t.Helper()
	w.mu.Lock()
	w.has = append(w.has, instance)
	w.mu.Unlock()
	s, err := w.enrol(w.t.Context(), instance, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// enrol lets a machine become the server, which it was as a number before.
func (w *world) enrol(ctx context.Context, instance string, was int) (*member.Session, error) {
	token := w.secret.ServerToken(blog, "db")
	m := member.Join(w.tree.Open(protocol.ServerCredential("db", token)), blog, "db", token)
	if _, err := m.Plan(ctx); err != nil {
		return nil, err
	}
	m.RememberTries(was, func(int) error { return nil })
	return m.Enrol(ctx, "journal-"+instance, instance, was > 0, noon)
}

// report lets the agent of a machine say how its roles stand.
func (w *world) report(m *member.Session, roles string) {
	w.t.Helper()
	state := ran(w.plan, "db", "", roles).State
	state.Phase = protocol.PhaseRunning
	if err := m.Report(w.t.Context(), state, nil); err != nil {
		w.t.Fatal(err)
	}
}

// relay runs one until the test ends, or it does; its error comes by the channel.
func (w *world) relay(ctx context.Context, name string, change func(*Relay)) <-chan error {
	key, err := w.secret.Relay(blog)
	if err != nil {
		w.t.Fatal(err)
	}
	key, err = protocol.ParseRelayKey(key.File()) // as one that has no secret
	if err != nil {
		w.t.Fatal(err)
	}
	r := &Relay{Heat: w.cloud, Store: w.tree.Open(key.Credential()), Key: key, Name: name, Every: time.Millisecond, Say: func(text string) { w.t.Log(name + ": " + text) }}
	if change != nil {
		change(r)
	}
	ended, gone := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(gone)
		ended <- r.Run(ctx)
	}()
	w.t.Cleanup(func() { <-gone }) // it logs
	return ended
}

func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	for !is() {
		select {
		case <-w.t.Context().Done():
			w.t.Fatalf("the test ended before %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// Two relays, one of which is killed in the middle, tell Heat once the roles are done, with
// what it reads; one that only waits for that ends.
func TestRelays(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	first, kill := context.WithCancel(t.Context())
	killed := w.relay(first, "first", nil)
	once := w.relay(t.Context(), "once", func(r *Relay) { r.Once = true })
	m := w.machine("id-1")
	w.report(m, "mysql=running")
	kill()
	<-killed
	for name, value := range map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`} {
		if err := m.Put(t.Context(), name, json.RawMessage(value), noon); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.said()) > 0 {
		t.Fatalf("too early: %q", w.said())
	}
	w.report(m, "mysql=done backup=done")
	if err := <-once; err != nil {
		t.Error(err)
	}
	if got := w.said(); len(got) != 1 || got[0] != `w1 COMPLETE all roles are done {"show":{"db":{"url":"http://db"}}}` {
		t.Errorf("Heat was told %q", got)
	}
}

// An output that a changed plan has added is written by a hook that may come after Heat's wait.
func TestAValueThatIsStillToBeWritten(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	m := w.machine("id-1")
	w.report(m, "mysql=done backup=done")
	var reason atomic.Value
	once := w.relay(t.Context(), "once", func(r *Relay) {
		r.Once = true
		r.Told = func(now protocol.HeatRecord) {
			for _, wait := range now.Waits {
				reason.Store(wait.Reason)
			}
		}
	})
	w.until("the relay to wait for the value", func() bool {
		return reason.Load() == "db.mysql:endpoint is not written yet" || len(w.said()) > 0
	})
	if len(w.said()) > 0 {
		t.Errorf("too early: %q", w.said())
	}
	if err := m.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"http://db"`), noon); err != nil {
		t.Fatal(err)
	}
	if err := <-once; err != nil || len(w.said()) != 1 {
		t.Errorf("%v; Heat was told %q", err, w.said())
	}
}

// One that only waits for the end ends with a stack that somebody deletes. Heat says for a moment
// that it was cancelled, when somebody deletes it or gives it something else: that is not its end.
func TestAStackThatSomebodyDeletes(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	w.seen = func(c *cloud) { // what the next look finds
		switch c.looks {
		case 1:
			c.waits["w1"].Status, c.state, c.reason = "FAILED", "UPDATE_FAILED", "Stack UPDATE cancelled"
		case 3:
			c.state, c.reason = "DELETE_IN_PROGRESS", ""
		case 4:
			c.down = heat.ErrNotFound
		}
	}
	once := w.relay(t.Context(), "once", func(r *Relay) { r.Once = true })
	if err := <-once; !errors.Is(err, ErrGone) {
		t.Error(err)
	}
}

// The failure of a role fails the stack with its place; the update that mends it waits for the
// machine that takes over.
func TestFailureAndUpdate(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	w.report(w.machine("id-1"), "mysql=failed")
	if err := <-w.relay(t.Context(), "once", func(r *Relay) { r.Once = true }); !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
	w.wait("w2", "c2", contract.HeatServer{Server: "db", ID: "id-2"})
	w.state = "UPDATE_IN_PROGRESS"
	w.relay(t.Context(), "relay", nil)
	m := w.machine("id-2")
	for _, name := range []contract.CellName{"db.mysql:endpoint", "db.mysql:own"} {
		if err := m.Put(t.Context(), name, json.RawMessage(`1`), noon); err != nil {
			t.Fatal(err)
		}
	}
	w.report(m, "mysql=done backup=done")
	w.until("Heat was told", func() bool { return len(w.said()) == 2 })
	if got := w.said(); got[0] != "w1 FAILED db.mysql: exit status 3 (site.yaml:5:9); once the cause is fixed: hotc retry NAME db.mysql null" || !strings.HasPrefix(got[1], "w2 COMPLETE all roles are done") {
		t.Errorf("Heat was told %q", got)
	}
}

// Where Heat begins to wait for another machine just as it is told, it goes on waiting.
func TestOvertaken(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	w.report(w.machine("id-1"), "mysql=failed")
	var overtake sync.Once
	w.before = func() {
		overtake.Do(func() { w.wait("w1", "c2", contract.HeatServer{Server: "db", ID: "id-2"}) })
	}
	w.relay(t.Context(), "relay", nil)
	w.until("it is put back", func() bool { return len(w.said()) == 2 })
	if got := w.said()[1]; !strings.HasPrefix(got, "w1 IN_PROGRESS") {
		t.Errorf("Heat was told %q", got)
	}
	w.report(w.machine("id-2"), "mysql=failed")
	w.until("the other one has failed", func() bool { return len(w.said()) == 3 })
}

// An update comes over one that waits for a machine which never comes: Heat goes on, though the
// resource that waited first was replaced, and though the machine that came for it has failed.
func TestSupersededWaitEnds(t *testing.T) {
	for _, roles := range []string{"", "mysql=failed"} {
		w := newWorld(t)
		w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
		w.wait("w2", "c2", contract.HeatServer{Server: "db", ID: "id-2"})
		w.waits["w1"].Created.Time, w.waits["w2"].Created.Time = noon, noon.Add(time.Second)
		if roles != "" {
			w.report(w.machine("id-1"), roles)
		}
		w.relay(t.Context(), "relay", nil)
		w.until("the superseded wait has ended", func() bool { return len(w.said()) == 1 })
		if got := w.said()[0]; got != "w1 COMPLETE superseded: another update has overtaken the one that waited null" {
			t.Errorf("Heat was told %q", got)
		}
		w.report(w.machine("id-2"), "mysql=failed")
		w.until("Heat was told of the newest", func() bool { return len(w.said()) == 2 })
		if got := w.said()[1]; !strings.HasPrefix(got, "w2 FAILED db.mysql: exit status 3") {
			t.Errorf("Heat was told %q", got)
		}
	}
}

// Heat waits for a machine which an update over the one that waits has replaced, or taken out:
// whatever has become of that machine, the wait ends well. Where Heat still has the machine, or
// nothing was updated since, it is waited for, and its failure told.
func TestUpdateOverAWait(t *testing.T) {
	for name, c := range map[string]struct {
		updated time.Time
		has     []string
		names   string
		roles   string // of the machine that is waited for; "" is that another one is the server
		want    string
		role    string // that is waited for; "" is all
	}{
		"the role's wait taken out":      {noon.Add(time.Minute), []string{"id-1"}, `{"db":{},"hotc_done":{"type":"OS::Heat::SoftwareDeployment"}}`, "mysql=failed", "w1 COMPLETE superseded", "mysql"},
		"another role's wait taken out":  {noon.Add(time.Minute), []string{"id-1"}, `{"db":{},"hotc_done":{"type":"OS::Heat::SoftwareDeployment"}}`, "mysql=done backup=done", "w1 COMPLETE superseded", "backup"},
		"no relay is meant to tell Heat": {noon.Add(time.Minute), []string{"id-1"}, `{"db":{},"hotc_done":{"type":"OS::Heat::WaitCondition"}}`, "mysql=failed", "w1 COMPLETE superseded", ""},
		"replaced":                       {noon.Add(time.Minute), []string{"id-2"}, `{"db":{},"hotc_done":{"type":"OS::Heat::SoftwareDeployment"}}`, "", "w1 COMPLETE superseded", ""},
		"replaced, and it failed":        {noon.Add(time.Minute), []string{"id-2"}, `{"db":{},"hotc_done":{"type":"OS::Heat::SoftwareDeployment"}}`, "mysql=failed", "w1 COMPLETE superseded", ""},
		"taken out":                      {noon.Add(time.Minute), []string{"id-1"}, `{"hotc_done":{"type":"OS::Heat::SoftwareDeployment"}}`, "", "w1 COMPLETE superseded", ""},
		"failed in an update before":     {noon.Add(-time.Minute), []string{"id-2"}, `{"db":{},"hotc_done":{"type":"OS::Heat::SoftwareDeployment"}}`, "mysql=failed", "w1 FAILED", ""},
		"failed, and Heat has it":        {noon.Add(time.Minute), []string{"id-1"}, `{"db":{},"hotc_done":{"type":"OS::Heat::SoftwareDeployment"}}`, "mysql=failed", "w1 FAILED", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
			w.waits["w1"].Created.Time = noon
			if c.role != "" {
				w.waits["w1"].Inputs["hotc"] = json.RawMessage(`{"format":1,"deployment":"blog","wait":"hotc_done_db.` + c.role + `","role":"` + c.role + `"}`)
			}
			w.updated, w.has, w.names, w.state = c.updated, c.has, c.names, "UPDATE_IN_PROGRESS"
			if c.roles == "" {
				w.report(w.machine("id-2"), "")
			} else {
				w.report(w.machine("id-1"), c.roles)
				w.has = c.has
			}
			w.relay(t.Context(), "relay", nil)
			w.until("Heat was told", func() bool { return len(w.said()) == 1 })
			if got := w.said()[0]; !strings.HasPrefix(got, c.want) {
				t.Errorf("Heat was told %q", got)
			}
		})
	}
}

// An outage of Heat's is lived through, and said where people look.
func TestHeatIsDown(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	w.down = errors.New("no answer from Heat")
	told := make(chan protocol.HeatRecord, 100_000)
	w.relay(t.Context(), "relay", func(r *Relay) { r.Told = func(x protocol.HeatRecord) { told <- x } })
	w.until("it is said", func() bool { return (<-told).Trouble == "no answer from Heat" })
	w.report(w.machine("id-1"), "mysql=failed")
	w.mu.Lock()
	w.down = nil
	w.mu.Unlock()
	w.until("Heat was told", func() bool { return len(w.said()) == 1 })
	w.until("the trouble is over", func() bool { return (<-told).Trouble == "" })
}

// A plan that changes is read again: a role is done when it is what the plan has become.
func TestChangedPlan(t *testing.T) {
	w := newWorld(t)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	m := w.machine("id-1")
	w.relay(t.Context(), "relay", nil)
	w.report(m, "mysql=running backup=done")
	backup := &w.plan.Servers[0].Roles[1]
	backup.Source, backup.Hooks = json.RawMessage(`{"text":"false"}`), []contract.Task{{Name: contract.HookUpdate, Source: json.RawMessage(`{"text":"true"}`)}}
	w.publish()
	for _, name := range []contract.CellName{"db.mysql:endpoint", "db.mysql:own"} {
		if err := m.Put(t.Context(), name, json.RawMessage(`1`), noon); err != nil {
			t.Fatal(err)
		}
	}
	w.report(m, "mysql=done backup=old")
	w.report(m, "mysql=done backup=done")
	w.until("Heat was told", func() bool { return len(w.said()) == 1 })
}

// Credentials that Heat refuses at first end a relay. One that was served goes on, and asks
// seldom: a role may be given back.
func TestHeatRefuses(t *testing.T) {
	w := newWorld(t)
	refusal := fmt.Errorf("%w: no role", heat.ErrForbidden)
	set := func(err error) (looks int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.down = err
		return w.looks
	}
	set(refusal)
	if err := <-w.relay(t.Context(), "never served", nil); !errors.Is(err, heat.ErrForbidden) {
		t.Error(err)
	}
	set(nil)
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	told := make(chan protocol.HeatRecord, 100_000)
	start := func(name string, every time.Duration) {
		ctx, stop := context.WithCancel(t.Context())
		ended := w.relay(ctx, name, func(r *Relay) {
			r.Every, r.Told = every, func(x protocol.HeatRecord) { told <- x }
		})
		t.Cleanup(func() {
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		})
		w.until(name+" was served", func() bool { x := <-told; return len(x.Waits) == 1 && x.Trouble == "" })
	}
	start("seldom", time.Hour)
	set(refusal)
	m := w.machine("id-1")
	w.report(m, "mysql=failed")
	w.until("it is refused", func() bool { return (<-told).Trouble != "" })
	before := set(refusal)
	for range 20 { // which are no reason to ask
		for len(told) > 0 {
			<-told
		}
		w.report(m, "mysql=running")
		w.report(m, "mysql=failed")
		<-told
	}
	if asked := set(nil) - before; asked != 0 {
		t.Errorf("Heat refused, and was asked %d times", asked)
	}
	w.report(m, "mysql=running")
	start("often", time.Millisecond)
	set(refusal)
	w.until("it is refused", func() bool { return (<-told).Trouble != "" })
	set(nil)
	w.report(m, "mysql=failed")
	w.until("Heat was told", func() bool { return len(w.said()) == 1 })
}

// A wait that is ended at the first look at it is written down, though nothing else has become of
// it than what was written before: who reads the record tells by its age whom a relay has seen.
func TestAWaitEndedAtOnceIsWrittenDown(t *testing.T) {
	w := newWorld(t)
	m := w.machine("id-1")
	for _, name := range []contract.CellName{"db.mysql:endpoint", "db.mysql:own"} {
		if err := m.Put(t.Context(), name, json.RawMessage(`1`), noon); err != nil {
			t.Fatal(err)
		}
	}
	w.report(m, "mysql=done backup=done")
	w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
	w.relay(t.Context(), "relay", func(r *Relay) { r.Every = 5 * time.Millisecond })
	written := func() store.Version {
		version, _, err := w.tree.Open(w.secret.Operator(blog)).Stat(t.Context(), blog.Heat())
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	w.until("Heat was told", func() bool { return len(w.said()) == 1 })
	before := store.Version(0)
	w.until("that is written down", func() bool { was := before; before = written(); return was > 0 && was == before })
	w.wait("w1", "c2", contract.HeatServer{Server: "db", ID: "id-1"})
	w.until("Heat was told again", func() bool { return len(w.said()) == 2 })
	w.until("that is written down", func() bool { return written() > before })
}

// A group has a wait for each of its members: written down are those that tell something.
func TestManyWaitsAreWrittenDown(t *testing.T) {
	var all []wait
	for i := range 1000 {
		x := wait{Deployment: heat.Deployment{ID: fmt.Sprint(i), Status: "COMPLETE"}}
		if i%100 == 50 {
			x.Status = "IN_PROGRESS"
		}
		if i == 999 {
			x.Status = "FAILED"
		}
		all = append(all, x)
	}
	got := mostTelling(all)
	if len(got) != mostWaits || got[0].ID != "999" || got[1].ID != "50" || got[10].ID != "950" || got[11].ID != "0" {
		t.Errorf("%d waits: %+v", len(got), got[:12])
	}
}

// A relay says of a deployment that is gone something else than of one that is still to come.
func TestDeploymentComesAndGoes(t *testing.T) {
	w := newWorld(t)
	destroy := func() {
		t.Helper()
		if err := deploy.Destroy(t.Context(), w.tree.Open(w.secret.Operator(blog)), blog); err != nil {
			t.Fatal(err)
		}
	}
	destroy()
	said := make(chan string, 64)
	w.relay(t.Context(), "relay", func(r *Relay) { r.Say = func(text string) { said <- text } })
	if text := <-said; text != "the deployment does not exist yet" {
		t.Errorf("it says %q", text)
	}
	w.publish()
	w.until("the relay has come", func() bool { return w.looked() > 0 })
	destroy()
	if text := <-said; text != "the deployment is gone" {
		t.Errorf("it says %q", text)
	}
}

// What ends well is told at once, as Heat was seen last: its next look would be an hour from
// now. A failure is told after a look, since an update may have come over the wait; so is what
// another relay may have ended meanwhile.
func TestTellWithoutAnotherLook(t *testing.T) {
	for name, c := range map[string]struct {
		roles  string
		relays int
		looks  int // of one relay, before Heat is told
	}{
		"done":                 {"mysql=done backup=done", 1, 1},
		"failed":               {"mysql=failed", 1, 2},
		"done, and two relays": {"mysql=done backup=done", 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1"})
			m := w.machine("id-1")
			for cell, value := range map[contract.CellName]string{"db.mysql:endpoint": `"http://db"`, "db.mysql:own": `1`} {
				if err := m.Put(t.Context(), cell, json.RawMessage(value), noon); err != nil {
					t.Fatal(err)
				}
			}
			w.report(m, "mysql=running")
			looks := 0
			w.before = func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				looks = cmp.Or(looks, w.looks)
			}
			for i := range c.relays {
				told := make(chan protocol.HeatRecord, 1000)
				w.relay(t.Context(), fmt.Sprint("relay", i), func(r *Relay) {
					r.Every, r.Told = time.Hour, func(x protocol.HeatRecord) { told <- x }
				})
				w.until("the relay knows of the role", func() bool {
					x := <-told
					return len(x.Waits) == 1 && strings.Contains(x.Waits[0].Reason, "running")
				})
			}
			w.report(m, c.roles)
			w.until("Heat was told", func() bool { return len(w.said()) > 0 })
			w.mu.Lock()
			defer w.mu.Unlock()
			if looks < c.looks || c.relays == 1 && looks > c.looks {
				t.Errorf("Heat was told after %d looks, want %d", looks, c.looks)
			}
		})
	}
}
