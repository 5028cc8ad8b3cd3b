package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func newRemains(t *testing.T, server contract.ServerPath, id string) *deploytest.Remains {
	return &deploytest.Remains{Machine: deploytest.NewMachine(t, server, id), Disk: &deploytest.Disk{}, Ended: &atomic.Int64{}}
}

// The coordinator loses everything. Who has published publishes it again when the
// deployment is put back, values, failures and secrets; who reads, and writes, waits until
// then. After a restart it is the same.
func TestADeploymentThatIsLostComesBack(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.WithPassword()
	p.Cells = append(p.Cells, contract.Cell{Name: "db.mysql:url", Server: "db", Role: "mysql"})
	p.Servers[1].Roles = []contract.Role{deploytest.Reader(deploytest.Password, "db.mysql:url")}
	b.Publish(t, p)
	db, app := newRemains(t, "db", "d1"), newRemains(t, "app", "a1")
	writer, reader := b.MustBegin(t, db, 0), b.MustBegin(t, app, 0)
	put(t, writer, deploytest.Password, `"hush"`)
	cause := map[contract.CellName]*protocol.Cause{"db.mysql": {Reason: "no"}}
	if err := writer.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed}, cause); err != nil {
		t.Fatal(err)
	}
	b.Lose(t, db, app)
	read := make(chan error, 1)
	go func() {
		_, err := reader.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:url", member.AwaitOptions{IfDown: -1})
		read <- err
	}()
	written := make(chan error, 1)
	go func() {
		written <- writer.Put(deploytest.Within(t, deploytest.Patience), "db.mysql:url", json.RawMessage(`"mysql://"`), deploytest.Noon)
	}()
	for !strings.Contains(db.Words(), "--restore") || !strings.Contains(app.Words(), "--restore") {
		select {
		case err := <-read:
			t.Fatalf("the reader does not wait: %v", err)
		case err := <-written:
			t.Fatalf("the writer does not wait: %v", err)
		case <-deploytest.Within(t, deploytest.Patience).Done():
			t.Fatal("it does not come")
		default:
		}
	}
	b.Restore(t, p)
	if err := errors.Join(deploytest.Soon(t, written), deploytest.Soon(t, read)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(db.Words(), "restored the deployment") {
		t.Error(db.Words())
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go writer.KeepSealed(ctx, func(err error) { t.Error(err) })
	deploytest.ExpectValue(t, reader, deploytest.Password, `"hush"`)
	expectFailed := func() {
		t.Helper()
		record, err := deploytest.ReadCell(t.Context(), b.Operator(t), contract.CellRef{Cell: "db.mysql", Server: "db"})
		if err != nil || record.State != protocol.Failed || record.Cause.Reason != "no" || record.Incarnation != 1 {
			t.Errorf("the failure: %+v, %v", record, err)
		}
	}
	expectFailed()

	// and when the agents were away
	stop()
	b.Lose(t)
	b.Restore(t, p)
	writer, reader = b.MustBegin(t, db, 1), b.MustBegin(t, app, 1)
	go writer.KeepSealed(t.Context(), func(error) {})
	deploytest.ExpectValue(t, reader, deploytest.Password, `"hush"`)
	deploytest.ExpectValue(t, reader, "db.mysql:url", `"mysql://"`)
	expectFailed()
}

// A server is built anew while the coordinator has lost everything. What the new machine publishes is newer than what
// the one before has: its followers are updated to it.
func TestAServerIsReplacedDuringALoss(t *testing.T) {
	b, p := deploytest.InMemory(), deploytest.ThreeTier()
	b.Publish(t, p)
	endpoint := contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}
	publishes := func(id string) protocol.Count {
		t.Helper()
		put(t, b.MustBegin(t, newRemains(t, "db", id), 0), endpoint.Cell, `"of `+id+`"`)
		record, err := deploytest.ReadCell(t.Context(), b.Operator(t), endpoint)
		if err != nil {
			t.Fatal(err)
		}
		return record.At()
	}
	before := publishes("d1")
	b.Lose(t)
	b.Restore(t, p)
	if now := publishes("d2"); !before.Less(now) {
		t.Errorf("%v after %v", now, before)
	}
}

