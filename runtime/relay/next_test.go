package relay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// relayed is a deployment where a relay tells Heat.
func relayed(p *contract.Plan) { p.Signal = contract.RelaySignals }

// coming is a machine that asks to be the server.
type coming struct {
	session *member.Session
	ended   chan error
}

// comes starts a machine's agent beside.
func (w *world) comes(ctx context.Context, instance string, was int) *coming {
	c := &coming{ended: make(chan error, 1)}
	go func() {
		var err error
		c.session, err = w.enrol(ctx, instance, was)
		c.ended <- err
	}()
	return c
}

// is waits until the machine is the server.
func (c *coming) is(t *testing.T, what string) *member.Session {
	t.Helper()
	if err := <-c.ended; err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return c.session
}

// waits lets some time pass in which the machine does not become the server.
func (c *coming) waits(t *testing.T, what string) {
	t.Helper()
	time.Sleep(10 * time.Minute)
	select {
	case err := <-c.ended:
		t.Fatalf("%s is the server: %v", what, err)
	default:
	}
}

func (w *world) heatHas(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.has = ids
}

func (w *world) server() protocol.IncarnationRecord {
	w.t.Helper()
	node, err := w.tree.Open(w.secret.Operator(blog)).Read(w.t.Context(), blog.Server("db"))
	if err != nil {
		w.t.Fatal(err)
	}
	return protocol.ParseIncarnation(node)
}

// A machine that boots after the one that replaces it does not take its place, however long it
// waits, and whoever it asks first; the newer one goes on. A third one, which Heat makes then, does.
func TestALateMachineDoesNotTakeTheNewOnesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, relayed)
		newer := w.machine("newer")
		if err := newer.Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1}); err != nil {
			t.Fatal(err)
		}
		ctx, paused := context.WithCancel(t.Context())
		late := w.comes(ctx, "late", 0)
		late.waits(t, "without a relay a late machine")
		w.heatHas("newer")
		w.relay(t.Context(), "relay", func(r *Relay) { r.Every = time.Second })
		late.waits(t, "a late machine")
		w.report(newer, "mysql=running")
		third := w.comes(t.Context(), "third", 0)
		third.waits(t, "a machine that Heat does not have yet")
		w.heatHas("third")
		third.is(t, "the third machine")
		paused()
		if err := <-late.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the late machine: %v", err)
		}
	})
}

// Without a relay nobody can know: a machine takes the place of another one only when that has been
// away for as long as readers wait for it. Where Heat has said that it does not have the machine, not
// even then.
func TestTheAgentThatIsThereIsAway(t *testing.T) {
	for name, relays := range map[string]bool{"no relay": false, "a relay": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, relayed)
				w.machine("newer")
				w.heatHas("newer")
				if relays {
					w.relay(t.Context(), "relay", func(r *Relay) { r.Every = time.Second })
				}
				began, ctx, stop := time.Now(), t.Context(), context.CancelFunc(nil)
				ctx, stop = context.WithCancel(ctx)
				late := w.comes(ctx, "late", 0)
				if !relays {
					late.is(t, "a machine")
					if took := time.Since(began); took < contract.DefaultIfDown*time.Second {
						t.Errorf("it has waited for %v", took)
					}
				} else {
					late.waits(t, "a machine that Heat does not have")
				}
				stop()
			})
		})
	}
}

// Heat undoes an update that has replaced the server: the machine of before is the server again, as
// another incarnation, and the one that is to be deleted is not, whatever Heat lists.
func TestHeatGoesBackToAMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, relayed)
		w.machine("old")
		w.heatHas("new")
		w.relay(t.Context(), "relay", func(r *Relay) { r.Every = time.Second })
		w.comes(t.Context(), "new", 0).is(t, "the new machine")
		old := w.comes(t.Context(), "old", 1)
		old.waits(t, "the machine of before")
		w.mu.Lock()
		w.state, w.updated = "ROLLBACK_IN_PROGRESS", noon.Add(-time.Minute)
		w.mu.Unlock()
		w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "old"})
		if s := old.is(t, "the machine of before"); s.Incarnation.Number != 3 {
			t.Errorf("it is incarnation %d", s.Incarnation.Number)
		}
		ctx, deleted := context.WithCancel(t.Context())
		again := w.comes(ctx, "new", 2)
		again.waits(t, "a machine that Heat takes back")
		deleted()
		if is := w.server(); is.Instance != "old" {
			t.Errorf("the server is %+v", is)
		}
	})
}

