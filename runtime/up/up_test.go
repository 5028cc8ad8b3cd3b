package up

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// cloud plays Heat: a stack that moves on by one state per poll.
type cloud struct {
	stack  *heat.Stack
	states []heat.State // which it passes through
	events []heat.Event
	asked  []string
	// createErr is what a creation returns, though it has taken effect if arrives is set.
	createErr error
	arrives   bool
	away      int // polls that are not answered
	// bare is a stack without resources, for which Heat lists no events, nested or its own.
	bare bool
	// definition is the template that the stack has, files are those of nested stacks by id.
	definition string
	files      map[string]map[string]string
	kept       map[string]string // what the last update brought along
	looked     func()
	// told are the signals that a handle holds, poll by poll.
	told []map[string]string
	has  []heat.Resource
	// foreseen are the servers that an update changes without replacing them.
	foreseen []string
	sees     heat.Changes // what an update would do
}

var _ Cloud = &heat.Client{}

func (c *cloud) Stack(context.Context, string) (*heat.Stack, error) {
	if c.stack == nil || c.stack.State == "DELETE_COMPLETE" {
		return nil, heat.ErrNotFound
	}
	copied := *c.stack
	return &copied, nil
}

func (c *cloud) StackAt(ctx context.Context, name, _ string) (*heat.Stack, error) {
	if c.away > 0 {
		c.away--
		return nil, heat.ErrUnreachable
	}
	if c.looked != nil {
		c.looked()
	}
	if c.stack == nil {
		return nil, heat.ErrNotFound
	}
	if len(c.states) > 0 {
		c.stack.State, c.states = c.states[0], c.states[1:]
		c.events = append(c.events, heat.Event{ID: string(c.stack.State) + time.Now().String(), Name: name, State: c.stack.State})
	}
	copied := *c.stack
	return &copied, nil
}

func (c *cloud) Create(_ context.Context, name string, _ *heat.Template, o heat.StackOptions) (string, error) {
	c.asked = append(c.asked, "create")
	if c.createErr != nil && !c.arrives {
		return "", c.createErr
	}
	c.stack = &heat.Stack{Name: name, ID: "new", State: "CREATE_IN_PROGRESS", Tags: o.Tags}
	return "new", c.createErr
}

func (c *cloud) Update(_ context.Context, _ *heat.Stack, _ *heat.Template, o heat.StackOptions) error {
	c.asked = append(c.asked, "update")
	c.stack.Tags, c.kept = o.Tags, o.Kept
	return nil
}

func (c *cloud) Preview(context.Context, *heat.Stack, *heat.Template, heat.StackOptions, bool) (*heat.Changes, error) {
	seen := c.sees
	for _, name := range c.foreseen {
		seen.Updated = append(seen.Updated, heat.Change{Name: name})
	}
	return &seen, nil
}

func (c *cloud) Definition(context.Context, *heat.Stack) (json.RawMessage, error) {
	return json.RawMessage(cmp.Or(c.definition, "{}")), nil
}

func (c *cloud) Files(_ context.Context, s *heat.Stack) (map[string]string, error) {
	return c.files[s.ID], nil
}

func (c *cloud) Delete(context.Context, *heat.Stack) error {
	c.asked = append(c.asked, "delete")
	return nil
}

func (c *cloud) Resources(context.Context, string, string, int) ([]heat.Resource, error) {
	if c.has != nil {
		return c.has, nil
	}
	return []heat.Resource{
		{Name: contract.DoneHandle, ID: "h", Type: heat.HandleType, StackID: "new"},
		{Name: "group", State: "CREATE_FAILED", StackID: "new", NestedID: "g"},
		{Name: "db", State: "CREATE_FAILED", StackID: "g"},
		{Name: "fine", ID: "5f0c2d6e-1111-4222-8333-444444444444", State: "CREATE_COMPLETE", StackID: "g"},
	}, nil
}

func (c *cloud) Signals(context.Context, string, string, string) (now map[string]string, err error) {
	if len(c.told) > 0 {
		c.asked = append(c.asked, "signals")
		now, c.told = c.told[0], c.told[1:]
	}
	return now, nil
}

func (c *cloud) Events(_ context.Context, _, _, marker string, depth int) ([]heat.Event, error) {
	if c.bare && depth > 0 {
		return nil, nil
	}
	at := slices.IndexFunc(c.events, func(e heat.Event) bool { return e.ID == marker })
	return slices.Clone(c.events[at+1:]), nil
}

// Properties are those of a server with an agent, but of a volume.
func (c *cloud) Properties(_ context.Context, e heat.Event) (json.RawMessage, error) {
	if e.Name == "volume" {
		return json.RawMessage(`{"size": 1}`), nil
	}
	return json.RawMessage(`{"user_data": "/etc/hotc/boot.json"}`), nil
}

func (c *cloud) ClearHook(_ context.Context, e heat.Event, _ string) error {
	c.asked = append(c.asked, strings.TrimSpace("clear "+e.Name+" "+e.StackID))
	return nil
}

// deployment plays the coordinator's side.
type deployment struct {
	outcome deploy.Outcome
	changes []deploy.RoleChange
	there   bool
	servers []*status.Server
	taken   bool // another plan is published right after ours
	// plan is the published one, heard what a relay has found at a poll of Heat.
	plan  *contract.Plan
	heard func() []protocol.HeatWait
	asked []string
	again []contract.RoleKey // run again
	holds bool               // it is locked for this command
	parts error              // of Part
}

