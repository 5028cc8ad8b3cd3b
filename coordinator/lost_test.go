package coordinator_test

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
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// forgetful is a session whose coordinator may get an older state back.
type forgetful struct {
	coordinator.Store
	ended *atomic.Int64
}

func (f *forgetful) Connection() (coordinator.Connection, <-chan struct{}) {
	return coordinator.Connection{Up: true, Ended: int(f.ended.Load())}, nil
}

// remains is a machine's agent with its disk, as it begins again.
type remains struct {
	machine
	disk  *disk
	ended *atomic.Int64

	mu   sync.Mutex
	said []string
}

func newRemains(t *testing.T, server contract.ServerPath, id string) *remains {
	return &remains{machine: newMachine(t, server, id), disk: &disk{}, ended: &atomic.Int64{}}
}

func (r *remains) words() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

func (b bed) begin(t *testing.T, r *remains, number int) (*member.Member, error) {
	t.Helper()
	m := member.Join(&forgetful{b.session(t, r.server), r.ended}, site, r.server, tokenOf(r.server))
	m.UseMemory(r.disk)
	m.UseMachine(member.Machine{Instance: "i-" + r.id, Now: func() time.Time { return noon }, Key: func() (seal.Key, error) { return r.key, nil }})
	m.OnLoss(func(what string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, what)
	})
	if err := m.AwaitDeployment(within(t, patience), nil); err != nil {
		return nil, err
	}
	if _, err := m.Plan(t.Context()); err != nil {
		return nil, err
	}
	m.UseKey(r.key)
	m.RememberTries(number, func(int) error { return nil })
	if _, err := m.Enrol(t.Context(), r.id, "i-"+r.id, number > 0, noon); err != nil {
		return nil, err
	}
	return m, m.Republish(t.Context())
}

func (b bed) mustBegin(t *testing.T, r *remains, number int) *member.Member {
	t.Helper()
	m, err := b.begin(t, r, number)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// lose takes away all that stands, as a coordinator that has lost its data.
func (b bed) lose(t *testing.T, all ...*remains) {
	t.Helper()
	if err := b.operator(t).DeleteTree(t.Context(), site.Root()); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		r.ended.Add(1)
	}
}

func (b bed) restore(t *testing.T, p *contract.Plan, options ...func(*deploy.Publication)) {
	t.Helper()
	_, err := deploy.Publish(t.Context(), b.open(t), publication(p, append(options, restored, func(w *deploy.Publication) { w.Now = noon.Add(1e9) })...))
	if err != nil {
		t.Fatal(err)
	}
}

