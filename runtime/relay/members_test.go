package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// What a list of Heat's says of a machine depends on what was known of it.
func TestMembersOfAList(t *testing.T) {
	type number = map[contract.ServerPath]int
	for _, c := range []struct {
		what                string
		there, gone         number
		machine             *relay.Server
		listed              bool
		wantThere, wantGone number
		left                bool
		lost                bool
	}{
		{"it came and left while no relay was there", nil, number{"w": 1}, &relay.Server{Incarnation: 2, Instance: "i"}, false, number{}, number{"w": 2}, true, true},
		{"nobody has come", nil, nil, &relay.Server{}, false, number{}, number{}, false, false},
		{"an agent is faster than Heat", nil, nil, &relay.Server{Incarnation: 1, Instance: "i"}, false, number{}, number{}, false, false},
		{"it has come", nil, nil, &relay.Server{Incarnation: 1, Instance: "i"}, true, number{"w": 1}, number{}, false, false},
		{"it is there", number{"w": 1}, nil, &relay.Server{Incarnation: 1, Instance: "i"}, true, number{"w": 1}, number{}, false, false},
		{"it has left", number{"w": 1}, nil, &relay.Server{Incarnation: 1, Instance: "i"}, false, number{}, number{"w": 1}, true, false},
		{"it is away", nil, number{"w": 1}, &relay.Server{Incarnation: 1, Instance: "i"}, false, number{}, number{"w": 1}, false, false},
		{"Heat has it after all", nil, number{"w": 1}, &relay.Server{Incarnation: 1, Instance: "i"}, true, number{"w": 1}, number{}, false, false},
		{"the next one is faster than Heat", nil, number{"w": 1}, &relay.Server{Incarnation: 2, Instance: "j"}, false, number{}, number{"w": 1}, false, false},
		{"the next one has come", nil, number{"w": 1}, &relay.Server{Incarnation: 2, Instance: "j"}, true, number{"w": 2}, number{"w": 1}, false, false},
		{"one takes the other's place", number{"w": 1}, nil, &relay.Server{Incarnation: 2, Instance: "j"}, false, number{}, number{"w": 1}, false, false},
		{"nothing of it was read yet", number{"w": 2}, number{"w": 1}, nil, false, number{"w": 2}, number{"w": 1}, false, false},
		{"the coordinator was put back", number{"w": 2}, number{"w": 1}, &relay.Server{Incarnation: 1, Instance: "i"}, false, number{}, number{"w": 1}, false, false},
	} {
		servers := map[contract.ServerPath]relay.Server{}
		if c.machine != nil {
			servers["w"] = *c.machine
		}
		listed := func(contract.ServerPath, string) bool { return c.listed }
		now, left := members(protocol.MembersRecord{Stack: "s", There: c.there, Gone: c.gone}, "s", listed, []contract.ServerPath{"w"}, servers, func(contract.ServerPath, int) bool { return c.lost })
		if !maps.Equal(now.There, c.wantThere) || !maps.Equal(now.Gone, c.wantGone) || left != c.left {
			t.Errorf("%s: there %v, gone %v, left %v", c.what, now.There, now.Gone, left)
		}
	}
}

// A relay that still has an older plan takes back nothing of what is known of later members.
func TestMembersOfAnotherPlan(t *testing.T) {
	type number = map[contract.ServerPath]int
	before := protocol.MembersRecord{Stack: "s", There: number{"w": 1, "later": 3}, Gone: number{"later": 2, "last": 1}}
	now, left := members(before, "s", func(_ contract.ServerPath, id string) bool { return id == "i" }, []contract.ServerPath{"w"}, map[contract.ServerPath]relay.Server{"w": {Incarnation: 1, Instance: "i"}}, nil)
	if !maps.Equal(now.There, before.There) || !maps.Equal(now.Gone, before.Gone) || left {
		t.Errorf("there %v, gone %v, left %v", now.There, now.Gone, left)
	}
}