func (d *deployment) Hold(context.Context) (bool, error) { return d.holds, nil }
func (d *deployment) Rehearse(context.Context) (deploy.Outcome, []deploy.RoleChange, error) {
	return d.outcome, d.changes, nil
}
func (d *deployment) Publish(context.Context) error {
	d.asked = append(d.asked, "publish")
	d.there = true
	return nil
}
func (d *deployment) Status(context.Context) (*status.Status, error) {
	if !d.there {
		return nil, nil
	}
	if d.taken && slices.Contains(d.asked, "publish") {
		return nil, ErrTakenOver
	}
	v := &status.Status{Plan: d.plan, Servers: d.servers, ByPath: map[contract.ServerPath]*status.Server{}}
	for _, s := range d.servers {
		v.ByPath[s.Path] = s
	}
	if d.heard != nil {
		v.Heat.Waits = d.heard()
	}
	return v, nil
}
func (d *deployment) Watch(context.Context, *contract.Plan) (<-chan store.Path, error) {
	return nil, nil
}
func (d *deployment) Again(context.Context, *status.Status) ([]contract.RoleKey, error) {
	return d.again, nil
}
func (d *deployment) Part(_ context.Context, roles []contract.RoleKey) error {
	d.asked = append(d.asked, "part "+lists.Join(roles))
	return d.parts
}
func (d *deployment) Hooks(_ context.Context, v *status.Status) error {
	d.asked = append(d.asked, "hooks")
	for _, s := range v.Servers {
		if !s.Absent() {
			d.asked = append(d.asked, "of "+string(s.Path))
		}
	}
	return nil
}
func (d *deployment) Destroy(context.Context) error {
	d.asked = append(d.asked, "destroy")
	return nil
}

// view records what it is told.
type view struct {
	said   []string
	events []string
	no     error
}

func (v *view) Say(text string)       { v.said = append(v.said, text) }
func (v *view) Event(e heat.Event)    { v.events = append(v.events, e.ID) }
func (v *view) Known(*status.Status)  {}
func (v *view) Roles(*status.Status)  {}
func (v *view) Confirm(Changes) error { v.said = append(v.said, "confirm"); return v.no }

func begin(t *testing.T, c *cloud, d *deployment) (*Up, *view) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(path, []byte("heat_template_version: 2018-08-31\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	template, err := heat.ReadTemplate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	v := &view{}
	return &Up{Cloud: c, Deployment: d, View: v, Name: "s", Template: template, Key: []byte("k"), Look: time.Millisecond}, v
}

func TestAnAnswerThatWasLostIsNoSecondCreation(t *testing.T) {
	c, d := &cloud{createErr: heat.ErrUnreachable, arrives: true, states: []heat.State{"CREATE_IN_PROGRESS", "CREATE_COMPLETE"}}, &deployment{outcome: deploy.Created}
	u, _ := begin(t, c, d)
	if r, err := u.Run(t.Context()); err != nil || !r.OK() || len(c.asked) != 1 {
		t.Errorf("%v, %v", err, c.asked)
	}
	c = &cloud{createErr: heat.ErrUnreachable}
	u, _ = begin(t, c, d)
	if _, err := u.Run(t.Context()); !errors.Is(err, heat.ErrUnreachable) {
		t.Errorf("a creation that did not arrive: %v", err)
	}
	c = &cloud{createErr: heat.ErrExists, arrives: true, states: []heat.State{"CREATE_COMPLETE"}} // by another user
	u, _ = begin(t, c, d)
	if r, err := u.Run(t.Context()); err != nil || !r.OK() {
		t.Errorf("%v", err)
	}
}

func TestADeletionIsWaitedForAndTheStackMadeAnew(t *testing.T) {
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "old", State: "DELETE_IN_PROGRESS"}, states: []heat.State{"DELETE_IN_PROGRESS", "DELETE_COMPLETE", "CREATE_COMPLETE"}}
	u, v := begin(t, c, &deployment{outcome: deploy.Created})
	if r, err := u.Run(t.Context()); err != nil || !r.OK() || r.Stack.ID != "new" {
		t.Errorf("%v: %v", err, v.said)
	}
	c = &cloud{stack: &heat.Stack{Name: "s", State: "DELETE_FAILED", Reason: "a volume is attached"}}
	u, _ = begin(t, c, &deployment{})
	if _, err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a volume is attached") || len(c.asked) > 0 {
		t.Errorf("%v, %v", err, c.asked)
	}
}

func TestAnUpdateWaitsForWhatHeatIsAt(t *testing.T) {
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_IN_PROGRESS", Tags: []string{"mine", "hotc-other"}}, states: []heat.State{"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"}}
	d := &deployment{outcome: deploy.Updated, there: true}
	u, v := begin(t, c, d)
	if r, err := u.Run(t.Context()); err != nil || !r.OK() || len(c.states) > 0 {
		t.Errorf("%v, left: %v", err, c.states)
	}
	if !slices.Contains(v.said, "confirm") || !slices.Equal(c.asked, []string{"update"}) || len(c.stack.Tags) != 2 || c.stack.Tags[0] != "mine" || c.stack.Tags[1] == "hotc-other" {
		t.Errorf("%v, %v, %v", v.said, c.asked, c.stack.Tags)
	}
	u, v = begin(t, c, d)
	v.no = errors.New("no")
	c.stack.Tags, d.asked = nil, nil
	if _, err := u.Run(t.Context()); err == nil || len(d.asked) > 0 {
		t.Errorf("after a no: %v, %v", err, d.asked)
	}
}

// With a relay, which ends what is superseded, Heat gets the update at once: what it is doing may
// never finish. The end of that is not taken for the update's end.
func TestAnUpdateTakesOverWithARelay(t *testing.T) {
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "CREATE_IN_PROGRESS", Tags: []string{"hotc-other"}}, states: []heat.State{"CREATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"}}
	u, v := begin(t, c, &deployment{outcome: deploy.Updated, there: true})
	u.TakesOver, u.Relay = true, func(ctx context.Context) error { <-ctx.Done(); return nil }
	r, err := u.Run(t.Context())
	if err != nil || !r.OK() || r.Stack.State != "UPDATE_COMPLETE" || len(c.states) > 0 || !slices.Equal(c.asked, []string{"update"}) {
		t.Errorf("%v, %v, left: %v", err, c.asked, c.states)
	}
	if !slices.Contains(v.said, "Heat is busy with another operation (CREATE_IN_PROGRESS): this update takes over") {
		t.Errorf("%v", v.said)
	}
}

// A relay that only signals Heat for some servers ends nothing that is superseded: Heat finishes
// first.
func TestAnUpdateFollowsWhereAgentsTellHeat(t *testing.T) {
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "CREATE_IN_PROGRESS", Tags: []string{"hotc-other"}}, states: []heat.State{"CREATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"}}
	u, v := begin(t, c, &deployment{outcome: deploy.Updated, there: true})
	u.Relay = func(ctx context.Context) error { <-ctx.Done(); return nil }
	if r, err := u.Run(t.Context()); err != nil || !r.OK() || !slices.Contains(v.said, "Heat is busy with another operation (CREATE_IN_PROGRESS): this update follows") {
		t.Errorf("%v: %v", err, v.said)
	}
}