// An older state is put back: the same deployment, in which a machine had not come yet.
func TestAnOlderStateIsPutBack(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	a := b.Attacker(t)
	paths := []store.Path{deploytest.Site.Server("db"), deploytest.Site.State("db"), deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}), deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql", Server: "db"})}
	first, second := newRemains(t, "db", "d1"), newRemains(t, "db", "d2")
	gone := b.MustBegin(t, first, 0)
	var before []string
	for _, path := range paths {
		before = append(before, a.Read(path))
	}
	m := b.MustBegin(t, second, 0) // the machine was built anew: number 2
	put(t, m, "db.mysql:endpoint", `"here"`)
	for i, path := range paths {
		a.Write(path, before[i])
	}
	if err := a.Store.DeleteTree(t.Context(), deploytest.Site.Life("db", "d2")); err != nil {
		t.Fatal(err)
	}
	first.Ended.Add(1)
	second.Ended.Add(1)
	if _, err := b.Begin(t, first, 1); err != nil { // it comes first, and has the lower number
		t.Errorf("the machine before: %v", err)
	}
	put(t, m, "db.mysql", "null")
	if !strings.Contains(second.Words(), "the same deployment is there again") {
		t.Error(second.Words())
	}
	app := b.Agent(t, "app")
	deploytest.ExpectValue(t, app, "db.mysql:endpoint", `"here"`)
	if err := gone.Put(deploytest.Within(t, deploytest.Patience), "db.mysql", json.RawMessage("null"), deploytest.Noon); !errors.Is(err, member.ErrFenced) {
		t.Errorf("the machine before: %v", err)
	}
}

// What stands in the place of a lost deployment may be another one, or the same with weaker
// tokens; and a deployment that stands is not put back.
func TestWhatIsNotPutBack(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	db := newRemains(t, "db", "d1")
	b.MustBegin(t, db, 0)
	_, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(deploytest.ThreeTier(), deploytest.Restored))
	if !errors.Is(err, deploy.ErrStands) {
		t.Errorf("a deployment that stands: %v", err)
	}
	b.Lose(t, db)
	b.Publish(t, deploytest.ThreeTier()) // not by --restore
	if err := b.Operator(t).DeleteTree(t.Context(), deploytest.Site.Ready()); err != nil {
		t.Fatal(err)
	}
	_, err = deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(deploytest.ThreeTier(), deploytest.Restored))
	if !errors.Is(err, deploy.ErrUnfinished) {
		t.Errorf("an interrupted apply without --restore: %v", err)
	}
	b.Publish(t, deploytest.ThreeTier())
	if _, err := b.Begin(t, db, 1); !errors.Is(err, member.ErrFenced) && !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("another deployment: %v", err)
	}

	b = deploytest.InMemory()
	b.PublishOnce(t, deploytest.ThreeTier())
	b.Join(t, deploytest.NewMachine(t, "app", "a1"), false)
	app := newRemains(t, "db", "d1")
	askApproval := b.AwaitingApproval(t, app.Machine)
	askApproval.UseMemory(app.Disk)
	if err := askApproval.AwaitDeployment(deploytest.Within(t, deploytest.Patience), nil); err != nil {
		t.Fatal(err)
	}
	b.Lose(t)
	b.Restore(t, deploytest.ThreeTier())
	_, _, err = b.Comes(t, "db", deploytest.TokenOf("db"), app.Disk)
	expectForged(t, "weaker tokens", err, "enrolment of tokens")
}