// A list of what Heat has of a group's members leaves out what others say of them: the root's
// own wait is as old as its last update.
func TestListedMembers(t *testing.T) {
	one := func(stack, role, id string) wait {
		return wait{HeatWait: contract.HeatWait{About: contract.HeatWaitAbout{Stack: stack, Role: role}, Servers: contract.HeatServers{{Server: "x", ID: id}}}}
	}
	got := listed("tier/web", []wait{one("", "", "root"), one("tier/web/0", "", "a"), one("tier/web/*", "", "b"), one("tier/web/1", "serve", "role"),
		one("tier/web/1/inner/0", "", "below"), one("tier/website/1", "", "other"), one("tier/web/2", "", "")})
	if want := map[machine]bool{{"x", "a"}: true, {"x", "b"}: true}; !maps.Equal(got, want) {
		t.Errorf("listed are %v, want %v", got, want)
	}
	// A server behind a condition is in the waits of all stacks around it.
	if got := listed("x", []wait{one("", "", "root"), one("", "serve", "role"), one("", "", "")}); !maps.Equal(got, map[machine]bool{{"x", "root"}: true}) {
		t.Errorf("of the server x are listed %v", got)
	}
}

// clocked is a coordinator whose clock is a day ahead, in which a machine came.
type clocked struct {
	store.Session
	came time.Time
}

func (c clocked) Written(_ context.Context, path store.Path) (time.Time, error) {
	at := time.Now()
	if path == blog.Server("db") {
		at = c.came
	}
	return at.Add(24 * time.Hour), nil
}

// A machine that came and went while no relay was there is found, however often relays are started
// again, each after a moment; not before it has been there for long, by the coordinator's clock, and
// not while its agent is there.
func TestALostMachineIsFoundByRelaysThatAreStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(p *contract.Plan) {
			p.Servers[0].Roles[0].Follows = []contract.Follow{{Cell: "db.mysql:own", Watch: true, Member: &contract.Member{Group: "g", Server: "db"}}}
		})
		w.machine("id-1")
		came := time.Now()
		relays := func(many int) {
			for n := range many {
				ctx, kill := context.WithCancel(t.Context())
				ended := w.relay(ctx, fmt.Sprint("relay-", n), func(r *Relay) {
					r.Every, r.Store = time.Second, clocked{r.Store, came}
				})
				time.Sleep(3 * time.Second)
				kill()
				<-ended
			}
		}
		relays(90)
		w.saidOf("g", `map[] map[]`)
		agent := w.tree.Open(protocol.ServerCredential("db", w.secret.ServerToken(blog, "db")))
		there, dies := context.WithCancel(t.Context())
		if err := agent.Announce(there, blog.Presence("db"), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		relays(20)
		w.saidOf("g", `map[] map[]`)
		dies()
		agent.Close()
		relays(1)
		w.saidOf("g", `map[] map[db:1]`)
	})
}

// A relay writes who leaves a group, one that takes over from it knows who was there, and a
// stack that is deleted tells nobody.
func TestRelayTellsMembers(t *testing.T) {
	w := newWorld(t, func(p *contract.Plan) {
		p.Servers[0].Roles[0].Follows = []contract.Follow{{Cell: "db.mysql:own", Watch: true, Member: &contract.Member{Group: "g", Server: "db"}}}
	})
	here := func(ids ...string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		maps.DeleteFunc(w.waits, func(id string, _ *heat.Deployment) bool { return id != "w1" })
		for _, id := range ids {
			text, _ := json.Marshal(contract.HeatServers{{Server: "db", ID: id}})
			w.waits["here-"+id] = &heat.Deployment{ID: "here-" + id, Status: "COMPLETE", Inputs: map[string]json.RawMessage{
				"hotc": json.RawMessage(`{"format":1,"deployment":"blog","stack":"g/0","wait":"hotc_here","here":true}`), "servers": text}}
		}
	}
	here("id-1")
	ctx, kill := context.WithCancel(t.Context())
	ended := w.relay(ctx, "first", nil)
	w.machine("id-1")
	w.saidOf("g", `map[db:1] map[]`)
	kill()
	<-ended
	here()
	w.relay(t.Context(), "second", nil)
	w.saidOf("g", `map[] map[db:1]`)
	w.machine("id-2")
	here("id-2")
	w.saidOf("g", `map[db:2] map[db:1]`)
	w.mu.Lock()
	w.state = "DELETE_IN_PROGRESS"
	w.mu.Unlock()
	here()
	looks := w.looked()
	w.until("it has looked again", func() bool { return w.looked() > looks+5 })
	w.saidOf("g", `map[db:2] map[db:1]`)
	if got := w.said(); len(got) != 0 {
		t.Errorf("Heat was told %q", got)
	}
}