// A fixed failure stays in its handle until the agent, or the relay, has signalled Heat: an update
// would fail with it. What has failed again is not waited for.
func TestAnUpdateWaitsUntilHeatHasHeard(t *testing.T) {
	server := func(path contract.ServerPath, is protocol.RoleStatus) *status.Server {
		s := &status.Server{ServerSnapshot: deploy.ServerSnapshot{Path: path, Incarnation: protocol.IncarnationRecord{Number: 1}}}
		s.Roles = []*status.Role{{RoleState: protocol.RoleState{Name: "r", Status: is}, Server: s,
			Plan: &contract.Role{Name: "r", Signals: []contract.Signal{{Handle: "hotc_handle_x", ID: "id of " + string(path)}}}}}
		return s
	}
	failed := map[string]string{"db": "SUCCESS", "id of db": "FAILURE", "web": "FAILURE"}
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_FAILED"}, states: []heat.State{"UPDATE_IN_PROGRESS", "UPDATE_FAILED"},
		told: []map[string]string{failed, failed, {"db": "SUCCESS", "id of db": "SUCCESS", "web": "FAILURE"}}}
	u, v := begin(t, c, &deployment{outcome: deploy.Updated, there: true, servers: []*status.Server{server("db", protocol.RoleDone), server("web", protocol.RoleFailed)}})
	u.Relay = func(ctx context.Context) error { <-ctx.Done(); return nil }
	if _, err := u.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.asked, []string{"signals", "signals", "signals", "update"}) || !slices.Contains(v.said, "Telling Heat that all roles are done on id of db") {
		t.Errorf("%v, %q", c.asked, v.said)
	}
}

// Where agents signal Heat, Heat does not wait for a server that it rebuilds: its roles are done on
// a disk that is gone.
func TestAnUpdateWaitsForRebuiltServers(t *testing.T) {
	const site = `{"heat_template_version": "2018-08-31", "resources": {"db": {"type": "OS::Nova::Server", "properties": {"image": "%s"}}, "web": {"type": "OS::Nova::Server", "properties": {"flavor": "%s"}}}}`
	server := func(path contract.ServerPath, instance string, incarnation int) *status.Server {
		s := &status.Server{ServerSnapshot: deploy.ServerSnapshot{Path: path, Alive: true, Incarnation: protocol.IncarnationRecord{Number: incarnation, Instance: instance}}}
		s.State = protocol.ServerState{Incarnation: incarnation, Phase: protocol.PhaseDone}
		s.Roles = []*status.Role{{RoleState: protocol.RoleState{Name: "r", Status: protocol.RoleDone}, Server: s, Plan: &contract.Role{Name: "r"}}}
		return s
	}
	looks := 0
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_COMPLETE"}, states: []heat.State{"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"}, foreseen: []string{"db", "web"}, definition: fmt.Sprintf(site, "one", "small"),
		has: []heat.Resource{{Name: "db", ID: "id-db", StackID: "id"}, {Name: "web", ID: "id-web", StackID: "id"}}}
	d := &deployment{outcome: deploy.Unchanged, there: true, servers: []*status.Server{server("db", "id-db", 4), server("web", "id-web", 1)}}
	c.looked = func() {
		if looks++; looks == 5 {
			d.servers = []*status.Server{server("db", "id-db", 5), server("web", "id-web", 1)}
		}
	}
	u, v := begin(t, c, d)
	dir := t.TempDir()
	write(t, dir, map[string]string{"t.yaml": fmt.Sprintf(site, "two", "large")})
	template, err := heat.ReadTemplate(t.Context(), filepath.Join(dir, "t.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u.Template, u.Plan = template, &contract.Plan{}
	r, err := u.Run(t.Context())
	if err != nil || !r.OK() {
		t.Fatalf("%v: %q", err, v.said)
	}
	if looks < 5 || !slices.Equal(r.Changes.Rebuilt, []string{"db"}) || !slices.Equal(r.Changes.Resized, []string{"web"}) {
		t.Errorf("it ended after %d looks, %+v", looks, r.Changes)
	}
}

// A run whose stack or deployment another takes over ends, and says so.
func TestTakenOver(t *testing.T) {
	c := &cloud{states: []heat.State{"CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"}}
	c.looked = func() {
		if len(c.states) == 2 {
			c.stack.Tags = []string{"mine", "hotc-another"}
		}
	}
	u, _ := begin(t, c, &deployment{outcome: deploy.Created})
	if _, err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another \"hotc up\" has taken over") {
		t.Errorf("%v", err)
	}
}