// Where tokens are good for one enrolment, who comes first after a deployment was put back is
// the server: the passes are new. The machine that was the server is told so, and waits for an
// operator, as it was when it came first. What was sealed for it nobody else opens.
func TestATokenIsGoodAgainAfterARestore(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.WithPassword()
	b.PublishOnce(t, p)
	db, app := deploytest.NewMachine(t, "db", "d1"), deploytest.NewMachine(t, "app", "a1")
	disk := &deploytest.Disk{}
	first := b.AwaitingApproval(t, app)
	first.UseMemory(disk)
	if err := first.AwaitDeployment(deploytest.Within(t, deploytest.Patience), nil); err != nil {
		t.Fatal(err)
	}
	b.Become(t, first, app, false)
	b.Lose(t)
	b.Restore(t, p, deploytest.Enrolling(protocol.EnrolOnce))

	thief := deploytest.NewMachine(t, "app", "thief")
	taken := b.Join(t, thief, false)
	back := b.AwaitingApproval(t, app)
	back.UseMemory(disk)
	waits, ended := make(chan string, 8), make(chan error, 1)
	go func() {
		ended <- back.AwaitDeployment(deploytest.Within(t, deploytest.Patience), func(why string) { waits <- why })
	}()
	select {
	case why := <-waits:
		if !strings.Contains(why, "used before, by another machine") {
			t.Errorf("it waits: %s", why)
		}
	case err := <-ended:
		t.Fatalf("it does not wait: %v", err)
	}
	put(t, b.Join(t, db, false), deploytest.Password, `"hush"`)
	if record, err := taken.Cell(t.Context(), deploytest.Password); err != nil || record.State != protocol.Empty {
		t.Errorf("the thief reads what is not sealed for him: %+v, %v", record, err)
	}
	if _, err := deploytest.Reading(t, b.Operator(t)).Admit(t.Context(), "app", app.Key.Public()); err != nil {
		t.Fatal(err)
	}
	if err := deploytest.Soon(t, ended); err != nil {
		t.Fatal(err)
	}
	if _, err := back.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	back.UseKey(app.Key)
	if _, err := back.Enrol(t.Context(), app.Id, "i-a1", true, deploytest.Noon); !errors.Is(err, member.ErrFenced) {
		t.Errorf("a machine that was the server in the deployment before: %v", err)
	}
	b.Become(t, back, app, false) // without its journal it is a machine that was built anew
	if err := taken.Report(t.Context(), protocol.ServerState{}, nil); !errors.Is(err, member.ErrFenced) {
		t.Errorf("the thief goes on: %v", err)
	}
}

// A deployment is put back before this machine has had a look of its own: the first that it
// sees are records that are signed for the new one, or rights that are not its any more. It
// comes back, whatever it reads or writes first.
func TestADeploymentIsPutBackUnseen(t *testing.T) {
	p := deploytest.WithPassword()
	p.Cells = append(p.Cells, contract.Cell{Name: "db.mysql:url", Server: "db", Role: "mysql"})
	p.Servers[1].Roles = []contract.Role{deploytest.Reader(deploytest.Password, "db.mysql:url")}
	reader, writer := contract.ServerPath("app"), contract.ServerPath("db")
	for name, c := range map[string]struct {
		server contract.ServerPath
		do     func(t *testing.T, m *member.Session) error
	}{
		"reads a value": {reader, func(t *testing.T, m *member.Session) error {
			_, err := m.Cell(t.Context(), "db.mysql:url")
			return err
		}},
		"waits for a value": {reader, func(t *testing.T, m *member.Session) error {
			_, err := m.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:url", member.AwaitOptions{IfDown: -1})
			return err
		}},
		"waits for a secret": {reader, func(t *testing.T, m *member.Session) error {
			_, err := m.Await(deploytest.Within(t, deploytest.Patience), deploytest.Password, member.AwaitOptions{IfDown: -1})
			return err
		}},
		"reads requests": {reader, func(t *testing.T, m *member.Session) error {
			asked, err := m.Asked(t.Context())
			if len(asked.Requests) != 1 {
				t.Errorf("it is asked for %+v", asked)
			}
			return err
		}},
		"reads its answers": {reader, func(t *testing.T, m *member.Session) error {
			_, err := m.Answers(t.Context())
			return err
		}},
		"answers": {reader, func(t *testing.T, m *member.Session) error {
			err := m.Answer(t.Context(), []protocol.Answer{{ID: "x"}})
			answers, unread := m.Answers(t.Context())
			if len(answers) != 1 {
				t.Errorf("it has answered %+v", answers)
			}
			return errors.Join(err, unread)
		}},
		"reads its state": {reader, func(t *testing.T, m *member.Session) error {
			_, err := m.State(t.Context())
			return err
		}},
		"reads its plan": {reader, func(t *testing.T, m *member.Session) error {
			_, err := m.PlanAgain(t.Context())
			return err
		}},
		"reports": {reader, func(t *testing.T, m *member.Session) error {
			err := m.Report(t.Context(), protocol.ServerState{Message: "here"}, nil)
			state, unread := m.State(t.Context())
			if state.Message != "here" {
				t.Errorf("it has reported %+v", state)
			}
			return errors.Join(err, unread)
		}},
		"publishes": {writer, func(t *testing.T, m *member.Session) error {
			err := m.Put(t.Context(), "db.mysql", json.RawMessage("null"), deploytest.Noon)
			_, unread := m.Cell(t.Context(), "db.mysql")
			return errors.Join(err, unread)
		}},
		"takes back": {writer, func(t *testing.T, m *member.Session) error {
			return m.TakeBack(t.Context(), []contract.CellName{"db.mysql"}, false)
		}},
		"seals for a reader": {writer, func(t *testing.T, m *member.Session) error {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			err := m.KeepSealed(ctx, func(err error) { t.Error(err) })
			if ctx.Err() != nil {
				return nil // it goes on
			}
			return err
		}},
	} {
		for _, enrol := range []protocol.Enrolment{protocol.EnrolAlways, protocol.EnrolOnce} {
			t.Run(name+", enrol="+string(enrol), func(t *testing.T) {
				b := deploytest.InMemory()
				if _, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p, deploytest.Enrolling(enrol))); err != nil {
					t.Fatal(err)
				}
				all := map[contract.ServerPath]*deploytest.Remains{reader: newRemains(t, "app", "a1"), writer: newRemains(t, "db", "d1")}
				db, app := b.MustBegin(t, all["db"], 0), b.MustBegin(t, all["app"], 0)
				put(t, db, "db.mysql:url", `"mysql://"`)
				put(t, db, deploytest.Password, `"hush"`)
				for _, m := range []*member.Session{db, app} {
					if err := errors.Join(m.Report(t.Context(), protocol.ServerState{}, nil), m.Answer(t.Context(), []protocol.Answer{{ID: "before"}})); err != nil {
						t.Fatal(err)
					}
				}
				b.Lose(t)
				b.Restore(t, p, deploytest.Enrolling(enrol))
				other, m := writer, app
				if c.server == writer {
					other, m = reader, db
				}
				back := b.MustBegin(t, all[other], 1) // the others were seen to come back
				go func() { _ = back.KeepSealed(t.Context(), func(error) {}) }()
				post := []deploy.Posting{{Server: c.server, Request: protocol.Request{ID: "one", Kind: protocol.Action, Since: deploytest.Noon.Add(2e9)}}}
				if err := deploytest.Reading(t, b.Operator(t)).Post(t.Context(), post, nil); err != nil {
					t.Fatal(err)
				}
				if err := c.do(t, m); err != nil {
					t.Errorf("%v\n%s", err, all[c.server].Words())
				}
				// an empty record of its own says nothing of either deployment
				quiet := enrol == protocol.EnrolAlways && slices.Contains([]string{"takes back", "reads its answers", "reads its state"}, name)
				if !quiet && !strings.Contains(all[c.server].Words(), "restored the deployment") {
					t.Errorf("it says %q", all[c.server].Words())
				}
			})
		}
	}
}

