package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// aRole is one whose outputs and reads are cells of these names.
func aRole(server contract.ServerPath, name string, hook bool, writes []string, reads ...contract.CellName) contract.Role {
	r := contract.Role{Name: name, Driver: "script", Source: json.RawMessage(`{"text":"true"}`)}
	for _, w := range writes {
		r.Outputs = append(r.Outputs, contract.Output{Name: w, Cell: contract.CellName(fmt.Sprintf("%s.%s:%s", server, name, w)), Type: contract.String})
	}
	for _, cell := range reads {
		r.Inputs = append(r.Inputs, deploytest.InputOf(string(cell), cell))
	}
	if hook {
		r.Hooks = []contract.Task{{Name: contract.HookUpdate, Source: json.RawMessage(`{"text":"true"}`)}}
	}
	return r
}

// planOf makes a plan of servers with their roles: its cells follow from these.
func planOf(sealed []contract.CellName, servers ...contract.Server) *contract.Plan {
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: contract.NobodySignals}
	cell := func(c contract.Cell) {
		c.Sealed = slices.Contains(sealed, c.Name)
		p.Cells = append(p.Cells, c)
	}
	for i := range servers {
		s := &servers[i]
		for _, f := range s.Facts {
			cell(contract.Cell{Name: s.Path.Fact(f), Server: s.Path})
		}
		for _, r := range s.Roles {
			for _, o := range r.Outputs {
				cell(contract.Cell{Name: o.Cell, Server: s.Path, Role: r.Name})
			}
			cell(contract.Cell{Name: contract.CellName(string(s.Path) + "." + r.Name), Server: s.Path, Role: r.Name})
			for _, f := range r.Files {
				if !slices.ContainsFunc(p.Files, func(g contract.File) bool { return g.Digest == f }) {
					p.Files = append(p.Files, contract.File{Digest: f, Size: int64(len(deploytest.Scripts[f])), Name: f[:4]})
				}
			}
		}
	}
	p.Servers = servers
	p.Derive()
	return p
}

func withFiles(r contract.Role, files ...string) contract.Role {
	r.Files = files
	return r
}

// before and after are two plans between which all kinds of things come and go: the edge
// between db and app is turned, cache comes, lb goes, as do roles, outputs, facts, a sealed cell,
// readers of a set, and secrets that the operator gives.
func before() *contract.Plan {
	var servers []contract.Server
	servers = append(servers,
		contract.Server{Path: "db", Facts: []contract.Fact{contract.FactName}, Roles: []contract.Role{
			withFiles(aRole("db", "mysql", true, []string{"endpoint", "password", "old"}), deploytest.MysqlScript), aRole("db", "backup", true, []string{"place"}, "/operator:pw")}},
		contract.Server{Path: "app", Roles: []contract.Role{withFiles(aRole("app", "web", true, []string{"port"}, "db.mysql:endpoint", "db.mysql:password", "/operator:key"), deploytest.WebScript)}},
		contract.Server{Path: "lb", Roles: []contract.Role{withFiles(aRole("lb", "proxy", true, []string{"url"}, "app.web:port", "db.mysql:password", "db:name", "/operator:pw"), deploytest.WebScript)}})
	for i := range 10 {
		s := contract.ServerPath(fmt.Sprintf("node/%d", i))
		servers = append(servers, contract.Server{Path: s, Roles: []contract.Role{withFiles(aRole(s, "work", true, nil, "db.mysql:old", "db.backup:place"), deploytest.WebScript)}})
	}
	p := planOf([]contract.CellName{"db.mysql:password"}, servers...)
	p.Secrets = []contract.Secret{{Name: "pw", Cell: "/operator:pw", Declaration: json.RawMessage(`{}`)},
		{Name: "key", Cell: "/operator:key", Declaration: json.RawMessage(`{}`)}}
	return p
}