// Others change the stack while it is followed, in one poll or another. That is reported, and not
// taken for the end of what was requested.
func TestOthersChangeTheStack(t *testing.T) {
	const inProgress = "UPDATE_IN_PROGRESS"
	with := func(state heat.State, reason string, change func(*heat.Stack)) func(*heat.Stack) {
		return func(s *heat.Stack) {
			if s.State, s.Reason = state, reason; change != nil {
				change(s)
			}
		}
	}
	later := func(s *heat.Stack) { s.Updated.Time = s.Updated.Add(time.Minute) }
	for name, x := range map[string]struct {
		looks            []func(*heat.Stack) // what becomes of the stack, poll by poll
		fails, said      string
		asked            int  // how often Heat is asked for an update
		createsAnd, gone bool // it is a creation; the stack is purged in the end
		holds            bool // the deployment is locked for this command
	}{
		"openstack stack update": {looks: []func(*heat.Stack){with(inProgress, "", nil), with(inProgress, "", func(s *heat.Stack) { s.Tags = nil }), with("UPDATE_COMPLETE", "", nil)},
			fails: "another update has taken over: it changes the stack s to something else", asked: 1},
		"one that came first": {looks: []func(*heat.Stack){with(inProgress, "", func(s *heat.Stack) { s.Tags = []string{"theirs"} }), with("UPDATE_COMPLETE", "", nil)},
			fails: "another update has taken over", asked: 1},
		"openstack stack update --existing": {looks: []func(*heat.Stack){with(inProgress, "", nil), with(inProgress, "", func(s *heat.Stack) { later(s); s.Parameters["size"] = "3" }), with("UPDATE_COMPLETE", "", nil)},
			fails: "it changes the stack s to other values of size", asked: 1},
		"one in the same second": {looks: []func(*heat.Stack){with(inProgress, "", nil), with("UPDATE_COMPLETE", "", func(s *heat.Stack) { s.Parameters["size"] = "3" })},
			fails: "other values of size", asked: 1},
		"the same again": {looks: []func(*heat.Stack){with(inProgress, "", nil), with(inProgress, "", later), with("UPDATE_COMPLETE", "", nil)},
			said: "Another update with the same template has overtaken this one", asked: 1},
		"openstack stack cancel --no-rollback": {looks: []func(*heat.Stack){with(inProgress, "", nil), with("UPDATE_FAILED", "Stack UPDATE cancelled", nil)},
			fails: "another user has cancelled Heat's operation on the stack s (UPDATE_FAILED)", asked: 1},
		"of a creation": {looks: []func(*heat.Stack){with("CREATE_IN_PROGRESS", "", nil), with("CREATE_FAILED", "Stack CREATE cancelled", nil)},
			fails: "another user has cancelled Heat's operation on the stack s (CREATE_FAILED)", createsAnd: true},
		"cancelled, and then something else": {looks: []func(*heat.Stack){with(inProgress, "", nil), with("UPDATE_FAILED", "Stack UPDATE cancelled", nil), with(inProgress, "", func(s *heat.Stack) { s.Tags = []string{"hotc-another"} })},
			fails: "another \"hotc up\" has taken over", asked: 1},
		"cancelled, and then deleted": {looks: []func(*heat.Stack){with(inProgress, "", nil), with("UPDATE_FAILED", "Stack UPDATE cancelled", nil), with("DELETE_IN_PROGRESS", "", nil)},
			fails: "another user has deleted the stack s or is deleting it (DELETE_IN_PROGRESS)", asked: 1},
		"another hotc up that came too late": {looks: []func(*heat.Stack){with(inProgress, "", nil), with(inProgress, "", func(s *heat.Stack) { later(s); s.Tags = []string{"hotc-another"} }), with(inProgress, "", later), with("UPDATE_COMPLETE", "", nil)},
			said: "A command that no longer holds the stack has changed it: submitting the template again", asked: 2, holds: true},
		"deleted, and forgotten":  {looks: []func(*heat.Stack){with(inProgress, "", nil)}, gone: true, fails: "another user has deleted the stack s", asked: 1},
		"openstack stack suspend": {looks: []func(*heat.Stack){with("UPDATE_COMPLETE", "", nil), with("SUSPEND_IN_PROGRESS", "", nil)}, fails: "another user has suspended the stack s", asked: 1},
		"openstack stack cancel": {looks: []func(*heat.Stack){with(inProgress, "", nil), with("ROLLBACK_IN_PROGRESS", "", later), with("ROLLBACK_COMPLETE", "", nil)},
			said: "Heat is rolling back to the previous template", asked: 1},
		// stop_traversal of heat/engine/worker.py ends all work in nested stacks, whichever update
		// it belongs to
		"Heat cancels by itself": {looks: []func(*heat.Stack){with(inProgress, "", nil), with("UPDATE_FAILED", "Resource UPDATE failed: resources.web: Stack UPDATE cancelled", nil), with("UPDATE_FAILED", "Resource UPDATE failed: resources.web: Stack UPDATE cancelled", nil),
			with("UPDATE_FAILED", "Resource UPDATE failed: resources.web: Stack UPDATE cancelled", nil), with("UPDATE_FAILED", "Resource UPDATE failed: resources.web: Stack UPDATE cancelled", nil), with(inProgress, "", later), with(inProgress, "", nil), with("UPDATE_COMPLETE", "", nil)},
			said: "Heat has cancelled a nested stack's update by itself", asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cloud{has: []heat.Resource{}}
			u, v := begin(t, c, &deployment{outcome: deploy.Updated, there: true, servers: []*status.Server{{Roles: []*status.Role{{RoleState: protocol.RoleState{Status: protocol.RoleRunning}}}}}})
			u.TakesOver, u.Relay = true, func(ctx context.Context) error { <-ctx.Done(); return nil }
			path := filepath.Join(t.TempDir(), "t.yaml")
			if err := os.WriteFile(path, []byte("heat_template_version: 2018-08-31\nparameters: {size: {type: number, default: 2}}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var err error
			if u.Template, err = heat.ReadTemplate(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			d := u.Deployment.(*deployment)
			d.holds = x.holds
			if !x.createsAnd {
				c.stack = &heat.Stack{Name: "s", ID: "id", State: "UPDATE_COMPLETE", Parameters: map[string]string{"size": "2"}, Updated: heat.Time{Time: time.Unix(1, 0)}}
				d.there = true
			}
			n := -1 // the first poll precedes the update's first event
			c.looked = func() {
				if n++; n == 0 || n == 6 && name == "Heat cancels by itself" || n == 4 && x.holds {
					c.events = append(c.events, heat.Event{ID: fmt.Sprint(n), Name: "s", Physical: c.stack.ID, StackID: c.stack.ID, State: inProgress})
				}
				if i := n - 1; i >= 0 && i < len(x.looks) {
					x.looks[i](c.stack)
				}
				if n == len(x.looks)+1 {
					d.servers = nil // all is done
					if x.gone {
						c.stack = nil
					}
				}
			}
			r, err := u.Run(t.Context())
			switch {
			case x.fails != "" && (err == nil || !strings.Contains(err.Error(), x.fails)), x.fails == "" && err != nil:
				t.Errorf("%v, want %q; said %q", err, x.fails, v.said)
			case x.fails == "" && r.OK() == (r.Stack.State == "ROLLBACK_COMPLETE"):
				t.Errorf("%s: %v", r.Stack.State, r.OK())
			case !strings.Contains(strings.Join(v.said, "\n"), x.said):
				t.Errorf("said %q, want %q", v.said, x.said)
			}
			if got := len(slices.DeleteFunc(slices.Clone(c.asked), func(what string) bool { return what != "update" })); got != x.asked {
				t.Errorf("asked %v, want %d updates", c.asked, x.asked)
			}
		})
	}
}

func TestOutagesAreWaitedOut(t *testing.T) {
	c := &cloud{away: 5, states: []heat.State{"CREATE_COMPLETE"}}
	u, v := begin(t, c, &deployment{outcome: deploy.Created})
	r, err := u.Run(t.Context())
	if err != nil || !r.OK() || strings.Count(strings.Join(v.said, "\n"), "does not answer") != 1 || !slices.Contains(v.said, "Heat answers again") {
		t.Errorf("%v: %v", err, v.said)
	}
}

// Heat drops old events, the last one shown among them, and then lists all that it has.
func TestEventsThatHeatHasDroppedAreNotShownAgain(t *testing.T) {
	event := func(id string, at time.Duration) heat.Event {
		return heat.Event{ID: id, State: "UPDATE_IN_PROGRESS", Time: heat.Time{Time: time.Unix(0, 0).Add(at)}}
	}
	c, v := &cloud{stack: &heat.Stack{ID: "id", State: "UPDATE_IN_PROGRESS"}, events: []heat.Event{event("1", 0), event("2", time.Hour)}}, &view{}
	f := &following{cloud: c, view: v}
	for range 2 {
		if _, err := f.heats(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.events = []heat.Event{event("1", 0), event("3", time.Hour-time.Second)} // another engine's clock
	}
	if !slices.Equal(v.events, []string{"1", "2", "3"}) || f.last != "3" {
		t.Errorf("%v, %s", v.events, f.last)
	}
}

func TestWhatWasBeforeIsNotShown(t *testing.T) {
	c, v := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "ROLLBACK_COMPLETE"}, events: []heat.Event{{ID: "before"}}, bare: true}, &view{}
	f := &following{cloud: c, view: v, name: "s", id: "id"}
	if err := f.skip(t.Context(), c.stack); err != nil {
		t.Fatal(err)
	}
	c.bare, c.events = false, append(c.events, heat.Event{ID: "now"})
	if _, err := f.heats(t.Context()); err != nil || !slices.Equal(v.events, []string{"now"}) {
		t.Errorf("shown are %v: %v", v.events, err)
	}
}

func TestAStackThatSomebodyDeletesIsNoSuccess(t *testing.T) {
	c := &cloud{states: []heat.State{"CREATE_IN_PROGRESS", "DELETE_COMPLETE"}}
	u, _ := begin(t, c, &deployment{outcome: deploy.Created})
	if _, err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another user has deleted the stack s") {
		t.Error(err)
	}
}