// All that an agent does at a time comes back together, where the machine has a pass anew, too.
func TestSeveralComeBackTogether(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.WithPassword()
	b.PublishOnce(t, p)
	db, app := newRemains(t, "db", "d1"), newRemains(t, "app", "a1")
	writer, reader := b.MustBegin(t, db, 0), b.MustBegin(t, app, 0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b.Lose(t)
	b.Restore(t, p, deploytest.Enrolling(protocol.EnrolOnce))
	sealing := make(chan error, 1)
	go func() { sealing <- writer.KeepSealed(ctx, func(err error) { t.Error(err) }) }()
	ended := make(chan error)
	all := []func() error{
		func() error { return reader.Report(t.Context(), protocol.ServerState{}, nil) },
		func() error { return writer.WriteLog(t.Context(), "mysql", []byte("a line")) },
		func() error { _, err := reader.Asked(t.Context()); return err },
		func() error { _, err := reader.PlanAgain(t.Context()); return err },
		func() error { _, err := reader.State(t.Context()); return err },
		func() error {
			value, err := reader.Await(deploytest.Within(t, deploytest.Patience), deploytest.Password, member.AwaitOptions{IfDown: -1})
			if err == nil && string(value) != `"hush"` {
				t.Errorf("it reads %s", value)
			}
			return err
		},
		func() error {
			return writer.Put(t.Context(), deploytest.Password, json.RawMessage(`"hush"`), deploytest.Noon)
		},
		func() error { return writer.Report(t.Context(), protocol.ServerState{}, nil) },
	}
	for _, do := range all {
		go func() { ended <- do() }()
	}
	for range all {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case err := <-sealing:
			t.Fatal(err)
		}
	}
}