// The coordinator loses everything. Who has published publishes it again when the
// deployment is put back, values, failures and secrets; who reads, and writes, waits until
// then. After a restart it is the same.
func TestADeploymentThatIsLostComesBack(t *testing.T) {
	b := inMemory()
	p := withPassword()
	p.Servers[0].Writes = append(p.Servers[0].Writes, "db.mysql:url")
	p.Cells = append(p.Cells, contract.Cell{Name: "db.mysql:url", Server: "db", Role: "mysql", Readers: []contract.ServerPath{"app"}})
	p.Servers[1].Reads = append(p.Servers[1].Reads, contract.CellRef{Cell: "db.mysql:url", Server: "db"})
	b.publish(t, p)
	db, app := newRemains(t, "db", "d1"), newRemains(t, "app", "a1")
	writer, reader := b.mustBegin(t, db, 0), b.mustBegin(t, app, 0)
	put(t, writer, password, `"hush"`)
	cause := map[contract.CellName]*coordinator.Cause{"db.mysql": {Reason: "no"}}
	if err := writer.Report(t.Context(), coordinator.ServerState{Phase: coordinator.PhaseFailed}, cause); err != nil {
		t.Fatal(err)
	}
	b.lose(t, db, app)
	read := make(chan error, 1)
	go func() {
		_, err := reader.Await(within(t, patience), "db.mysql:url", member.AwaitOptions{IfDown: -1})
		read <- err
	}()
	written := make(chan error, 1)
	go func() {
		written <- writer.Put(within(t, patience), "db.mysql:url", json.RawMessage(`"mysql://"`), noon)
	}()
	for !strings.Contains(db.words(), "--restore") || !strings.Contains(app.words(), "--restore") {
		select {
		case err := <-read:
			t.Fatalf("the reader does not wait: %v", err)
		case err := <-written:
			t.Fatalf("the writer does not wait: %v", err)
		case <-within(t, patience).Done():
			t.Fatal("it does not come")
		default:
		}
	}
	b.restore(t, p)
	if err := errors.Join(soon(t, written), soon(t, read)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(db.words(), "put the deployment back") {
		t.Error(db.words())
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go writer.KeepSealed(ctx, func(err error) { t.Error(err) })
	expectValue(t, reader, password, `"hush"`)
	expectFailed := func() {
		t.Helper()
		record, err := readCell(t.Context(), b.operator(t), contract.CellRef{Cell: "db.mysql", Server: "db"})
		if err != nil || record.State != coordinator.Failed || record.Cause.Reason != "no" || record.Incarnation != 1 {
			t.Errorf("the failure: %+v, %v", record, err)
		}
	}
	expectFailed()

	// and when the agents were away
	stop()
	b.lose(t)
	b.restore(t, p)
	writer, reader = b.mustBegin(t, db, 1), b.mustBegin(t, app, 1)
	go writer.KeepSealed(t.Context(), func(error) {})
	expectValue(t, reader, password, `"hush"`)
	expectValue(t, reader, "db.mysql:url", `"mysql://"`)
	expectFailed()
}

// An older state is put back: the same deployment, in which a machine had not come yet.
func TestAnOlderStateIsPutBack(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	a := b.attacker(t)
	paths := []coordinator.Path{site.Server("db"), site.State("db"), site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}), site.Cell(contract.CellRef{Cell: "db.mysql", Server: "db"})}
	first, second := newRemains(t, "db", "d1"), newRemains(t, "db", "d2")
	gone := b.mustBegin(t, first, 0)
	var before []string
	for _, path := range paths {
		before = append(before, a.read(path))
	}
	m := b.mustBegin(t, second, 0) // the machine was built anew: number 2
	put(t, m, "db.mysql:endpoint", `"here"`)
	for i, path := range paths {
		a.write(path, before[i])
	}
	if err := a.store.DeleteTree(t.Context(), site.Life("db", "d2")); err != nil {
		t.Fatal(err)
	}
	first.ended.Add(1)
	second.ended.Add(1)
	if _, err := b.begin(t, first, 1); err != nil { // it comes first, and has the lower number
		t.Errorf("the machine before: %v", err)
	}
	put(t, m, "db.mysql", "null")
	if !strings.Contains(second.words(), "the same deployment is there again") {
		t.Error(second.words())
	}
	app := b.agent(t, "app")
	expectValue(t, app, "db.mysql:endpoint", `"here"`)
	if err := gone.Put(within(t, patience), "db.mysql", json.RawMessage("null"), noon); !errors.Is(err, member.ErrFenced) {
		t.Errorf("the machine before: %v", err)
	}
}

// What stands in the place of a lost deployment may be another one, or the same with weaker
// tokens; and a deployment that stands is not put back.
func TestWhatIsNotPutBack(t *testing.T) {
	b := inMemory()
	b.publish(t, threeTier())
	db := newRemains(t, "db", "d1")
	b.mustBegin(t, db, 0)
	_, err := deploy.Publish(t.Context(), b.open(t), publication(threeTier(), restored))
	if !errors.Is(err, deploy.ErrStands) {
		t.Errorf("a deployment that stands: %v", err)
	}
	b.lose(t, db)
	b.publish(t, threeTier()) // not by --restore
	if err := b.operator(t).DeleteTree(t.Context(), site.Ready()); err != nil {
		t.Fatal(err)
	}
	_, err = deploy.Publish(t.Context(), b.open(t), publication(threeTier(), restored))
	if !errors.Is(err, deploy.ErrUnfinished) {
		t.Errorf("an interrupted apply without --restore: %v", err)
	}
	b.publish(t, threeTier())
	if _, err := b.begin(t, db, 1); !errors.Is(err, member.ErrFenced) && !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("another deployment: %v", err)
	}

	b = inMemory()
	b.publishOnce(t, threeTier())
	b.join(t, newMachine(t, "app", "a1"), false)
	app := newRemains(t, "db", "d1")
	knock := b.knocking(t, app.machine)
	knock.UseMemory(app.disk)
	if err := knock.AwaitDeployment(within(t, patience), nil); err != nil {
		t.Fatal(err)
	}
	b.lose(t)
	b.restore(t, threeTier())
	_, _, err = b.comes(t, "db", tokenOf("db"), app.disk)
	expectForged(t, "weaker tokens", err, "good for more")
}