func TestOnlyTheFirstFailuresAreTold(t *testing.T) {
	c := &cloud{states: []heat.State{"CREATE_FAILED"}}
	u, _ := begin(t, c, &deployment{outcome: deploy.Created})
	r, err := u.Run(t.Context())
	if err != nil || r.OK() || len(r.Failed) != 1 || strings.Join(r.Failed[0].Path, "/") != "group/db" {
		t.Errorf("%v: %+v", err, r)
	}
}

// A role that runs again may wait for what only the update brings, at first or second hand: a value
// of Heat's, as of a parameter that goes back to its default, or a server. The update does not wait
// for it.
func TestWhatTheUpdateBringsIsNotWaitedFor(t *testing.T) {
	blocked := func(cell contract.CellName) protocol.RoleState {
		return protocol.RoleState{Status: protocol.RoleRunning, Blocked: []protocol.Wait{{Cell: cell}}}
	}
	for name, states := range map[string]map[contract.RoleKey]protocol.RoleState{
		"a value of Heat's":        {"a.one": blocked(contract.HeatCell("level"))},
		"a server":                 {"a.one": blocked("new.one:out")},
		"a role that waits for it": {"a.one": blocked("b.one:out"), "b.one": blocked(contract.HeatCell("level"))},
		"its turn":                 {"a.two": {Status: protocol.RolePending}, "a.one": blocked("b.one:out"), "b.one": blocked("new.one:out")},
	} {
		t.Run(name, func(t *testing.T) {
			p := &contract.Plan{}
			snapshot := &deploy.Snapshot{Ready: true}
			for _, path := range []contract.ServerPath{"a", "b", "new"} {
				roles := []contract.Role{{Name: "one"}, {Name: "two"}}
				p.Servers = append(p.Servers, contract.Server{Path: path, Roles: roles})
				p.Cells = append(p.Cells, contract.Cell{Name: contract.CellName(path) + ".one:out", Server: path, Role: "one"})
				x := deploy.ServerSnapshot{Path: path, Alive: path != "new"}
				if x.Alive {
					x.Incarnation.Number = 1
				}
				for _, r := range roles {
					if state, is := states[path.Role(r.Name)]; is {
						state.Name = r.Name
						x.State.Roles = append(x.State.Roles, state)
					}
				}
				snapshot.Servers = append(snapshot.Servers, x)
			}
			v := status.New(p, snapshot, nil)
			for key := range states {
				if open(v, key) {
					t.Errorf("%s is waited for", key)
				}
			}
			v.Role("b", "one").Blocked = nil
			v.Role("b", "one").Status = protocol.RoleRunning
			if !open(v, "b.one") || name == "a role that waits for it" && !open(v, "a.one") {
				t.Error("a role that can go on is not waited for")
			}
		})
	}
}

// A group may have fewer members than it has room for, and nobody but Heat knows how many: a stack
// that is complete has no more, if Heat waits for roles.
func TestRoomInAGroupIsNotWaitedFor(t *testing.T) {
	room := &status.Server{Perhaps: "the group has fewer than 3 members"}
	v := &status.Status{Plan: &contract.Plan{Signal: contract.RelaySignals}, Servers: []*status.Server{room}}
	if !finished(v) {
		t.Error("a member that Heat has not made is waited for")
	}
	if room.Incarnation.Number = 1; finished(v) {
		t.Error("a member whose roles have not ended is not waited for")
	}
	room.Incarnation.Number, v.Plan.Signal = 0, contract.NobodySignals
	if finished(v) {
		t.Error("without a signal a member that has not come yet is not waited for")
	}
}