// An older state is put back, from before the plan was changed: the agent waits until the
// newer plan is applied again, and says so; who waits for a value goes on then.
func TestAnOlderPlanIsPutBack(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithUpdate())
	a := b.Attacker(t)
	app, db := newRemains(t, "app", "a1"), b.Agent(t, "db")
	m := b.MustBegin(t, app, 0)
	before := map[store.Path]string{}
	for _, path := range []store.Path{deploytest.Site.Root(), deploytest.Site.Plan(), deploytest.Site.ServerPlan("app"), deploytest.Site.Keys("app"), deploytest.Site.Server("app"), deploytest.Site.State("app"), deploytest.Site.Requests("app")} {
		before[path] = a.Read(path)
	}
	newer := deploytest.WithUpdate(func(p *contract.Plan) { p.Servers[1].Roles[0].Timeout = 77 })
	b.Publish(t, newer)
	if _, err := m.PlanAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, text := range before {
		a.Write(path, text)
	}
	app.Ended.Add(1)
	read := make(chan error, 1)
	go func() {
		_, err := m.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:endpoint", member.AwaitOptions{IfDown: -1})
		read <- err
	}()
	reported := make(chan error, 1)
	go func() {
		reported <- m.Report(deploytest.Within(t, deploytest.Patience), protocol.ServerState{}, nil)
	}()
	for !strings.Contains(app.Words(), "an older state of the deployment") {
		select {
		case err := <-reported:
			t.Fatalf("it does not wait: %v\n%s", err, app.Words())
		case err := <-read:
			t.Fatalf("it does not wait: %v\n%s", err, app.Words())
		case <-deploytest.Within(t, deploytest.Patience).Done():
			t.Fatal(app.Words())
		default:
		}
	}
	shown := func() bool { // to `hotc status`
		v, err := deploy.TakeSnapshot(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, deploytest.WithUpdate())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(v.Servers, func(s deploy.ServerSnapshot) bool {
			return s.Path == "app" && strings.Contains(s.State.Message, "an older state of the deployment")
		})
	}
	for until := deploytest.Within(t, deploytest.Patience); !shown(); {
		if until.Err() != nil {
			t.Fatal("the operator is not told what the agent waits for")
		}
	}
	b.Publish(t, newer)
	put(t, db, "db.mysql:endpoint", `"here"`)
	if err := errors.Join(deploytest.Soon(t, reported), deploytest.Soon(t, read)); err != nil {
		t.Fatalf("%v\n%s", err, app.Words())
	}
	if !strings.Contains(app.Words(), "the same deployment is there again") {
		t.Error(app.Words())
	}
}

// What a machine has published of a cell that its plan has no more, several versions of it, keeps
// no agent from starting again.
func TestWhatWentIsNotPublishedAgain(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.ThreeTier())
	db := newRemains(t, "db", "d1")
	b.MustBegin(t, db, 0)
	went := protocol.CellRecord{State: protocol.Valued, Incarnation: 1, Version: 2, Value: json.RawMessage(`"old"`)}
	if err := db.Disk.Keep("db.gone:url", went); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Begin(t, db, 1); err != nil {
		t.Fatal(err)
	}
}

// beginning does something before a machine's life begins.
type beginning struct {
	store.Session
	do *func()
}

func (s *beginning) Create(ctx context.Context, nodes []store.NewNode) error {
	if do := *s.do; do != nil && nodes[0].Path == deploytest.Site.Life("db", "d1") {
		*s.do = nil
		do()
	}
	return s.Session.Create(ctx, nodes)
}

