package relay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// A machine that Nova launches again keeps its id. What its roles were before is no answer to
// Heat's wait: neither their success nor their failure. What counts is what the agent says that is
// there since.
func TestLaunchedAgain(t *testing.T) {
	type agents struct {
		*world
		end     context.CancelFunc // of the agent's session
		session *member.Session
	}
	// start lets an agent come, with a journal that a disk of its own has or not.
	start := func(a *agents, disk string, was int) {
		ctx, end := context.WithCancel(a.t.Context())
		token := a.secret.ServerToken(blog, "db")
		m := member.Join(a.tree.Open(protocol.ServerCredential("db", token)), blog, "db", token)
		if _, err := m.Plan(ctx); err != nil {
			a.t.Fatal(err)
		}
		m.RememberTries(was, func(int) error { return nil })
		session, err := m.Enrol(ctx, disk, "id-1", was > 0, noon)
		if err == nil {
			err = session.Announce(ctx, protocol.PresenceRecord{Incarnation: session.Incarnation.Number, Since: noon})
		}
		if err != nil {
			a.t.Fatal(err)
		}
		a.end, a.session = end, session
	}
	const done = "mysql=done backup=done"
	for what, c := range map[string]struct {
		before string
		then   func(a *agents)
		want   string // "": Heat goes on waiting
	}{
		"nothing more is heard of it": {done, func(a *agents) {}, ""},
		"it comes on an empty disk, and its roles run": {done, func(a *agents) {
			start(a, "disk-2", 0)
			a.report(a.session, "mysql=running")
		}, ""},
		"they are done on it": {done, func(a *agents) {
			start(a, "disk-2", 0)
			a.report(a.session, done)
		}, "w1 COMPLETE all roles are done null"},
		"they had failed before": {"mysql=failed", func(a *agents) {
			start(a, "disk-2", 0)
			a.report(a.session, done)
		}, "w1 COMPLETE all roles are done null"},
		"it comes back on the same disk": {done, func(a *agents) { start(a, "disk-1", 1) }, "w1 COMPLETE all roles are done null"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				w := newWorld(t, func(p *contract.Plan) { p.Servers[0].Roles[0].Outputs, p.Servers[0].Roles[0].Signals = nil, nil })
				a := &agents{world: w}
				start(a, "disk-1", 0)
				w.report(a.session, c.before)
				w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1", Launched: "09:00"})
				ended := w.relay(ctx, "relay", func(r *Relay) { r.Every = time.Second })
				time.Sleep(3 * time.Second)
				w.mu.Lock()
				w.ends, w.state, w.updated = nil, "UPDATE_IN_PROGRESS", noon
				w.mu.Unlock()
				w.wait("w1", "c2", contract.HeatServer{Server: "db", ID: "id-1", Launched: "10:00"})
				time.Sleep(3 * time.Second)
				a.end() // Heat knows before the coordinator
				time.Sleep(time.Minute)
				if said := w.said(); len(said) > 0 {
					t.Errorf("Heat was told %q of the machine before", said)
				}
				c.then(a)
				time.Sleep(time.Minute)
				said := w.said()
				if c.want == "" && len(said) > 0 || c.want != "" && (len(said) != 1 || said[0] != c.want) {
					t.Errorf("Heat was told %q, want %q", said, c.want)
				}
				a.end()
				stop()
				<-ended
			})
		})
	}
}

// An agent that is back before the relay sees that Heat waits is known by a session that lasts.
func TestLaunchedAgainAndBackAlready(t *testing.T) {
	for what, looked := range map[string]bool{"a relay that was there before": true, "one that comes then": false, "the launch was long before": false} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				w := newWorld(t, func(p *contract.Plan) { p.Servers[0].Roles[0].Outputs, p.Servers[0].Roles[0].Signals = nil, nil })
				m := w.machine("id-1")
				if err := m.Announce(ctx, protocol.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
					t.Fatal(err)
				}
				w.report(m, "mysql=done backup=done")
				if looked {
					w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1", Launched: "09:00"})
					w.waits["w1"].Status = string(protocol.HeatDone)
				}
				w.state = "UPDATE_IN_PROGRESS"
				var ended <-chan error
				if looked {
					ended = w.relay(ctx, "relay", func(r *Relay) { r.Every = time.Second })
					time.Sleep(3 * time.Second)
				}
				at, long := "2026-11-22T11:59:58.000000", what == "the launch was long before"
				if long {
					at = "2026-11-22T11:57:00.000000"
				}
				w.wait("w1", "c2", contract.HeatServer{Server: "db", ID: "id-1", Launched: at})
				if !looked {
					ended = w.relay(ctx, "relay", func(r *Relay) { r.Every = time.Second })
				}
				time.Sleep(outlives - 2*time.Second)
				if said := w.said(); (len(said) > 0) != long {
					t.Errorf("Heat was told %q, and the agent may be gone", said)
				}
				time.Sleep(5 * time.Second)
				if said := w.said(); len(said) != 1 || said[0] != "w1 COMPLETE all roles are done null" {
					t.Errorf("Heat was told %q", said)
				}
				stop()
				<-ended
			})
		})
	}
}

// That an update has overtaken the one that waited for a machine does not mean that its agent is
// back; a relay that comes then knows of no other launch.
func TestLaunchedAgainAndOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := newWorld(t, func(p *contract.Plan) { p.Servers[0].Roles[0].Outputs, p.Servers[0].Roles[0].Signals = nil, nil })
		m := w.machine("id-1")
		w.report(m, "mysql=done backup=done")
		w.wait("w1", "c1", contract.HeatServer{Server: "db", ID: "id-1", Launched: "10:00"})
		w.wait("w2", "c2", contract.HeatServer{Server: "db", ID: "id-1", Launched: "10:00"})
		w.waits["w1"].Status, w.waits["w2"].Created.Time, w.state = string(protocol.HeatDone), noon.Add(time.Second), "UPDATE_IN_PROGRESS"
		ended := w.relay(ctx, "relay", func(r *Relay) { r.Every = time.Second })
		time.Sleep(time.Minute)
		if said := w.said(); len(said) > 0 {
			t.Errorf("Heat was told %q", said)
		}
		stop()
		<-ended
	})
}
