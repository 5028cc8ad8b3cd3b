package relay

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// A role follows cells of several servers and of a group. Its agent sees all of each cell, a relay what
// servers say to have written. What they tell Heat agrees: a wait goes on while the role is due for a
// value, ends when it owes nothing, and fails with what its agent reports.
func TestARelaySeesWhatAnAgentSees(t *testing.T) {
	said := map[string]int{}
	for seed := range seedtest.Each(t, seedtest.Cases(20_000, 2_000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		one := func(n int) bool { return r.IntN(n) == 0 }
		p := &contract.Plan{Format: contract.Format, Signal: contract.RelaySignals}
		role, ran := contract.Role{Name: "r", Idempotent: !one(6)}, protocol.RoleState{Name: "r", Status: protocol.RoleDone, Followed: map[contract.CellName]protocol.Count{}}
		now, servers := map[contract.CellName]protocol.CellRecord{}, map[contract.ServerPath]relay.Server{}
		wait := contract.HeatWait{About: contract.HeatWaitAbout{Wait: "hotc_done"}}
		for i := range 1 + r.IntN(4) {
			s := contract.Server{Path: contract.ServerPath(fmt.Sprintf("g/%d", i))}
			is := relay.Server{Instance: "i", Incarnation: 1 + r.IntN(2), Left: one(6), State: protocol.ServerState{Wrote: map[contract.CellName]protocol.Count{}}}
			member := one(2)
			had, out := !one(4), false
			for k := range 1 + r.IntN(2) {
				cell := s.Path.Role("w").Completion() + contract.CellName(fmt.Sprint(k))
				s.Writes = append(s.Writes, cell)
				f := contract.Follow{Cell: cell, Watch: !one(3), Optional: one(4)}
				if member {
					f.Member = &contract.Member{Group: "g", Number: i, Server: s.Path}
				}
				if one(2) {
					f.Sources = []contract.Source{"x:1"}
				}
				role.Follows = append(role.Follows, f)
				record := protocol.CellRecord{State: protocol.Valued, Incarnation: is.Incarnation, Version: 1 + r.IntN(2), Stamp: protocol.Stamp{"x:1": {1, 1 + r.IntN(2)}}}
				if one(5) {
					record.Cause = &protocol.Cause{Role: "x.x", Reason: "it failed"}
				}
				is.State.Wrote[cell] = record.At()
				if member && is.Left {
					record, out = protocol.CellRecord{State: protocol.Gone}, true
				}
				now[cell] = record
				if had {
					ran.Followed[cell] = protocol.Count{1 + r.IntN(is.Incarnation), 1 + r.IntN(2)}
				}
			}
			if !out || !had { // what an agent does for one that has left a relay does not see
				servers[s.Path] = is
				p.Servers = append(p.Servers, s)
				if !is.Left {
					wait.Servers = append(wait.Servers, contract.HeatServer{Server: s.Path, ID: "i"})
				} else if !member {
					is.Left = false
					servers[s.Path] = is
					wait.Servers = append(wait.Servers, contract.HeatServer{Server: s.Path, ID: "i"})
				}
			}
		}
		role.Follows = append([]contract.Follow(nil), role.Follows...)
		for i := 0; i < len(role.Follows); { // those of servers that are left out
			if _, there := servers[contract.ServerPath(string(role.Follows[i].Cell)[:3])]; there {
				i++
				continue
			}
			delete(ran.Followed, role.Follows[i].Cell)
			role.Follows = append(role.Follows[:i], role.Follows[i+1:]...)
		}
		ran.Made = role.Made()
		see := func(c contract.CellName) protocol.CellRecord { return now[c] }
		is := reconcile.Decide(reconcile.Facts{Role: &role, Ran: ran, Now: see})
		if is.State == reconcile.Behind {
			ran.Behind = &protocol.BehindState{Cause: is.Cause, Seen: map[contract.CellName]protocol.Count{}}
			for _, cell := range is.Newer {
				record := now[cell]
				ran.Behind.Seen[cell] = record.Input()
			}
		}
		p.Servers = append(p.Servers, contract.Server{Path: "app", Roles: []contract.Role{role}})
		servers["app"] = relay.Server{Instance: "i", Incarnation: 1, State: protocol.ServerState{Roles: []protocol.RoleState{ran}}}
		wait.Servers = append(wait.Servers, contract.HeatServer{Server: "app", ID: "i"})
		want := protocol.HeatWaits
		switch is.State {
		case reconcile.Current, reconcile.Unreached:
			want = protocol.HeatDone
		case reconcile.Behind:
			want = protocol.HeatFailed
		}
		if got := decide(wait, p, servers, nil); got.state != want {
			t.Fatalf("seed %d: the wait is %s (%s), and the role %+v\nfollows %+v\nran %+v\nnow %+v\nservers %+v", seed, got.state, got.reason, is, role.Follows, ran, now, servers)
		}
		said[string(want)]++
	}
	t.Log(said)
}
