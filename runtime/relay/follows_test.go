package relay

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// A stack is not complete before every role has run with what it follows of other roles, once
// nothing fails. What only a member waits for does not ask for that, nor what no update brings
// the role to, nor what a server says of another's cells.
func TestWaitForWhatRolesFollow(t *testing.T) {
	p := site()
	p.Cells = []contract.Cell{{Name: "db.mysql:own", Server: "db", Role: "mysql"}}
	p.Derive()
	follower := &p.Servers[1].Roles[0]
	follower.Idempotent = true
	follower.Follows = []contract.Follow{{Cell: "db.mysql:own", Watch: true, Sources: []contract.Source{"db.mysql"}}}
	named := contract.HeatServers{{Server: "db", ID: "id-db"}, {Server: "g/*", ID: "id-g"}}
	whole, member := contract.HeatWaitAbout{Wait: "hotc_done"}, contract.HeatWaitAbout{Stack: "g/0", Wait: "hotc_done"}
	type versions = map[contract.CellName]protocol.Count
	for _, c := range []struct {
		what       string
		about      contract.HeatWaitAbout
		db         string
		wrote, ran versions
		forged     versions // as the follower says of it
		change     func(*contract.Role)
		want       protocol.HeatWaitState
	}{
		{"it has run with what is there", whole, "done", versions{"db.mysql:own": {1, 2}}, versions{"db.mysql:own": {1, 2}}, nil, nil, protocol.HeatDone},
		{"it has not", whole, "done", versions{"db.mysql:own": {1, 2}}, versions{"db.mysql:own": {1, 1}}, nil, nil, protocol.HeatWaits},
		{"it has run before there was one", whole, "done", versions{"db.mysql:own": {1, 1}}, nil, nil, nil, protocol.HeatWaits},
		{"another machine wrote the same number", whole, "done", versions{"db.mysql:own": {2, 1}}, versions{"db.mysql:own": {1, 1}}, nil, nil, protocol.HeatWaits},
		{"who writes it has failed meanwhile", whole, "not-updated", versions{"db.mysql:own": {1, 2}}, versions{"db.mysql:own": {1, 1}}, nil, nil, protocol.HeatFailed},
		{"an agent that does not say what it wrote", whole, "done", nil, versions{"db.mysql:own": {1, 1}}, nil, nil, protocol.HeatDone},
		{"of a member's own wait", member, "done", versions{"db.mysql:own": {1, 2}}, versions{"db.mysql:own": {1, 1}}, nil, nil, protocol.HeatDone},
		{"the follower says what another has written", whole, "done", nil, versions{"db.mysql:own": {1, 1}}, versions{"db.mysql:own": {9, 9}}, nil, protocol.HeatDone},
		{"it does not watch it", whole, "done", versions{"db.mysql:own": {1, 2}}, versions{"db.mysql:own": {1, 1}}, nil, func(r *contract.Role) { r.Follows[0].Watch = false }, protocol.HeatDone},
		{"nothing brings it up to date", whole, "done", versions{"db.mysql:own": {1, 2}}, versions{"db.mysql:own": {1, 1}}, nil, func(r *contract.Role) { r.Idempotent = false }, protocol.HeatDone},
	} {
		kept, follows := *follower, follower.Follows[0]
		if c.change != nil {
			c.change(follower)
		}
		db, g := ran(p, "db", "id-db", "mysql="+c.db+" backup=done"), ran(p, "g/0", "id-g", "join=done")
		db.State.Wrote, g.State.Wrote, g.State.Roles[0].Followed = c.wrote, c.forged, c.ran
		got := decide(contract.HeatWait{About: c.about, Servers: named}, p, map[contract.ServerPath]relay.Server{"db": db, "g/0": g}, nil)
		if got.state != c.want {
			t.Errorf("%s: %+v, want %s", c.what, got, c.want)
		}
		if want := "role g/0.join: to be updated: it has not run yet with the new db.mysql:own"; c.want == protocol.HeatWaits && got.reason != want {
			t.Errorf("%s: %q", c.what, got.reason)
		}
		*follower, kept.Follows[0] = kept, follows
	}
}

// What keeps a role behind fails a wait only while the role that has failed stays so: not where that one
// runs again, has run, or is to run as a changed plan has it.
func TestWaitForARoleBehindOneThatRunsAgain(t *testing.T) {
	p := site()
	p.Servers[0].Writes = []contract.CellName{"db.mysql:own"}
	for i := range p.Servers[0].Roles {
		p.Servers[0].Roles[i].Idempotent = true
	}
	follower := &p.Servers[1].Roles[0]
	follower.Idempotent = true
	follower.Follows = []contract.Follow{{Cell: "db.mysql:own", Watch: true}}
	w := contract.HeatWait{Servers: contract.HeatServers{{Server: "g/*", ID: "id-g"}, {Server: "db", ID: "id-db"}}}
	at := map[contract.CellName]protocol.Count{"db.mysql:own": {1, 2}}
	for backup, want := range map[string]protocol.HeatWaitState{
		"failed": protocol.HeatFailed, "not-updated": protocol.HeatFailed,
		"running": protocol.HeatWaits, "pending": protocol.HeatWaits, "old": protocol.HeatWaits, "updating": protocol.HeatWaits, "done": protocol.HeatWaits,
		"not-updated and changed since": protocol.HeatWaits,
	} {
		status, _, changed := strings.Cut(backup, " ")
		db, g := ran(p, "db", "id-db", "mysql=done backup="+status), ran(p, "g/0", "id-g", "join=done")
		if changed {
			db.State.Roles[1].Made = "of another plan"
		}
		db.State.Wrote = at
		g.State.Roles[0].Behind = &protocol.BehindState{Seen: at, Cause: &protocol.Cause{Role: "db.backup", Reason: "exit status 3"}}
		if got := decide(w, p, map[contract.ServerPath]relay.Server{"db": db, "g/0": g}, nil); got.state != want {
			t.Errorf("the one that has failed is %s: %+v, want %s", backup, got, want)
		}
	}
}