// A deployment is applied anew, or restored once more, between the reading of its identity and the
// beginning of a machine's life: the machine does not become the server with the old identity, with
// which all that it signs would count as forged.
func TestAnotherDeploymentWhileAMachineEnrols(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.ThreeTier()
	b.Publish(t, p)
	do := new(func())
	slow := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		t.Helper()
		return &beginning{b.Open(t, creds...), do}
	}}
	db := newRemains(t, "db", "d1")
	*do = func() {
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
			t.Fatal(err)
		}
		b.Publish(t, p)
	}
	if _, err := slow.Begin(t, db, 0); !errors.Is(err, member.ErrAnew) || !errors.Is(err, member.ErrDestroyed) {
		t.Fatalf("it enrolled: %v", err)
	}
	b.ExpectLife(t, "d1", false)
	*do = func() { // the coordinator is restored to what an apply had begun
		if err := b.Operator(t).DeleteTree(t.Context(), deploytest.Site.Ready()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := slow.Begin(t, db, 0); !errors.Is(err, member.ErrAnew) {
		t.Fatalf("it enrolled where the apply is not finished: %v", err)
	}
	b.ExpectLife(t, "d1", false)
	b.Publish(t, p)
	m := slow.MustBegin(t, db, 0)
	*do = func() {
		b.Lose(t)
		b.Restore(t, p, func(w *deploy.Publication) { w.Now = deploytest.Noon.Add(3e9) })
	}
	b.Lose(t, db)
	b.Restore(t, p)
	put(t, m, "db.mysql:endpoint", `"here"`)
	if *do != nil {
		t.Fatal("it was restored once only")
	}
	deploytest.ExpectValue(t, b.Agent(t, "app"), "db.mysql:endpoint", `"here"`)
}

// losing loses the coordinator's data, and restores it, right before a look whether the deployment
// stands: a node was missing, and it was not lost then. An agent looks in more goroutines than one.
type losing struct {
	store.Session
	look sync.Mutex
	lose func()
	path store.Path // is missing once
}

func (s *losing) Read(ctx context.Context, path store.Path) (store.Node, error) {
	s.look.Lock()
	missing := path == s.path
	if missing {
		s.path = ""
	}
	s.look.Unlock()
	if missing {
		return store.Node{}, &store.PathError{Op: "read", Path: path, Err: store.ErrNotFound}
	}
	return s.Session.Read(ctx, path)
}

func (s *losing) Stat(ctx context.Context, path store.Path) (store.Version, bool, error) {
	s.look.Lock()
	if path == deploytest.Site.Ready() && s.path == "" && s.lose != nil {
		s.lose()
		s.lose = nil
	}
	s.look.Unlock()
	return s.Session.Stat(ctx, path)
}

// An agent ends for good when its deployment was destroyed. That is not what it takes a loss for that
// comes right after it found a node missing: it goes on sealing once the deployment is there again.
func TestALossRightAfterANodeWasMissing(t *testing.T) {
	p, lost := deploytest.WithPassword(), &losing{}
	b := deploytest.InMemory()
	b.Publish(t, p)
	db, app := newRemains(t, "db", "d1"), newRemains(t, "app", "a1")
	writer := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		lost.Session = b.Open(t, creds...)
		return lost
	}}.MustBegin(t, db, 0)
	b.MustBegin(t, app, 0)
	put(t, writer, deploytest.Password, `"hush"`)
	var reader *member.Session
	again := make(chan bool)
	lost.path = deploytest.Site.SealsFor("db", "app")
	lost.lose = func() {
		b.Lose(t)
		b.Restore(t, p)
		go func() { reader = b.MustBegin(t, app, 1); close(again) }()
	}
	ended := make(chan error, 1)
	go func() { ended <- writer.KeepSealed(t.Context(), func(err error) { t.Error(err) }) }()
	select {
	case err := <-ended:
		t.Fatal(err)
	case <-again:
	}
	deploytest.ExpectValue(t, reader, deploytest.Password, `"hush"`)
}

// delayed keeps a commit of a cell back, as a network does, until its server has another fence.
type delayed struct {
	store.Session
	mu   sync.Mutex
	ops  []store.Op
	late error
}

var errDelayed = errors.New("the answer does not come")

func (s *delayed) Commit(ctx context.Context, ops ...store.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	writes := func(path store.Path) bool {
		return slices.ContainsFunc(ops, func(op store.Op) bool { return op.Write && op.Path == path })
	}
	if s.ops == nil && writes(deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})) {
		s.ops = ops
		return errDelayed
	}
	err := s.Session.Commit(ctx, ops...)
	if err == nil && s.late == nil && writes(deploytest.Site.Server("db")) && s.ops != nil {
		s.late = s.Session.Commit(ctx, s.ops...)
	}
	return err
}

// What a machine has sent before the coordinator lost its data arrives when the machine has taken its
// server back: it is signed for the state that was lost, and would count as forged.
func TestACommitOfTheLostStateArrives(t *testing.T) {
	p, late := deploytest.ThreeTier(), &delayed{}
	b := deploytest.InMemory()
	b.Publish(t, p)
	db := newRemains(t, "db", "d1")
	m := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		late.Session = b.Open(t, creds...)
		return late
	}}.MustBegin(t, db, 0)
	if err := m.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"old"`), deploytest.Noon); !errors.Is(err, errDelayed) {
		t.Fatal(err)
	}
	b.Lose(t, db)
	b.Restore(t, p)
	put(t, m, "db.mysql:endpoint", `"old"`)
	if !errors.Is(late.late, store.ErrVersion) {
		t.Errorf("the late commit: %v, want ErrVersion", late.late)
	}
}