// Heat keeps the state and the reason of what has failed in an update before, until it comes to it:
// what this update says of itself is told, also to a run that comes back in the middle of it.
func TestAFailureOfAnUpdateBeforeIsNotTold(t *testing.T) {
	began := heat.Event{ID: "1", Name: "s", Physical: "id", StackID: "id", StackName: "s", State: "UPDATE_IN_PROGRESS"}
	failed := func(id, stack, name string) heat.Event {
		return heat.Event{ID: id, Name: name, Physical: name, StackID: stack, State: "UPDATE_FAILED"}
	}
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_IN_PROGRESS"}, states: []heat.State{"UPDATE_FAILED"},
		events: []heat.Event{began, failed("2", "m", "hotc_done"), failed("3", "g", "member"), failed("4", "id", "web"), failed("5", "id", "db"), began, failed("7", "id", "web")},
		has: []heat.Resource{
			{Name: "web", Type: "OS::Heat::AutoScalingGroup", State: "UPDATE_FAILED", StackID: "id", NestedID: "g", Reason: "this one"},
			{Name: "member", State: "UPDATE_FAILED", StackID: "g", NestedID: "m"},
			{Name: "hotc_done", State: "UPDATE_FAILED", StackID: "m", Reason: "an old one"},
			{Name: "db", State: "UPDATE_FAILED", StackID: "id", Reason: "an old one"},
		}}
	c.events[5].ID = "6"
	u, _ := begin(t, c, &deployment{there: true})
	digest, err := u.Template.Digest(u.Key, u.Options)
	if err != nil {
		t.Fatal(err)
	}
	c.stack.Tags = []string{tagPrefix + digest[:24]}
	r, err := u.Run(t.Context())
	if err != nil || r.Did != Follow || len(r.Failed) != 1 || r.Failed[0].Reason != "this one" {
		t.Errorf("%v: %+v", err, r)
	}
	c.events, c.stack.State, c.states = nil, "UPDATE_IN_PROGRESS", []heat.State{"UPDATE_FAILED"} // Heat has dropped them
	u, _ = begin(t, c, &deployment{there: true})
	if r, err = u.Run(t.Context()); err != nil || len(r.Failed) != 2 {
		t.Errorf("%v: %+v", err, r)
	}
}

// An update brings along the templates by which members of groups are defined that an earlier one
// has not come to, with all that these refer to, and nothing else.
func TestTemplatesOfMembersAreKept(t *testing.T) {
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_FAILED"}, states: []heat.State{"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"},
		definition: `{"resources": {"a": {"type": "file:///old/member.yaml"}, "b": {"type": "OS::Heat::Value"}}}`,
		files: map[string]map[string]string{"g": {"file:///old/member.yaml": `{"type": "file:///old/inner.yaml"}`, "file:///old/inner.yaml": `{"get_file": "file:///old/script"}`,
			"file:///old/script": "x", "file:///old/other.yaml": "{}"}, "n": {"file:///nested.yaml": "{}"}},
		has: []heat.Resource{
			{Name: "web", Type: "OS::Heat::AutoScalingGroup", StackID: "id", NestedID: "g"},
			{Name: "a", Type: "file:///old/member.yaml", StackID: "g"},
			{Name: "nested", Type: "file:///nested.yaml", StackID: "id", NestedID: "n"},
			{Name: "inner", Type: "file:///nested.yaml", StackID: "n"},
		}}
	u, _ := begin(t, c, &deployment{there: true})
	if _, err := u.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"file:///old/inner.yaml", "file:///old/member.yaml", "file:///old/script"}; !slices.Equal(slices.Sorted(maps.Keys(c.kept)), want) {
		t.Errorf("the update brings %v, want %v", c.kept, want)
	}
	c.stack.State, c.states = "UPDATE_COMPLETE", nil
	u, _ = begin(t, c, &deployment{there: true})
	if r, err := u.Run(t.Context()); err != nil || r.Did != Follow {
		t.Errorf("what is brought along is a change: %v, %+v", err, r)
	}
}

func TestDownGoesOnWhereItWasEnded(t *testing.T) {
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "DELETE_IN_PROGRESS"}, states: []heat.State{"DELETE_IN_PROGRESS", "DELETE_COMPLETE"},
		events: []heat.Event{
			{ID: "1", Name: "done", Reason: "DELETE paused until Hook pre-delete is cleared"}, {ID: "2", Name: "done", Reason: "Hook pre-delete is cleared"},
			{ID: "3", Name: "waits", Reason: "DELETE paused until Hook pre-delete is cleared"}}}
	d := &deployment{there: true}
	gone, err := (&Down{Cloud: c, Deployment: d, View: &view{}, Name: "s", Look: time.Millisecond}).Run(t.Context())
	if err != nil || gone != (Gone{true, true}) || !slices.Equal(c.asked, []string{"clear waits"}) || !slices.Equal(d.asked, []string{"hooks", "destroy"}) {
		t.Errorf("%v, %v, %v, %v", gone, err, c.asked, d.asked)
	}
	gone, err = (&Down{Cloud: c, Deployment: &deployment{}, View: &view{}, Name: "s", Look: time.Millisecond}).Run(t.Context())
	if err != nil || gone != (Gone{}) {
		t.Errorf("what is gone: %v, %v", gone, err)
	}
}

// A machine that Heat no longer has runs no hook, whoever knew that before.
func TestDownAsksNoMachineThatIsGone(t *testing.T) {
	server := func(path contract.ServerPath, instance string) *status.Server {
		s := &status.Server{}
		s.Path, s.Incarnation = path, protocol.IncarnationRecord{Number: 1, Instance: instance}
		return s
	}
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "CREATE_COMPLETE"}, states: []heat.State{"DELETE_COMPLETE"}}
	d := &deployment{there: true, servers: []*status.Server{server("web/0", "5f0c2d6e-1111-4222-8333-444444444444"),
		server("web/1", "5f0c2d6e-1111-4222-8333-555555555555"), server("web/2", "i-00000001")}}
	if _, err := (&Down{Cloud: c, Deployment: d, View: &view{}, Name: "s", Look: time.Millisecond}).Run(t.Context()); err != nil || !slices.Equal(d.asked, []string{"hooks", "of web/0", "of web/2", "destroy"}) {
		t.Errorf("%v, %v", err, d.asked)
	}
}