// Heat undoes an update whose machine comes only then. Heat lists it until it deletes it, and does not
// say yet which machine it waits for: that is no answer.
func TestAMachineComesWhileHeatTakesItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, relayed)
		if err := w.machine("old").Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1}); err != nil {
			t.Fatal(err)
		}
		w.heatHas("new")
		w.state, w.updated = "ROLLBACK_IN_PROGRESS", noon.Add(-time.Minute)
		w.relay(t.Context(), "relay", func(r *Relay) { r.Every = time.Second })
		ctx, deleted := context.WithCancel(t.Context())
		late := w.comes(ctx, "new", 0)
		late.waits(t, "a machine that Heat takes back")
		deleted()
		<-late.ended
		if is := w.server(); is.Instance != "old" {
			t.Errorf("the server is %+v", is)
		}
	})
}

// What Heat has is a machine that it lists and does not delete, with all that is around it.
func TestStays(t *testing.T) {
	list := func(inner, outer heat.State) []heat.Resource {
		return []heat.Resource{{ID: "web", NestedID: "n1", StackID: "root", State: "UPDATE_COMPLETE"}, {ID: "0", NestedID: "n2", StackID: "n1", State: outer}, {ID: "i-1", StackID: "n2", State: inner}}
	}
	for _, c := range []struct {
		inner, outer heat.State
		id           string
		want         bool
	}{
		{"CREATE_COMPLETE", "CREATE_COMPLETE", "i-1", true},
		{"CREATE_FAILED", "CREATE_IN_PROGRESS", "i-1", true},
		{"CREATE_COMPLETE", "DELETE_IN_PROGRESS", "i-1", false},
		{"DELETE_FAILED", "UPDATE_COMPLETE", "i-1", false},
		{"CREATE_COMPLETE", "CREATE_COMPLETE", "i-2", false},
	} {
		if got := stays(list(c.inner, c.outer), c.id); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if stays([]heat.Resource{{ID: "i-1", StackID: "n1"}, {ID: "0", NestedID: "n1", StackID: "n1"}}, "i-1") {
		t.Error("a stack within itself")
	}
}

// A wait says who the server is as long as it is in progress, and no update has come since it began.
func TestAwaited(t *testing.T) {
	at := func(minutes int) heat.Time { return heat.Time{Time: noon.Add(time.Duration(minutes) * time.Minute)} }
	one := func(status string, minutes int, server contract.ServerPath, id string) wait {
		w := wait{HeatWait: contract.HeatWait{Servers: contract.HeatServers{{Server: server, ID: id}}}}
		w.Status, w.Created = status, at(minutes)
		return w
	}
	plain, slot := &contract.Server{Path: "db"}, &contract.Server{Path: "app/1/web", Slot: &contract.Slot{Shared: "app/*/web"}}
	for _, c := range []struct {
		what       string
		server     *contract.Server
		seen       wait
		has, known bool
	}{
		{"it is waited for", plain, one("IN_PROGRESS", 2, "db", "i-1"), true, true},
		{"another one is", plain, one("IN_PROGRESS", 2, "db", "i-2"), false, true},
		{"another one is, since the second of the update", plain, one("IN_PROGRESS", 1, "db", "i-2"), false, false},
		{"an update has come since", plain, one("IN_PROGRESS", 0, "db", "i-1"), false, false},
		{"nobody is waited for any more", plain, one("COMPLETE", 2, "db", "i-1"), false, false},
		{"another server", plain, one("IN_PROGRESS", 2, "web", "i-1"), false, false},
		{"a member", slot, one("IN_PROGRESS", 2, "app/*/web", "i-1"), true, true},
		{"another member", slot, one("IN_PROGRESS", 2, "app/*/web", "i-2"), false, false},
	} {
		if has, known := awaited(c.server, "i-1", []wait{c.seen}, &heat.Stack{Updated: at(1)}); has != c.has || known != c.known {
			t.Errorf("%s: has %v, known %v", c.what, has, known)
		}
	}
	back := &heat.Stack{Updated: at(1), State: "ROLLBACK_IN_PROGRESS"} // then Heat lists the newer machine, too
	if has, known := awaited(plain, "i-1", []wait{one("IN_PROGRESS", 1, "db", "i-2")}, back); has || !known {
		t.Errorf("Heat goes back to another one: has %v, known %v", has, known)
	}
}