func after() *contract.Plan {
	var servers []contract.Server
	servers = append(servers,
		contract.Server{Path: "app", Facts: []contract.Fact{contract.FactName}, Roles: []contract.Role{
			withFiles(aRole("app", "web", true, []string{"port", "token"}), deploytest.WebScript), withFiles(aRole("app", "watch", false, nil, "db.mysql:endpoint"), deploytest.WebAgain)}},
		contract.Server{Path: "db", Roles: []contract.Role{
			aRole("db", "tune", false, nil, "app:name", "/operator:pw"), withFiles(aRole("db", "mysql", true, []string{"endpoint", "old"}, "app.web:port", "app.web:token"), deploytest.MysqlScript)}},
		contract.Server{Path: "cache", Facts: []contract.Fact{contract.FactName}, Roles: []contract.Role{withFiles(aRole("cache", "redis", false, []string{"auth"}, "app.web:token", "/operator:pw"), deploytest.WebAgain)}})
	for i := range 11 {
		if i == 3 {
			continue
		}
		s := contract.ServerPath(fmt.Sprintf("node/%d", i))
		servers = append(servers, contract.Server{Path: s, Roles: []contract.Role{withFiles(aRole(s, "work", true, nil, "db.mysql:old", "cache.redis:auth"), deploytest.WebScript)}})
	}
	p := planOf([]contract.CellName{"app.web:token", "cache.redis:auth"}, servers...)
	p.Secrets = []contract.Secret{{Name: "pw", Cell: "/operator:pw", Declaration: json.RawMessage(`{}`)}}
	return p
}

// standing is a tree as far as a plan says it: nodes, what the operator has written, and who may
// do what. Files are left out, which may stay a while, and what agents have made.
func standing(t *testing.T, b deploytest.Bed, p *contract.Plan) map[store.Path]string {
	t.Helper()
	s, all := b.Operator(t), map[store.Path]string{}
	servers := map[store.Path]bool{}
	for _, server := range p.Servers {
		servers[deploytest.Site.Server(server.Path)] = true
	}
	servers[deploytest.Site.Server(contract.Operator)] = true
	parts := map[store.Path]bool{}
	for _, n := range treeOf(t, s, deploytest.Site.Root()) {
		server := n.Path
		for server.Parent() != deploytest.Site.Servers() && server != "" {
			server = server.Parent()
		}
		kind := strings.TrimPrefix(string(n.Path), string(server)+"/")
		switch {
		case n.Path.Parent() == deploytest.Site.Files(), n.Path.Parent().Parent() == deploytest.Site.Files(), strings.HasPrefix(kind, "agent/"):
			continue
		case server != "" && !servers[server]: // taken out
			if n.Path != server && kind != "identity" {
				t.Errorf("%s is left of a server that was taken out", n.Path)
			}
			continue
		}
		grants, err := s.Rights(t.Context(), n.Path)
		if err != nil {
			t.Fatal(err)
		}
		data := ""
		switch {
		case n.Path == deploytest.Site.Root():
			var r protocol.DeploymentRecord
			if err := json.Unmarshal(sign.Bare(n.Data), &r); err != nil {
				t.Fatal(err)
			}
			data = r.Plan + r.Updating
		case kind == "plan" || kind == "keys" || n.Path == deploytest.Site.Plan():
			text, _, err := protocol.ReadParts(t.Context(), s, n.Path)
			if err != nil {
				t.Fatal(err)
			}
			data, parts[n.Path] = string(sign.Bare(text)), true
		case kind == "identity":
			var r protocol.IdentityRecord
			var is protocol.Identity
			if json.Unmarshal(n.Data, &r) != nil || json.Unmarshal(sign.Bare(r.Identity), &is) != nil {
				t.Fatalf("%s holds %s", n.Path, n.Data)
			}
			data = fmt.Sprint(is.Server, is.Removed)
		}
		if !parts[n.Path.Parent()] {
			all[n.Path] = fmt.Sprint(data, grants)
		}
	}
	return all
}