// saidOf waits until relays have said something of a group.
func (w *world) saidOf(group, want string) {
	w.t.Helper()
	key, err := w.secret.Relay(blog)
	if err != nil {
		w.t.Fatal(err)
	}
	got := ""
	w.until(want, func() bool {
		s, err := relay.Join(w.t.Context(), w.tree.Open(key.Credential()), key)
		if err != nil {
			w.t.Fatal(err)
		}
		m, err := s.Members(w.t.Context(), group)
		if err != nil {
			w.t.Fatal(err)
		}
		got = fmt.Sprint(m.There, m.Gone)
		return got == want
	})
}

// A stack is not complete before those who follow a group have run with all who are in it.
func TestWaitForFollowers(t *testing.T) {
	p := site()
	p.Servers[0].Roles[0].Idempotent = true
	p.Servers[0].Roles[0].Follows = []contract.Follow{{Cell: "g/0.join:x", Watch: true, Member: &contract.Member{Group: "g", Server: "g/0"}}}
	w := contract.HeatWait{Servers: contract.HeatServers{{Server: "db", ID: "id-db"}, {Server: "g/*", ID: "id-g"}}}
	for _, c := range []struct{ joined, want string }{
		{"join=running", "role g/0.join: running"}, {"join=failed", "g/0.join: exit status 3 (site.yaml:5:9); once the cause is fixed: hotc retry NAME g/0.join"},
		{"join=done", "role db.mysql: to be updated: g/0 has joined the group g"},
	} {
		member, follower := ran(p, "g/0", "id-g", c.joined), ran(p, "db", "id-db", "mysql=done backup=done")
		member.Incarnation = 2
		servers := map[contract.ServerPath]relay.Server{"g/0": member, "db": follower}
		if got := decide(w, p, servers, nil).reason; got != c.want {
			t.Errorf("%s: %q, want %q", c.joined, got, c.want)
		}
		follower.State.Roles[0].Followed = map[contract.CellName]protocol.Count{"g/0.join:x": {2, 5}}
		if got := decide(w, p, servers, nil).state; c.joined == "join=done" && got != protocol.HeatDone {
			t.Errorf("with it: %s", got)
		}
		member.Left, follower.State.Roles[0].Followed = true, nil
		servers["g/0"] = member
		if got := decide(w, p, servers, nil).state; c.joined == "join=done" && got != protocol.HeatDone {
			t.Errorf("where it has left: %s", got)
		}
	}
}

// late is a Heat whose first answer to a relay comes late.
type late struct {
	*cloud
	asked, answer chan struct{}
}

func (l *late) Deployments(ctx context.Context, server string) ([]heat.Deployment, error) {
	all, err := l.cloud.Deployments(ctx, server)
	select {
	case l.asked <- struct{}{}:
		<-l.answer
	default:
	}
	return all, err
}

