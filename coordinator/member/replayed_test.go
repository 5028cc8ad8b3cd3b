package member_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// large is a plan whose parts for db and app have to be stored in several nodes.
func large(t *testing.T, letter string) *contract.Plan {
	t.Helper()
	return deploytest.WithUpdate(func(p *contract.Plan) {
		for i := range p.Servers[:2] {
			text, err := json.Marshal(strings.Repeat(letter+fmt.Sprint(i), 850<<10)) // three parts
			if err != nil {
				t.Fatal(err)
			}
			r := &p.Servers[i].Roles[0]
			r.Inputs = append(r.Inputs, contract.Input{Name: "big", Time: contract.Static, Expr: text, At: map[string]contract.Position{}})
		}
	})
}

// parts are the head of a text, and the nodes that hold it.
func parts(a deploytest.Attacker, path store.Path) (head string, nodes []store.Path, texts []string) {
	a.T.Helper()
	names, err := a.Store.Children(a.T.Context(), path)
	if err != nil {
		a.T.Fatal(err)
	}
	for _, name := range names {
		nodes = append(nodes, path.Join(name))
		texts = append(texts, a.Read(path.Join(name)))
	}
	return a.Read(path), nodes, texts
}

func create(a deploytest.Attacker, path store.Path, text string) {
	a.T.Helper()
	grants := []store.Grant{{To: deploytest.Secret.Operator(deploytest.Site).Principal(), May: store.MayAll}, {To: protocol.ServerCredential("db", deploytest.TokenOf("db")).Principal(), May: store.MayRead}}
	if err := a.Store.Create(a.T.Context(), []store.NewNode{{Path: path, Data: []byte(text), Grants: grants}}); err != nil {
		a.T.Fatal(err)
	}
}

// Somebody changes the parts in which a plan is stored, with what he has seen of it, of another
// version or of another server: neither a running agent nor a new one takes that for a plan, and both
// say what they found; once it is undone they go on.
func TestPartsThatAreNoPlan(t *testing.T) {
	b, db := deploytest.InMemory(), newRemains(t, "db", "d1")
	path := deploytest.Site.ServerPlan("db")
	b.Publish(t, large(t, "x"))
	a, m := b.Attacker(t), b.MustBegin(t, db, 0)
	_, _, before := parts(a, path)
	b.Publish(t, large(t, "y"))
	if _, err := m.PlanAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	head, nodes, texts := parts(a, path)
	_, _, others := parts(a, deploytest.Site.ServerPlan("app"))
	last := len(nodes) - 1
	if last != 2 || len(before) != len(nodes) || len(others) != len(nodes) {
		t.Fatal(len(before), len(nodes), len(others))
	}
	count := func(n int) string { return strings.Replace(head, `"parts":3`, fmt.Sprintf(`"parts":%d`, n), 1) }
	for what, attack := range map[string]func(){
		"the last part is cut off":       func() { a.Write(path, count(2)) },
		"two parts are swapped":          func() { a.Write(nodes[0], texts[1]); a.Write(nodes[1], texts[0]) },
		"the first is of before":         func() { a.Write(nodes[0], before[0]) },
		"the last is of before":          func() { a.Write(nodes[last], before[last]) },
		"one is of another server":       func() { a.Write(nodes[1], others[1]) },
		"an empty part":                  func() { a.Write(nodes[1], "") },
		"the last part is empty":         func() { a.Write(nodes[last], "") },
		"the first part alone":           func() { a.Write(path, texts[0]) },
		"one more":                       func() { create(a, nodes[last][:len(nodes[last])-1]+"4", "more"); a.Write(path, count(4)) },
		"an empty one more":              func() { create(a, nodes[last][:len(nodes[last])-1]+"4", "}"); a.Write(path, count(4)) },
		"thousands":                      func() { a.Write(path, count(9999)) },
		"more than a count can be":       func() { a.Write(path, count(10000)) },
		"none":                           func() { a.Write(path, count(0)) },
		"parts without a name":           func() { a.Write(path, `{"parts":3}`) },
		"a part that counts parts again": func() { a.Write(nodes[0], head) },
	} {
		attack()
		for who, plan := range map[string]func() (*contract.Server, error){
			"the running agent": func() (*contract.Server, error) { return m.PlanAgain(t.Context()) },
			"after a restart": func() (*contract.Server, error) {
				_, p, err := b.Comes(t, "db", deploytest.TokenOf("db"), db.Disk)
				return p, err
			},
			"a new machine": func() (*contract.Server, error) {
				_, p, err := b.Comes(t, "db", deploytest.TokenOf("db"), &deploytest.Disk{})
				return p, err
			},
		} {
			p, err := plan()
			if p != nil || err == nil || errors.Is(err, member.ErrDestroyed) || !strings.Contains(err.Error(), "plan of server db") {
				t.Errorf("%s, %s: %v", what, who, err)
			}
		}
		if err := a.Store.DeleteTree(t.Context(), nodes[last][:len(nodes[last])-1]+"4"); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		a.Write(path, head)
		for i, text := range texts {
			a.Write(nodes[i], text)
		}
	}
	a.Write(path, count(9999)) // which would be 7 GiB
	_, err := m.PlanAgain(t.Context())
	expectForged(t, "thousands", err, "9999 parts")
	a.Write(path, head)
	create(a, nodes[last][:len(nodes[last])-1]+"4", "nobody counts it")
	if p, err := m.PlanAgain(t.Context()); err != nil || !strings.Contains(string(p.Roles[0].Inputs[0].Expr), "y0y0") {
		t.Errorf("all of it: %v", err)
	}
	b.Publish(t, large(t, "z"))
	if p, err := m.PlanAgain(t.Context()); err != nil || !strings.Contains(string(p.Roles[0].Inputs[0].Expr), "z0z0") {
		t.Errorf("the next one: %v", err)
	}
}