func differ(t *testing.T, what string, got, want map[store.Path]string) {
	t.Helper()
	for path, is := range want {
		if got[path] != is {
			t.Errorf("%s: %s is %q, want %q", what, path, got[path], is)
		}
	}
	for path := range got {
		if _, is := want[path]; !is {
			t.Errorf("%s: %s is there", what, path)
		}
	}
}

// outside holds that the token of a server that was taken out, and what it knew besides, opens
// nothing but what says so.
func outside(t *testing.T, b deploytest.Bed, server contract.ServerPath, sets map[string]string) {
	t.Helper()
	creds := []store.Credential{protocol.ServerCredential(server, deploytest.TokenOf(server))}
	for id, password := range sets {
		creds = append(creds, protocol.ReaderCredential(id, password))
	}
	s := b.Open(t, creds...)
	for _, n := range treeOf(t, b.Operator(t), deploytest.Site.Root()) {
		_, err := s.Read(t.Context(), n.Path)
		open := n.Path == deploytest.Site.Server(server) || n.Path == deploytest.Site.Identity(server)
		if open != (err == nil) || !open && !errors.Is(err, store.ErrRefused) {
			t.Errorf("with the token of %s: %s: %v", server, n.Path, err)
		}
		if err := s.Commit(t.Context(), store.Op{Path: n.Path, Version: store.AnyVersion, Write: true, Data: []byte("x")}); !errors.Is(err, store.ErrRefused) {
			t.Errorf("with the token of %s: write %s: %v", server, n.Path, err)
		}
		if err := s.Create(t.Context(), []store.NewNode{{Path: n.Path.Join("x"), Data: []byte("x")}}); !errors.Is(err, store.ErrRefused) {
			t.Errorf("with the token of %s: below %s: %v", server, n.Path, err)
		}
	}
}

func setsOf(t *testing.T, b deploytest.Bed, server contract.ServerPath) map[string]string {
	t.Helper()
	node, err := b.Operator(t).Read(t.Context(), deploytest.Site.Keys(server))
	if err != nil {
		t.Fatal(err)
	}
	var keys protocol.KeysRecord
	if err := json.Unmarshal(sign.Bare(node.Data), &keys); err != nil {
		t.Fatal(err)
	}
	return keys.Sets
}

// runs makes agents of some servers, whose roles are done.
func runs(t *testing.T, b deploytest.Bed, p *contract.Plan) map[contract.ServerPath]*member.Session {
	t.Helper()
	all := map[contract.ServerPath]*member.Session{}
	for _, s := range p.Servers {
		if s.Path == "node/7" {
			continue
		}
		m := b.Keyed(t, s.Path, "first")
		state := protocol.ServerState{Phase: protocol.PhaseDone}
		for _, r := range s.Roles {
			state.Roles = append(state.Roles, protocol.RoleState{Name: r.Name, Status: protocol.RoleDone})
		}
		if err := m.Report(t.Context(), state, nil); err != nil {
			t.Fatal(err)
		}
		all[s.Path] = m
	}
	return all
}