// Where tokens are good for one enrolment, who comes first after a deployment was put back is
// the server: the passes are new. The machine that was the server is told so, and waits for an
// operator, as it was when it came first. What was sealed for it nobody else opens.
func TestATokenIsGoodAgainAfterARestore(t *testing.T) {
	b := inMemory()
	p := withPassword()
	b.publishOnce(t, p)
	db, app := newMachine(t, "db", "d1"), newMachine(t, "app", "a1")
	disk := &disk{}
	first := b.knocking(t, app)
	first.UseMemory(disk)
	if err := first.AwaitDeployment(within(t, patience), nil); err != nil {
		t.Fatal(err)
	}
	b.become(t, first, app, false)
	b.lose(t)
	b.restore(t, p, enrolling(coordinator.EnrolOnce))

	thief := newMachine(t, "app", "thief")
	taken := b.join(t, thief, false)
	back := b.knocking(t, app)
	back.UseMemory(disk)
	waits, ended := make(chan string, 8), make(chan error, 1)
	go func() {
		ended <- back.AwaitDeployment(within(t, patience), func(why string) { waits <- why })
	}()
	select {
	case why := <-waits:
		if !strings.Contains(why, "used before, by another machine") {
			t.Errorf("it waits: %s", why)
		}
	case err := <-ended:
		t.Fatalf("it does not wait: %v", err)
	}
	put(t, b.join(t, db, false), password, `"hush"`)
	if record, err := taken.Cell(t.Context(), password); err != nil || record.State != coordinator.Empty {
		t.Errorf("the thief reads what is not sealed for him: %+v, %v", record, err)
	}
	if _, err := reading(t, b.operator(t)).Admit(t.Context(), "app", app.key.Public()); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, ended); err != nil {
		t.Fatal(err)
	}
	if _, err := back.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	back.UseKey(app.key)
	if _, err := back.Enrol(t.Context(), app.id, "i-a1", true, noon); !errors.Is(err, member.ErrFenced) {
		t.Errorf("a machine that was the server in the deployment before: %v", err)
	}
	b.become(t, back, app, false) // without its journal it is a machine that was built anew
	if err := taken.Report(t.Context(), coordinator.ServerState{}, nil); !errors.Is(err, member.ErrFenced) {
		t.Errorf("the thief goes on: %v", err)
	}
}