// An operator changes a plan after somebody has deleted it, a part of it, or what it says: no server
// counts as new for that, whose roles have run and would not be asked for their hooks; and the change
// puts it right.
func TestAChangeOfAPlanThatIsNotThere(t *testing.T) {
	path := deploytest.Site.ServerPlan("app")
	remove := func(a deploytest.Attacker, path store.Path) {
		if err := a.Store.DeleteTree(a.T.Context(), path); err != nil {
			a.T.Fatal(err)
		}
	}
	for what, attack := range map[string]func(a deploytest.Attacker){
		"a part":        func(a deploytest.Attacker) { _, nodes, _ := parts(a, path); remove(a, nodes[1]) },
		"all of it":     func(a deploytest.Attacker) { remove(a, path) },
		"what it says":  func(a deploytest.Attacker) { a.Write(path, "") },
		"all it is for": func(a deploytest.Attacker) { a.Write(path, "{}") },
	} {
		b := deploytest.InMemory()
		b.Publish(t, large(t, "x"))
		app := b.Agent(t, "app")
		deploytest.Stands(t, app, "web", protocol.RoleDone)
		attack(b.Attacker(t))
		without := large(t, "y")
		without.Servers[1].Roles[0].Hooks = nil
		if _, err := b.Apply(t, without); !errors.As(err, new(*deploy.NoUpdateHookError)) {
			t.Errorf("%s, without a hook: %v", what, err)
		}
		b.Publish(t, large(t, "y"))
		if p, err := app.PlanAgain(t.Context()); err != nil || !strings.Contains(string(p.Roles[0].Inputs[2].Expr), "y1y1") {
			t.Errorf("%s, and then: %v", what, err)
		}
	}
}