// All that comes and goes is there, or gone, as if the plan had been applied afresh.
func TestAPlanIsReshaped(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		fresh := deploytest.InMemory()
		fresh.Publish(t, after())
		b.Publish(t, before())
		sets := setsOf(t, b, "node/3")
		if len(sets) == 0 {
			t.Fatal("the sample has no set of readers")
		}
		agents := runs(t, b, before())
		held := treeOf(t, b.Operator(t), deploytest.Site.Root())
		rehearsed, err := deploy.Rehearse(t.Context(), b.Open(t), deploytest.Publication(after()))
		if err != nil || len(treeOf(t, b.Operator(t), deploytest.Site.Root())) != len(held) {
			t.Fatalf("rehearsed: %v", err)
		}
		done := b.Publish(t, after())
		if !slices.Equal(done.Shape, rehearsed.Shape) || told(done.Changes) != told(rehearsed.Changes) {
			t.Errorf("rehearsed %q, %s; done %q, %s", rehearsed.Shape, told(rehearsed.Changes), done.Shape, told(done.Changes))
		}
		differ(t, "changed", standing(t, b, after()), standing(t, fresh, after()))
		outside(t, b, "lb", nil)
		outside(t, b, "node/3", sets)
		if err := agents["lb"].Put(t.Context(), "lb.proxy:url", json.RawMessage(`"x"`), deploytest.Noon); err == nil {
			t.Error("a server that was taken out writes")
		}
		if again := b.Publish(t, after()); again.Outcome != deploy.Unchanged {
			t.Errorf("the same again: %s", again.Outcome)
		}
		// And back: servers come again under their names, with numbers that go on.
		b.Publish(t, before())
		differ(t, "back", standing(t, b, before()), func() map[store.Path]string {
			fresh := deploytest.InMemory()
			fresh.Publish(t, before())
			return standing(t, fresh, before())
		}())
		outside(t, b, "cache", nil)
		if err := agents["lb"].Put(t.Context(), "lb.proxy:url", json.RawMessage(`"x"`), deploytest.Noon); err == nil {
			t.Error("a machine that was taken out is the server again")
		}
		m := b.Keyed(t, "lb", "second")
		if r, err := m.Enrol(t.Context(), "second", "i-second", true, deploytest.Noon); err != nil || r.Incarnation.Number != 3 { // one was the operator's, who took it out
			t.Errorf("the server that came again is %+v, %v", r, err)
		}
	})
}

// Wherever it is interrupted, the same command finishes it; and so does the way back.
func TestAnInterruptedReshapingIsFinished(t *testing.T) {
	trees := map[bool]map[store.Path]string{}
	for _, back := range []bool{false, true} {
		fresh, p := deploytest.InMemory(), after()
		if back {
			p = before()
		}
		fresh.Publish(t, p)
		trees[back] = standing(t, fresh, p)
	}
	play := func(t *testing.T, b deploytest.Bed, n int, late, back bool) (died bool) {
		b.Publish(t, before())
		sets := setsOf(t, b, "node/3")
		runs(t, b, before())
		s := &dying{Session: b.Open(t), left: n, after: late}
		_, err := deploy.Publish(t.Context(), s, deploytest.Publication(after()))
		if err == nil {
			return false
		}
		if !errors.Is(err, errPlug) {
			t.Fatal(err)
		}
		p := after()
		if back {
			p = before()
		}
		if _, err := b.Apply(t, p); err != nil {
			t.Fatalf("after %d writes, again: %v", n, err)
		}
		differ(t, fmt.Sprintf("after %d writes (%v, %v)", n, late, back), standing(t, b, p), trees[back])
		if got := b.Publish(t, p); got.Outcome != deploy.Unchanged {
			t.Errorf("once more: %s", got.Outcome)
		}
		if !back {
			outside(t, b, "lb", nil)
			outside(t, b, "node/3", sets)
		}
		return !t.Failed()
	}
	writes := 1
	for play(t, deploytest.InMemory(), writes, false, false) {
		if writes += seedtest.Cases(1, 20); writes > 2000 {
			t.Fatal("it never comes to its end")
		}
	}
	for n := 1; n < writes && !t.Failed(); n += seedtest.Cases(5, 50) {
		play(t, deploytest.InMemory(), n, n%2 == 0, true)
	}
	if !t.Failed() {
		for n := 1; n < writes; n += writes / 5 {
			play(t, deploytest.InZooKeeper(t), n, n%2 == 0, n%3 == 0)
		}
	}
}

// A file that a server has used by an earlier plan closes, too, when the server goes.
func TestFilesCloseForWhoGoes(t *testing.T) {
	b := deploytest.InMemory()
	plan := func(servers ...contract.Server) *contract.Plan { return planOf(nil, servers...) }
	app := contract.Server{Path: "app", Roles: []contract.Role{withFiles(aRole("app", "web", false, nil), deploytest.WebScript)}}
	b.Publish(t, plan(app, contract.Server{Path: "lb", Roles: []contract.Role{withFiles(aRole("lb", "proxy", false, nil), deploytest.WebScript)}}))
	b.Publish(t, plan(app, contract.Server{Path: "lb", Roles: []contract.Role{aRole("lb", "proxy", false, nil)}}))
	b.Publish(t, plan(app))
	outside(t, b, "lb", nil)
}