// A deployment is put back before this machine has had a look of its own: the first that it
// sees are records that are signed for the new one, or rights that are not its any more. It
// comes back, whatever it reads or writes first.
func TestADeploymentIsPutBackUnseen(t *testing.T) {
	p := withPassword()
	p.Servers[0].Writes = append(p.Servers[0].Writes, "db.mysql:url")
	p.Cells = append(p.Cells, contract.Cell{Name: "db.mysql:url", Server: "db", Role: "mysql", Readers: []contract.ServerPath{"app"}})
	p.Servers[1].Reads = append(p.Servers[1].Reads, contract.CellRef{Cell: "db.mysql:url", Server: "db"})
	reader, writer := contract.ServerPath("app"), contract.ServerPath("db")
	for name, c := range map[string]struct {
		server contract.ServerPath
		do     func(t *testing.T, m *member.Member) error
	}{
		"reads a value": {reader, func(t *testing.T, m *member.Member) error {
			_, err := m.Cell(t.Context(), "db.mysql:url")
			return err
		}},
		"waits for a value": {reader, func(t *testing.T, m *member.Member) error {
			_, err := m.Await(within(t, patience), "db.mysql:url", member.AwaitOptions{IfDown: -1})
			return err
		}},
		"waits for a secret": {reader, func(t *testing.T, m *member.Member) error {
			_, err := m.Await(within(t, patience), password, member.AwaitOptions{IfDown: -1})
			return err
		}},
		"reads requests": {reader, func(t *testing.T, m *member.Member) error {
			asked, err := m.Requests(t.Context())
			if len(asked) != 1 {
				t.Errorf("it is asked for %+v", asked)
			}
			return err
		}},
		"reads its answers": {reader, func(t *testing.T, m *member.Member) error {
			_, err := m.Answers(t.Context())
			return err
		}},
		"answers": {reader, func(t *testing.T, m *member.Member) error {
			return m.Answer(t.Context(), []coordinator.Answer{{ID: "x"}})
		}},
		"reads its state": {reader, func(t *testing.T, m *member.Member) error {
			_, err := m.State(t.Context())
			return err
		}},
		"reads its plan": {reader, func(t *testing.T, m *member.Member) error {
			_, err := m.PlanAgain(t.Context())
			return err
		}},
		"reports": {reader, func(t *testing.T, m *member.Member) error {
			return m.Report(t.Context(), coordinator.ServerState{}, nil)
		}},
		"publishes": {writer, func(t *testing.T, m *member.Member) error {
			return m.Put(t.Context(), "db.mysql", json.RawMessage("null"), noon)
		}},
		"takes back": {writer, func(t *testing.T, m *member.Member) error {
			return m.TakeBack(t.Context(), []contract.CellName{"db.mysql"}, false)
		}},
		"seals for a reader": {writer, func(t *testing.T, m *member.Member) error {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			err := m.KeepSealed(ctx, func(err error) { t.Error(err) })
			if ctx.Err() != nil {
				return nil // it goes on
			}
			return err
		}},
	} {
		for _, enrol := range []coordinator.Enrolment{coordinator.EnrolAlways, coordinator.EnrolOnce} {
			t.Run(name+", enrol="+string(enrol), func(t *testing.T) {
				b := inMemory()
				if _, err := deploy.Publish(t.Context(), b.open(t), publication(p, enrolling(enrol))); err != nil {
					t.Fatal(err)
				}
				all := map[contract.ServerPath]*remains{reader: newRemains(t, "app", "a1"), writer: newRemains(t, "db", "d1")}
				db, app := b.mustBegin(t, all["db"], 0), b.mustBegin(t, all["app"], 0)
				put(t, db, "db.mysql:url", `"mysql://"`)
				put(t, db, password, `"hush"`)
				for _, m := range []*member.Member{db, app} {
					if err := errors.Join(m.Report(t.Context(), coordinator.ServerState{}, nil), m.Answer(t.Context(), []coordinator.Answer{{ID: "before"}})); err != nil {
						t.Fatal(err)
					}
				}
				b.lose(t)
				b.restore(t, p, enrolling(enrol))
				other, m := writer, app
				if c.server == writer {
					other, m = reader, db
				}
				back := b.mustBegin(t, all[other], 1) // the others were seen to come back
				go func() { _ = back.KeepSealed(t.Context(), func(error) {}) }()
				post := []deploy.Posting{{Server: c.server, Request: coordinator.Request{ID: "one", Kind: coordinator.Action, Since: noon.Add(2e9)}}}
				if err := reading(t, b.operator(t)).Post(t.Context(), post, nil); err != nil {
					t.Fatal(err)
				}
				if err := c.do(t, m); err != nil {
					t.Errorf("%v\n%s", err, all[c.server].words())
				}
				// an empty record of its own says nothing of either deployment
				quiet := enrol == coordinator.EnrolAlways && slices.Contains([]string{"takes back", "reads its answers", "reads its state"}, name)
				if !quiet && !strings.Contains(all[c.server].words(), "put the deployment back") {
					t.Errorf("it says %q", all[c.server].words())
				}
			})
		}
	}
}