// A relay that hears late what Heat had takes nobody out of a group who has joined meanwhile, as
// another relay has said.
func TestALateAnswerOfMembers(t *testing.T) {
	w := newWorld(t, func(p *contract.Plan) {
		p.Servers[0].Roles[0].Follows = []contract.Follow{{Cell: "db.mysql:own", Watch: true, Member: &contract.Member{Group: "g", Server: "db"}}}
	})
	w.machine("id-1")
	slow := &late{w.cloud, make(chan struct{}, 1), make(chan struct{})}
	w.relay(t.Context(), "slow", func(r *Relay) { r.Heat = slow })
	<-slow.asked
	slow.asked <- struct{}{} // no further answer is late
	text, _ := json.Marshal(contract.HeatServers{{Server: "db", ID: "id-1"}})
	w.mu.Lock()
	w.waits["here"] = &heat.Deployment{ID: "here", Status: "COMPLETE", Inputs: map[string]json.RawMessage{
		"hotc": json.RawMessage(`{"format":1,"deployment":"blog","stack":"g/0","wait":"hotc_here","here":true}`), "servers": text}}
	w.mu.Unlock()
	fast, kill := context.WithCancel(t.Context())
	killed := w.relay(fast, "fast", nil)
	w.saidOf("g", `map[db:1] map[]`)
	kill()
	<-killed
	store, path := w.tree.Open(w.secret.Operator(blog)), blog.Members("g")
	before, _, err := store.Stat(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	looks := w.looked()
	close(slow.answer)
	w.until("it has looked again", func() bool { return w.looked() > looks+2 })
	if now, _, err := store.Stat(t.Context(), path); err != nil || now != before {
		t.Errorf("the record was written %d times more: %v", now-before, err)
	}
}

// A member that Heat has deleted stays in no group by saying that it is another one's machine.
func TestAMemberInAnothersName(t *testing.T) {
	w := newWorld(t, func(p *contract.Plan) {
		p.Servers[0].Roles[0].Follows = []contract.Follow{{Cell: "db.mysql:own", Watch: true, Member: &contract.Member{Group: "g", Server: "db"}}}
	})
	here := func(server contract.ServerPath, id string) {
		text, _ := json.Marshal(contract.HeatServers{{Server: server, ID: id}})
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waits["here"] = &heat.Deployment{ID: "here", Status: "COMPLETE", Inputs: map[string]json.RawMessage{
			"hotc": json.RawMessage(`{"format":1,"deployment":"blog","stack":"g/0","wait":"hotc_here","here":true}`), "servers": text}}
	}
	here("db", "id-1")
	w.machine("id-1")
	w.relay(t.Context(), "relay", nil)
	w.saidOf("g", `map[db:1] map[]`)
	here("g/1", "id-2")
	w.saidOf("g", `map[] map[db:1]`)
	w.machine("id-2") // its token is good: it comes as another machine
	looks := w.looked()
	w.until("it has looked again", func() bool { return w.looked() > looks+3 })
	w.saidOf("g", `map[] map[db:1]`)
}

// Who has the token of a member that Heat has deleted comes back as machines that Heat never had, one
// after the other, and is there: after a while it is in no group, also for a relay that is started
// again. A machine that Heat names at last is a member.
func TestHeatsWordAboutMembersCountsInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(p *contract.Plan) {
			p.Servers[0].Roles[0].Follows = []contract.Follow{{Cell: "db.mysql:own", Watch: true, Member: &contract.Member{Group: "g", Server: "db"}}}
		})
		here := func(id string) {
			text, _ := json.Marshal(contract.HeatServers{{Server: "db", ID: id}})
			w.mu.Lock()
			defer w.mu.Unlock()
			w.waits["here"] = &heat.Deployment{ID: "here", Status: "COMPLETE", Inputs: map[string]json.RawMessage{
				"hotc": json.RawMessage(`{"format":1,"deployment":"blog","stack":"g/0","wait":"hotc_here","here":true}`), "servers": text}}
		}
		came := time.Now()
		relays := func(name string) (end func()) {
			ctx, kill := context.WithCancel(t.Context())
			ended := w.relay(ctx, name, func(r *Relay) { r.Every, r.Store = time.Second, clocked{r.Store, came} })
			return func() { kill(); <-ended }
		}
		here("id-1")
		w.machine("id-1")
		end := relays("first")
		w.saidOf("g", `map[db:1] map[]`)
		w.mu.Lock()
		delete(w.waits, "here") // Heat has deleted it
		w.mu.Unlock()
		w.saidOf("g", `map[] map[db:1]`)
		agent := w.tree.Open(protocol.ServerCredential("db", w.secret.ServerToken(blog, "db")))
		if err := agent.Announce(t.Context(), blog.Presence("db"), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		comes := func(number int) {
			t.Helper()
			data := fmt.Sprintf(`{"number":%d,"id":"x","instance":"made-up-%d"}`, number, number)
			if err := agent.Commit(t.Context(), store.Op{Path: blog.Server("db"), Version: store.AnyVersion, Write: true, Data: []byte(data)}); err != nil {
				t.Fatal(err)
			}
			came = time.Now()
		}
		for number := 2; number < 5; number++ {
			comes(number)
			time.Sleep(4 * time.Minute)
		}
		w.saidOf("g", `map[] map[db:4]`)
		end()
		comes(5)
		end = relays("second")
		time.Sleep(longestUnnamed - time.Minute)
		w.saidOf("g", `map[] map[db:4]`)
		time.Sleep(2 * time.Minute)
		w.saidOf("g", `map[] map[db:5]`)
		here("made-up-5")
		w.saidOf("g", `map[db:5] map[db:4]`)
		end()
	})
}