// The same with the whole plan: operators' commands and relays take nothing else for it.
func TestPartsThatAreNoWholePlan(t *testing.T) {
	b, path := deploytest.InMemory(), deploytest.Site.Plan()
	b.Publish(t, large(t, "x"))
	a := b.Attacker(t)
	_, _, before := parts(a, path)
	b.Publish(t, large(t, "y"))
	head, nodes, texts := parts(a, path)
	key, err := deploytest.Secret.Relay(deploytest.Site)
	if err != nil || len(nodes) < 3 || len(before) < 3 {
		t.Fatal(len(nodes), len(before), err)
	}
	who := map[string]func() error{
		"an operator's command": func() error {
			_, err := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret)
			return err
		},
		"a relay": func() error {
			_, err := relay.Join(t.Context(), b.Open(t, key.Credential()), key)
			return err
		},
	}
	for what, attack := range map[string]func(){
		"a part is cut off":     func() { a.Write(path, strings.Replace(head, `"parts":`+fmt.Sprint(len(nodes)), `"parts":2`, 1)) },
		"two parts are swapped": func() { a.Write(nodes[0], texts[1]); a.Write(nodes[1], texts[0]) },
		"one is of before":      func() { a.Write(nodes[1], before[1]) },
		"all are of before": func() {
			for i, text := range before {
				a.Write(nodes[i], text)
			}
		},
		"an empty part": func() { a.Write(nodes[1], "") },
		"thousands":     func() { a.Write(path, strings.Replace(head, `"parts":`+fmt.Sprint(len(nodes)), `"parts":9999`, 1)) },
	} {
		attack()
		for name, read := range who {
			expectForged(t, what+", "+name, read())
		}
		a.Write(path, head)
		for i, text := range texts {
			a.Write(nodes[i], text)
		}
	}
	for name, read := range who {
		if err := read(); err != nil {
			t.Errorf("all of it, %s: %v", name, err)
		}
	}
}

// A server is removed, and added again. Who puts back the record that said so ends no agent of the one
// that is there now, running or started again, whatever else he forges.
func TestAnOlderRemovalEndsNoAgent(t *testing.T) {
	b, lb := deploytest.InMemory(), newRemains(t, "lb", "l1")
	without := func() *contract.Plan {
		p := deploytest.ThreeTier()
		p.Servers = p.Servers[:2]
		p.Cells = p.Cells[:5]
		return p
	}
	b.Publish(t, deploytest.ThreeTier())
	a, path := b.Attacker(t), deploytest.Site.Identity("lb")
	b.Publish(t, without())
	removed := a.Read(path)
	if !strings.Contains(removed, `"removed"`) {
		t.Fatal(removed)
	}
	b.Publish(t, deploytest.ThreeTier())
	m, web := b.MustBegin(t, lb, 0), b.Agent(t, "app")
	put(t, web, "app.web:port", "80")
	cell := deploytest.Site.Cell(contract.CellRef{Cell: "app.web:port", Server: "app"})
	now, value := a.Read(path), a.Read(cell)
	a.Write(path, removed)
	a.Write(cell, strings.Replace(value, "80", "81", 1))
	if _, err := m.Cell(t.Context(), "app.web:port"); errors.Is(err, member.ErrDestroyed) || !errors.Is(err, protocol.ErrForged) {
		t.Errorf("the running agent: %v", err)
	}
	if err := m.Removed(t.Context()); err != nil {
		t.Errorf("it believes that it was removed: %v", err)
	}
	if _, err := b.Begin(t, lb, m.Incarnation.Number); errors.Is(err, member.ErrDestroyed) || !errors.Is(err, member.ErrOlder) {
		t.Errorf("after a restart: %v", err)
	}
	a.Write(path, now)
	a.Write(cell, value)
	deploytest.ExpectValue(t, b.MustBegin(t, lb, m.Incarnation.Number), "app.web:port", "80")
	b.Publish(t, without())
	if err := m.Removed(t.Context()); !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("its own removal: %v", err)
	}
}

// What the machine before has left of the server's own records, for the next one, is not the next
// one's: neither that its roles have run, nor what nobody can read.
func TestWhatAPredecessorLeaves(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	b.Agent(t, "db")
	thief := b.Session(t, "db")
	done := `{"incarnation":%d,"phase":"done","roles":[{"name":"mysql","status":"done","attempt":1}]}`
	for i, leave := range []func(number int){
		func(n int) {
			deploytest.Write(t, thief, deploytest.Site.State("db"), b.Signed(t, "state", "db", "", fmt.Sprintf(done, n)))
		},
		func(n int) { deploytest.Write(t, thief, deploytest.Site.State("db"), fmt.Sprintf(done, n)) },
		func(int) { deploytest.Write(t, thief, deploytest.Site.State("db"), "{{{") },
		func(int) { deploytest.Write(t, thief, deploytest.Site.Answers("db"), "{{{") },
		func(int) {
			deploytest.Write(t, thief, deploytest.Site.Answers("db"), b.Signed(t, "answers", "db", "", `{"answers":7}`))
		},
	} {
		leave(i + 2)
		next := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
		if _, err := next.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := deploytest.Enrolled(t, next, fmt.Sprint("next", i), false)
		if state, err := s.State(t.Context()); err != nil || len(state.Roles) != 0 {
			t.Errorf("%d: the state of incarnation %d: %+v, %v", i, s.Incarnation.Number, state, err)
		}
		if _, err := s.Answers(t.Context()); err != nil {
			t.Errorf("%d: its answers: %v", i, err)
		}
	}
}