// So it is where tokens are good for one enrolment: those who come have passes, those who go
// leave none.
func TestAPlanIsReshapedWhereTokensAreGoodOnce(t *testing.T) {
	b, fresh := deploytest.InMemory(), deploytest.InMemory()
	for _, x := range []struct {
		b deploytest.Bed
		p *contract.Plan
	}{{b, before()}, {fresh, after()}} {
		if _, err := deploy.Publish(t.Context(), x.b.Open(t), deploytest.Publication(x.p, deploytest.Enrolling(protocol.EnrolOnce))); err != nil {
			t.Fatal(err)
		}
	}
	lb := b.Join(t, deploytest.NewMachine(t, "lb", "one"), false)
	b.Publish(t, after())
	differ(t, "changed", standing(t, b, after()), standing(t, fresh, after()))
	outside(t, b, "lb", nil)
	if err := lb.Put(t.Context(), "lb.proxy:url", json.RawMessage(`"x"`), deploytest.Noon); !errors.Is(err, member.ErrFenced) && !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("a server that was taken out writes: %v", err)
	}
	if err := lb.Removed(t.Context()); err == nil {
		t.Error("it is not told that it was taken out")
	}
	b.Join(t, deploytest.NewMachine(t, "cache", "one"), false)
}

// Of a server that goes it is said that its roles go, if a machine has ever been that server.
func TestNothingIsSaidOfServersThatNeverCame(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.ThreeTier()
	spare := p.Servers[2]
	spare.Path = "spare"
	spare.Roles = []contract.Role{{Name: "proxy", At: "site.yaml:35:9", Driver: "script", Source: json.RawMessage(`{"text":"true"}`)}}
	p.Servers = append(p.Servers, spare)
	p.Cells = append(p.Cells, contract.Cell{Name: "spare.proxy", Server: "spare", Role: "proxy"})
	last := spare
	last.Path = "last"
	p.Servers = append(p.Servers, last)
	p.Cells = append(p.Cells, contract.Cell{Name: "last.proxy", Server: "last", Role: "proxy"})
	b.Publish(t, p)
	b.Agent(t, "spare")
	done := b.Publish(t, deploytest.ThreeTier())
	if len(done.Changes) != 1 || done.Changes[0].Key() != "spare.proxy" || done.Changes[0].Effect != deploy.EffectRemoved {
		t.Errorf("%+v", done.Changes)
	}
}

// A change that removes a server is overtaken, just before it does, by one that keeps the server: it
// stays, and its machine can be the server.
func TestAServerThatALaterChangeKeeps(t *testing.T) {
	b := deploytest.InMemory()
	app := contract.Server{Path: "app", Roles: []contract.Role{aRole("app", "web", false, nil)}}
	lb := contract.Server{Path: "lb", Roles: []contract.Role{aRole("lb", "proxy", false, nil)}}
	b.Publish(t, planOf(nil, app, lb))
	keeps := planOf(nil, app, lb, contract.Server{Path: "db", Roles: []contract.Role{aRole("db", "mysql", false, nil)}})
	s := &deploytest.Between{Session: b.Open(t), Do: func() { b.Publish(t, keeps) }, When: func(ops []store.Op) bool {
		return slices.ContainsFunc(ops, func(op store.Op) bool { return op.Write && op.Path == deploytest.Site.Identity("lb") })
	}}
	if _, err := deploy.Publish(t.Context(), s, deploytest.Publication(planOf(nil, app))); !errors.Is(err, deploy.ErrOvertaken) {
		t.Errorf("the first change: %v, want ErrOvertaken", err)
	}
	b.ExpectWhole(t, keeps)
	b.Agent(t, "lb")
}