// All that an agent does at a time comes back together, where the machine has a pass anew, too.
func TestSeveralComeBackTogether(t *testing.T) {
	b := inMemory()
	p := withPassword()
	b.publishOnce(t, p)
	db, app := newRemains(t, "db", "d1"), newRemains(t, "app", "a1")
	writer, reader := b.mustBegin(t, db, 0), b.mustBegin(t, app, 0)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b.lose(t)
	b.restore(t, p, enrolling(coordinator.EnrolOnce))
	sealing := make(chan error, 1)
	go func() { sealing <- writer.KeepSealed(ctx, func(err error) { t.Error(err) }) }()
	ended := make(chan error)
	all := []func() error{
		func() error { return reader.Report(t.Context(), coordinator.ServerState{}, nil) },
		func() error { return writer.WriteLog(t.Context(), "mysql", []byte("a line")) },
		func() error { _, err := reader.Requests(t.Context()); return err },
		func() error { _, err := reader.PlanAgain(t.Context()); return err },
		func() error { _, err := reader.State(t.Context()); return err },
		func() error {
			value, err := reader.Await(within(t, patience), password, member.AwaitOptions{IfDown: -1})
			if err == nil && string(value) != `"hush"` {
				t.Errorf("it reads %s", value)
			}
			return err
		},
		func() error { return writer.Put(t.Context(), password, json.RawMessage(`"hush"`), noon) },
		func() error { return writer.Report(t.Context(), coordinator.ServerState{}, nil) },
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
	b := inMemory()
	b.publish(t, withUpdate())
	a := b.attacker(t)
	app, db := newRemains(t, "app", "a1"), b.agent(t, "db")
	m := b.mustBegin(t, app, 0)
	before := map[coordinator.Path]string{}
	for _, path := range []coordinator.Path{site.Root(), site.Plan(), site.ServerPlan("app"), site.Keys("app"), site.Server("app"), site.State("app"), site.Requests("app")} {
		before[path] = a.read(path)
	}
	newer := withUpdate(func(p *contract.Plan) { p.Servers[1].Roles[0].Timeout = 77 })
	b.publish(t, newer)
	if _, err := m.PlanAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, text := range before {
		a.write(path, text)
	}
	app.ended.Add(1)
	read := make(chan error, 1)
	go func() {
		_, err := m.Await(within(t, patience), "db.mysql:endpoint", member.AwaitOptions{IfDown: -1})
		read <- err
	}()
	reported := make(chan error, 1)
	go func() { reported <- m.Report(within(t, patience), coordinator.ServerState{}, nil) }()
	for !strings.Contains(app.words(), "an older state of the deployment stands there") {
		select {
		case err := <-reported:
			t.Fatalf("it does not wait: %v\n%s", err, app.words())
		case err := <-read:
			t.Fatalf("it does not wait: %v\n%s", err, app.words())
		case <-within(t, patience).Done():
			t.Fatal(app.words())
		default:
		}
	}
	shown := func() bool { // to `hotc status`
		v, err := deploy.TakeSnapshot(t.Context(), b.operator(t), site, secret, withUpdate())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(v.Servers, func(s deploy.ServerSnapshot) bool {
			return s.Path == "app" && strings.Contains(s.State.Message, "an older state of the deployment stands there")
		})
	}
	for until := within(t, patience); !shown(); {
		if until.Err() != nil {
			t.Fatal("the operator is not told what the agent waits for")
		}
	}
	b.publish(t, newer)
	put(t, db, "db.mysql:endpoint", `"here"`)
	if err := errors.Join(soon(t, reported), soon(t, read)); err != nil {
		t.Fatalf("%v\n%s", err, app.words())
	}
	if !strings.Contains(app.words(), "the same deployment is there again") {
		t.Error(app.words())
	}
}