// project is a deployment of a project: with all that its operator, relay and servers have written.
type project struct {
	deploytest.Attacker
	bed    deploytest.Bed
	secret protocol.Secret
	app    *member.Session
	disk   *deploytest.Disk
}

const followed = "tier/db"

func newProject(t *testing.T, secret protocol.Secret, name string) *project {
	t.Helper()
	p := &project{bed: deploytest.InMemory(), secret: secret, disk: &deploytest.Disk{}}
	p.Attacker = deploytest.Attacker{T: t, Store: p.bed.Open(t, secret.Operator(deploytest.Site))}
	plan := deploytest.ThreeTier()
	app := &plan.Servers[1]
	app.Deploy = map[string]contract.DeployValue{"k": {Expr: json.RawMessage(`{"get_param":"k"}`), Carried: true}}
	app.Roles[0].Follows = append(app.Roles[0].Follows, contract.Follow{Cell: "db.mysql:endpoint", Member: &contract.Member{Group: followed, Server: "db"}})
	_, err := deploy.Publish(t.Context(), p.Store, deploytest.Publication(plan, func(w *deploy.Publication) { w.Secret = secret }))
	if err != nil {
		t.Fatal(err)
	}
	db, _, err := p.comes("db", &deploytest.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, deploytest.Enrolled(t, db, "db", false), "db.mysql:endpoint", `"`+name+`"`)
	m, _, err := p.comes("app", p.disk)
	if err != nil {
		t.Fatal(err)
	}
	p.app = deploytest.Enrolled(t, m, "app", false)
	deploytest.Stands(t, p.app, "web", protocol.RoleDone)
	p.says(name)
	reader, err := deploy.NewReader(t.Context(), p.Store, deploytest.Site, secret, plan)
	if err == nil {
		err = reader.Post(t.Context(), []deploy.Posting{{Server: "app", Request: protocol.Request{ID: name, Kind: protocol.Action, Incarnation: 1, Role: "web", Name: "x"}}}, nil)
	}
	if err := errors.Join(err, p.app.Answer(t.Context(), []protocol.Answer{{ID: name, Status: protocol.AnswerDone}})); err != nil {
		t.Fatal(err)
	}
	return p
}

// says plays a relay that learns something new of Heat.
func (p *project) says(value string) {
	p.T.Helper()
	key, err := p.secret.Relay(deploytest.Site)
	if err != nil {
		p.T.Fatal(err)
	}
	s, err := relay.Join(p.T.Context(), p.bed.Open(p.T, key.Credential()), key)
	if err != nil {
		p.T.Fatal(err)
	}
	v, err := s.Values(p.T.Context())
	if err == nil {
		_, err = s.Say(p.T.Context(), v, map[contract.ServerPath]protocol.HeatValues{"app": {Instance: "i-app", Values: map[string]json.RawMessage{"k": json.RawMessage(`"` + value + `"`)}}})
	}
	was, errOf := s.Members(p.T.Context(), followed)
	if err := errors.Join(err, errOf); err != nil {
		p.T.Fatal(err)
	}
	if err := s.SayMembers(p.T.Context(), was, protocol.MembersRecord{Stack: value}); err != nil {
		p.T.Fatal(err)
	}
}

// comes is a machine's agent up to its plan.
func (p *project) comes(server contract.ServerPath, d *deploytest.Disk) (*member.Member, *contract.Server, error) {
	token := p.secret.ServerToken(deploytest.Site, server)
	m := member.Join(p.bed.Open(p.T, protocol.ServerCredential(server, token)), deploytest.Site, server, token)
	m.UseMemory(d)
	if err := m.AwaitDeployment(deploytest.Within(p.T, deploytest.Patience), nil); err != nil {
		return m, nil, err
	}
	plan, err := m.Plan(p.T.Context())
	return m, plan, err
}