// Another command may change the deployment and submit nothing to Heat: the coordinator shows it. A
// relay that signals Heat for servers without credentials ends with hotc up, but not before it has
// recorded that Heat knows: otherwise hotc status says that it does not. It may never find that.
func TestTheRelayFindsThatHeatHasHeard(t *testing.T) {
	for _, x := range []struct{ after, looks int }{{3, 3}, {1000, mostUnheard + 1}} {
		c, looks := &cloud{states: []heat.State{"CREATE_COMPLETE"}}, 0
		s := &status.Server{Roles: []*status.Role{{RoleState: protocol.RoleState{Status: protocol.RoleDone}}}}
		s.Incarnation.Number = 1
		s.State = protocol.ServerState{Incarnation: 1, Phase: protocol.PhaseDone, NoHandle: true}
		s.Roles[0].Server, s.Roles[0].Plan = s, &contract.Role{}
		d := &deployment{outcome: deploy.Created, servers: []*status.Server{s}, plan: &contract.Plan{Signal: contract.AgentsSignal}}
		c.looked = func() { looks++ }
		d.heard = func() []protocol.HeatWait {
			if looks < x.after {
				return nil
			}
			return []protocol.HeatWait{{Wait: contract.DoneHandle, Status: protocol.HeatDone}}
		}
		u, _ := begin(t, c, d)
		if r, err := u.Run(t.Context()); err != nil || !r.OK() || looks != x.looks {
			t.Errorf("heard after %d looks: ended after %d: %v", x.after, looks, err)
		}
	}
}

func TestAnotherPlanTakesOver(t *testing.T) {
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_COMPLETE"}, states: []heat.State{"UPDATE_COMPLETE"}}
	u, _ := begin(t, c, &deployment{outcome: deploy.Updated, there: true, taken: true})
	if _, err := u.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another \"hotc up\" has taken over") {
		t.Errorf("%v", err)
	}
}

// New secrets for roles are asked about where neither Heat nor the plan changes; Heat is not asked
// for anything then.
func TestAnotherSecretIsAskedAbout(t *testing.T) {
	for want, changes := range map[string][]deploy.RoleChange{
		"[confirm]": {{Server: "db", Role: "r", What: []string{"secret parameter token"}, Effect: deploy.EffectHook}},
		"[Nothing to change: the stack is UPDATE_COMPLETE]": nil,
	} {
		c := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_COMPLETE"}, states: []heat.State{"UPDATE_COMPLETE"}}
		d := &deployment{outcome: deploy.Unchanged, changes: changes, there: true}
		u, v := begin(t, c, d)
		digest, err := u.Template.Digest(u.Key, u.Options)
		if err != nil {
			t.Fatal(err)
		}
		c.stack.Tags = []string{tagPrefix + digest[:24]}
		r, err := u.Run(t.Context())
		if err != nil || fmt.Sprint(v.said) != want || len(c.asked) > 0 || !slices.Equal(d.asked, []string{"publish"}) || len(r.Changes.Roles) != len(changes) {
			t.Errorf("%v: it says %v, asks %v and %v: %v", changes, v.said, c.asked, d.asked, err)
		}
	}
}