// Of two deployments of one name below two ROOTs, records are copied from one to the other, one by one:
// whether they have the same secret or not, what is signed is refused in the other.
func TestRecordsOfAnotherRoot(t *testing.T) {
	endpoint := deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
	for secrets, secret := range map[string]protocol.Secret{"one secret": deploytest.Secret, "two secrets": deploytest.Another} {
		here, there := newProject(t, deploytest.Secret, "here"), newProject(t, secret, "there")
		ctx := t.Context()
		if _, err := here.app.Members(ctx, followed); err != nil {
			t.Fatal(err)
		}
		for path, use := range map[store.Path]func() error{
			deploytest.Site.Identity("app"):   func() error { _, _, err := here.comes("app", here.disk); return err },
			deploytest.Site.ServerPlan("app"): func() error { _, err := here.app.PlanAgain(ctx); return err },
			endpoint:                          func() error { _, err := here.app.Cell(ctx, "db.mysql:endpoint"); return err },
			deploytest.Site.Requests("app"):   func() error { _, err := here.app.Asked(ctx); return err },
			deploytest.Site.State("app"):      func() error { _, err := here.app.State(ctx); return err },
			deploytest.Site.Answers("app"):    func() error { _, err := here.app.Answers(ctx); return err },
			deploytest.Site.HeatValues("app"): func() error { _, err := here.app.Heat(ctx); return err },
			deploytest.Site.Members(followed): func() error {
				if r, err := here.app.Members(ctx, followed); err != nil || r.Stack != "here" {
					return fmt.Errorf("it is %+v (%w)", r, err)
				}
				return protocol.ErrForged
			},
		} {
			before := here.Read(path)
			here.Write(path, there.Read(path))
			if err := use(); !errors.Is(err, protocol.ErrForged) || errors.Is(err, member.ErrDestroyed) {
				t.Errorf("%s, %s: %v", secrets, path, err)
			}
			here.Write(path, before)
			if err := use(); err != nil && path != deploytest.Site.Members(followed) {
				t.Errorf("%s, %s, when it is undone: %v", secrets, path, err)
			}
		}
	}
}

// What a relay said before is put back, or is gone: an agent that has seen the newer record keeps to
// it, also if it was started again; a new machine cannot know.
func TestWhatARelaySaidBefore(t *testing.T) {
	p := newProject(t, deploytest.Secret, "one")
	heat, members := deploytest.Site.HeatValues("app"), deploytest.Site.Members(followed)
	older := [2]string{p.Read(heat), p.Read(members)}
	p.says("two")
	look := func(m *member.Member) (string, protocol.MembersRecord, error) {
		values, err := m.Heat(t.Context())
		if errors.Is(err, member.ErrOlder) {
			values.Values, err = map[string]json.RawMessage{"k": json.RawMessage("older")}, nil
		}
		group, errOf := m.Members(t.Context(), followed)
		return string(values.Values["k"]), group, errors.Join(err, errOf)
	}
	newest := [2]string{p.Read(heat), p.Read(members)}
	if k, group, err := look(p.app.Member); k != `"two"` || group.Stack != "two" || err != nil {
		t.Fatal(k, group, err)
	}
	for what, text := range map[string][2]string{"put back": older, "gone": {"{}", "{}"}} {
		p.Write(heat, text[0])
		p.Write(members, text[1])
		if k, group, err := look(p.app.Member); k != "older" || group.Stack != "two" || err != nil {
			t.Errorf("%s, the running agent: %s %+v %v", what, k, group, err)
		}
		again, _, err := p.comes("app", p.disk)
		if k, group, errOf := look(again); k != "older" || !group.Unknown || errors.Join(err, errOf) != nil {
			t.Errorf("%s, after a restart: %s %+v %v %v", what, k, group, err, errOf)
		}
		fresh, _, err := p.comes("app", &deploytest.Disk{})
		if k, group, errOf := look(fresh); k == "older" || group.Unknown || errors.Join(err, errOf) != nil {
			t.Errorf("%s, a new machine: %s %+v %v %v", what, k, group, err, errOf)
		}
		p.Write(heat, newest[0])
		p.Write(members, newest[1])
		if k, group, err := look(again); k != `"two"` || group.Stack != "two" || err != nil {
			t.Errorf("%s, and undone: %s %+v %v", what, k, group, err)
		}
	}
}