// A plain update of some parameters leaves the stack's tag: the same command is not what Heat was
// last asked for. Nor is it where a resource was marked unhealthy, which another update replaces.
func TestParametersThatSomebodyElseHasChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(path, []byte("heat_template_version: 2018-08-31\nparameters: {size: {type: number, default: 2}, list: {type: comma_delimited_list, default: 'a, b'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	template, err := heat.ReadTemplate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		size string
		db   heat.State
		want Step
	}{{"2", "CREATE_COMPLETE", Follow}, {"3", "CREATE_COMPLETE", Update}, {"2", "CHECK_FAILED", Update}} {
		size, want := x.size, x.want
		c := &cloud{has: []heat.Resource{{Name: "db", State: x.db}}, stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_COMPLETE", Parameters: map[string]string{"size": size, "list": "a,b", "OS::stack_id": "id"}}, states: []heat.State{"UPDATE_COMPLETE"}}
		u, _ := begin(t, c, &deployment{outcome: deploy.Unchanged, there: true})
		u.Template = template
		digest, err := template.Digest(u.Key, u.Options)
		if err != nil {
			t.Fatal(err)
		}
		u.tag = tagPrefix + digest[:24]
		c.stack.Tags = []string{u.tag}
		f, err := u.look(t.Context())
		if got := Next(f); err != nil || got != want {
			t.Errorf("where somebody has given size %s, and db is %s: %s (%v), want %s", size, x.db, got, err, want)
		}
	}
}

// How the roles ended is read from the coordinator once Heat has ended, and not taken from an
// earlier read: failed roles may have run again meanwhile.
func TestTheEndIsLookedAtOnceMore(t *testing.T) {
	roles := func(how protocol.RoleStatus) []*status.Server {
		return []*status.Server{{Roles: []*status.Role{{RoleState: protocol.RoleState{Status: how}}}}}
	}
	c := &cloud{stack: &heat.Stack{Name: "s", ID: "new", State: "UPDATE_FAILED"}}
	d := &deployment{there: true, servers: roles(protocol.RoleDone)}
	f := &following{cloud: c, deployment: d, view: &view{}, name: "s", id: "new", now: &status.Status{Servers: roles(protocol.RoleFailed)}, looked: time.Now(), took: time.Hour}
	r, err := f.toTheEnd(t.Context())
	if err != nil || r.Status.Servers[0].Roles[0].Status != protocol.RoleDone {
		t.Errorf("%v: it ends with %+v", err, r)
	}
}

// Heat waits with a server that leaves in an update, and only this command lets it go on: where it
// is no longer in the plan and its delete hooks have run, where they are skipped, or where nothing
// runs them.
func TestHeatGoesOnInAnUpdate(t *testing.T) {
	const left, hooked, other = "5f0c2d6e-1111-4222-8333-555555555555", "5f0c2d6e-1111-4222-8333-666666666666", "5f0c2d6e-1111-4222-8333-777777777777"
	server := func(path contract.ServerPath, instance string, answers ...protocol.Answer) *status.Server {
		s := &status.Server{}
		s.Path, s.Incarnation, s.Answers = path, protocol.IncarnationRecord{Number: 1, Instance: instance}, answers
		s.Roles = []*status.Role{{RoleState: protocol.RoleState{Name: "app", Status: protocol.RoleDone}, Server: s, Plan: &contract.Role{Name: "app", Hooks: []contract.Task{{Name: contract.HookDelete}}}}}
		return s
	}
	d := &deployment{outcome: deploy.Updated, there: true, servers: []*status.Server{
		server("web/0", hooked, protocol.Answer{Kind: protocol.Hook, Role: "app", Name: contract.HookDelete, Status: protocol.AnswerDone}), server("web/1", other)}}
	pause := func(id, instance string) heat.Event {
		return heat.Event{ID: id, Name: "server", Physical: instance, StackName: "s-web-kigpdwjkhvf5-" + id + "-wcady3uym7zf", StackID: id, State: "CREATE_COMPLETE", Reason: "DELETE paused until Hook pre-delete is cleared"}
	}
	for _, c := range []struct {
		relays, skips, begun bool
		want, says           string
	}{
		{true, false, false, "left hooked", ""},
		{true, false, true, "left hooked", ""},
		{false, false, false, "left hooked other", "no relay runs these delete hooks"},
		{true, true, false, "left hooked other", "its delete hooks are skipped"},
		{true, true, true, "left hooked other", "its delete hooks have started and end with the machine"},
	} { // a volume's hook is another user's, and waits for that user
		cloud := &cloud{stack: &heat.Stack{Name: "s", ID: "id", State: "CREATE_COMPLETE"}, states: []heat.State{"UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_FAILED"}}
		cloud.events = []heat.Event{pause("hooked", hooked)} // of the earlier, interrupted command
		volume := pause("theirs", "volume-id")
		volume.Name = "volume"
		u, v := begin(t, cloud, d)
		u.TakesOver, u.SkipHooks = c.relays, c.skips
		if d.servers[1].State.Going = nil; c.begun { // the relay has told the agent
			d.servers[1].State.Going = &protocol.GoingState{Since: time.Now()}
		}
		cloud.looked = func() {
			if len(cloud.states) == 2 {
				cloud.events = append(cloud.events, pause("left", left), pause("other", other), volume)
			}
		}
		if _, err := u.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var cleared []string
		for _, asked := range cloud.asked {
			if of, is := strings.CutPrefix(asked, "clear "); is {
				of = strings.TrimPrefix(of, "server ")
				cleared = append(cleared, of)
			}
		}
		slices.Sort(cleared)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if !slices.Equal(cleared, want) || !strings.Contains(fmt.Sprint(v.said), c.says) {
			t.Errorf("with relay %v, skipping %v: %v, want %v; said %v", c.relays, c.skips, cleared, want, v.said)
		}
	}
}

// The delete hooks on a server that a condition of Heat's removes run before the update, since Heat
// deletes it without waiting; where one fails nothing is changed. Those that cannot run are named.
func TestDeleteHooksBeforeHeatDeletesAServer(t *testing.T) {
	template := `{"resources": {"cache": {"type": "OS::Nova::Server"}, "old": {"type": "OS::Nova::Server", "properties": {"name": "a"}}, "web": {"type": "group"}}}`
	server := func(path contract.ServerPath, alive bool) *status.Server {
		s := &status.Server{}
		s.Path, s.Alive, s.Incarnation = path, alive, protocol.IncarnationRecord{Number: 1, Instance: "id of " + string(path)}
		s.Roles = []*status.Role{{RoleState: protocol.RoleState{Name: "app", Status: protocol.RoleDone}, Server: s, Plan: &contract.Role{Name: "app", Hooks: []contract.Task{{Name: contract.HookDelete}}}}}
		return s
	}
	of := func(name string) heat.Change {
		c := heat.Change{Name: name}
		c.Stack.ID = "id"
		return c
	}
	for name, x := range map[string]struct {
		alive, relays, skips bool
		fails                error
		want                 string
		lost                 map[contract.RoleKey]string
	}{
		"a relay":           {true, true, false, nil, "[part cache.app publish]", map[contract.RoleKey]string{"old.app": "Heat deletes a machine that it replaces without waiting for it"}},
		"no relay":          {true, false, false, nil, "[part cache.app publish]", map[contract.RoleKey]string{"old.app": "Heat deletes a machine that it replaces without waiting for it", "web/0.app": "no relay runs it for Heat"}},
		"no agent":          {false, true, false, nil, "[publish]", map[contract.RoleKey]string{"cache.app": "its agent is not there", "old.app": "its agent is not there"}},
		"--skip-hooks":      {true, true, true, nil, "[publish]", map[contract.RoleKey]string{"cache.app": "--skip-hooks", "old.app": "--skip-hooks", "web/0.app": "--skip-hooks"}},
		"a hook that fails": {true, true, false, errors.New("exit status 3"), "[part cache.app]", nil},
	} {
		d := &deployment{outcome: deploy.Unchanged, there: true, servers: []*status.Server{server("cache", x.alive), server("old", x.alive), server("web/0", x.alive)}, parts: x.fails}
		c := &cloud{definition: template, stack: &heat.Stack{Name: "s", ID: "id", State: "UPDATE_COMPLETE"}, states: []heat.State{"UPDATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "UPDATE_FAILED"},
			has:  []heat.Resource{{Name: "cache", StackID: "id", ID: "id of cache"}, {Name: "old", StackID: "id", ID: "id of old"}, {Name: "web", StackID: "id", ID: "g", NestedID: "g"}},
			sees: heat.Changes{Deleted: []heat.Change{of("cache"), of("web")}, Replaced: []heat.Change{of("old")}}}
		u, _ := begin(t, c, d)
		path := filepath.Join(t.TempDir(), "t.yaml")
		if err := os.WriteFile(path, []byte(strings.NewReplacer(`"a"`, `"b"`, "{\"resources", "{heat_template_version: 2018-08-31, \"resources").Replace(template)), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if u.Template, err = heat.ReadTemplate(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		u.Plan = &contract.Plan{Servers: []contract.Server{{Path: "cache"}, {Path: "old"}, {Path: "web/0"}}}
		u.TakesOver, u.SkipHooks = x.relays, x.skips
		r, err := u.Run(t.Context())
		if fmt.Sprint(d.asked) != x.want || !errors.Is(err, x.fails) || slices.Contains(c.asked, "update") != (x.fails == nil) {
			t.Errorf("%s: %v, asked %v of Heat, and %v: %v", name, x.want, c.asked, d.asked, err)
		}
		if err == nil && !maps.Equal(r.Changes.Lost, x.lost) {
			t.Errorf("%s: lost are %v", name, r.Changes.Lost)
		}
	}
}
