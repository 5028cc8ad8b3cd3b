package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func put(t *testing.T, m *member.Session, cell contract.CellName, value string) {
	t.Helper()
	if err := m.Put(t.Context(), cell, json.RawMessage(value), deploytest.Noon); err != nil {
		t.Fatal(err)
	}
}

// A secret reaches its readers, whoever of them comes first, and nothing on the
// coordinator holds it.
func TestSealedValuesReachTheirReaders(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.WithPassword())
		app, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false) // before the value is there
		defer stopApp()
		got := make(chan string, 1)
		go func() {
			value, err := app.Await(deploytest.Within(t, deploytest.Patience), deploytest.Password, member.AwaitOptions{})
			if err != nil {
				value = json.RawMessage(err.Error())
			}
			got <- string(value)
		}()
		db, stopDB := b.Start(t, deploytest.NewMachine(t, "db", "d1"), false)
		defer stopDB()
		put(t, db, deploytest.Password, `"hush-hush"`)
		if value := deploytest.Soon(t, got); value != `"hush-hush"` {
			t.Fatalf("it read %s", value)
		}
		deploytest.ExpectValue(t, db, deploytest.Password, `"hush-hush"`) // the writer itself
		backup, stopBackup := b.Start(t, deploytest.NewMachine(t, "backup", "b1"), false)
		defer stopBackup()
		deploytest.ExpectValue(t, backup, deploytest.Password, `"hush-hush"`) // after it
		deploytest.ExpectNowhere(t, b.Operator(t), deploytest.Site.Root(), "hush-hush")
		record, err := deploytest.ReadCell(t.Context(), b.Operator(t), contract.CellRef{Cell: deploytest.Password, Server: "db", Sealed: true})
		if err != nil || record.State != protocol.Valued || record.Value != nil || record.Sealed == "" {
			t.Fatalf("the operator sees %+v (%v)", record, err)
		}
	})
}

// A secret of another type than its output's is none to its reader.
func TestASecretOfAnotherType(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithPassword())
	app, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
	defer stopApp()
	db, stopDB := b.Start(t, deploytest.NewMachine(t, "db", "d1"), false)
	defer stopDB()
	put(t, db, deploytest.Password, `["hush-hush"]`)
	for state := protocol.Empty; state != protocol.Unknown; time.Sleep(time.Millisecond) { // empty until it is sealed for the reader
		record, err := app.Cell(deploytest.Within(t, deploytest.Patience), deploytest.Password)
		if state = record.State; err != nil || record.Value != nil {
			t.Fatalf("it reads %+v, %v", record, err)
		}
	}
	if err := db.Renew(t.Context(), deploytest.Password, json.RawMessage(`"hush-hush"`), nil, nil, deploytest.Noon); err != nil {
		t.Fatal(err)
	}
	deploytest.ExpectValue(t, app, deploytest.Password, `"hush-hush"`)
}

// A reader that was built anew has another key: the writer's agent, started again
// meanwhile, seals for it. The old machine's key is of no use any more.
func TestSealedAgainForReadersAnew(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.WithPassword())
		writer := deploytest.NewMachine(t, "db", "d1")
		db, stopDB := b.Start(t, writer, false)
		put(t, db, deploytest.Password, `"hush-hush"`)
		_, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
		stopApp()
		stopDB()
		again, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a2"), false)
		defer stopApp()
		waiting, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if value, err := again.Await(waiting, deploytest.Password, member.AwaitOptions{IfDown: -1}); err == nil {
			t.Fatalf("without the writer's agent it read %s", value)
		}
		db, stopDB = b.Start(t, writer, true)
		defer stopDB()
		deploytest.ExpectValue(t, again, deploytest.Password, `"hush-hush"`)
		// The same value again is nothing after a restart too, and another is refused.
		put(t, db, deploytest.Password, `"hush-hush"`)
		if err := db.Put(t.Context(), deploytest.Password, json.RawMessage(`"other"`), deploytest.Noon); !errors.Is(err, member.ErrOtherValue) {
			t.Errorf("another value: %v, want ErrOtherValue", err)
		}
	})
}

// A writer that was built anew seals another value with another key.
func TestSealedByAWriterAnew(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.WithPassword())
		app, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
		defer stopApp()
		db, stopDB := b.Start(t, deploytest.NewMachine(t, "db", "d1"), false)
		put(t, db, deploytest.Password, `"one"`)
		deploytest.ExpectValue(t, app, deploytest.Password, `"one"`)
		later, stopLater := b.Start(t, deploytest.NewMachine(t, "db", "d2"), false)
		defer stopLater()
		if err := db.Put(t.Context(), deploytest.Password, json.RawMessage(`"late"`), deploytest.Noon); !errors.Is(err, member.ErrFenced) {
			t.Errorf("the late predecessor writes: %v, want ErrFenced", err)
		}
		stopDB()
		put(t, later, deploytest.Password, `"two"`)
		deploytest.ExpectValue(t, app, deploytest.Password, `"two"`)
	})
}

// Who is not a reader can read none of the nodes, and a reader with another key than
// the one it showed opens nothing.
func TestWhoCannotOpenWhatIsSealed(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.WithPassword())
		db, stopDB := b.Start(t, deploytest.NewMachine(t, "db", "d1"), false)
		defer stopDB()
		put(t, db, deploytest.Password, `"hush-hush"`)
		app, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
		defer stopApp()
		deploytest.ExpectValue(t, app, deploytest.Password, `"hush-hush"`)
		// another process of the same server, with its token and without its key
		spy := member.Join(b.Session(t, "app"), deploytest.Site, "app", deploytest.TokenOf("app"))
		if _, err := spy.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		spy.UseKey(deploytest.NewMachine(t, "app", "spy").Key)
		if record, err := spy.Cell(t.Context(), deploytest.Password); err != nil || record.State != protocol.Empty || record.Sealed != "" {
			t.Errorf("a process with the token reads %+v (%v)", record, err)
		}
		for _, path := range []store.Path{deploytest.Site.Public("db"), deploytest.Site.Public("app"), deploytest.Site.SealsFor("db", "app"), deploytest.Site.SealsFor("db", "db")} {
			deploytest.ExpectRights(t, "the balancer", b.Session(t, "lb"), path, false, false)
		}
		deploytest.ExpectRights(t, "another reader", b.Session(t, "backup"), deploytest.Site.SealsFor("db", "app"), false, false)
		deploytest.ExpectRights(t, "the reader", b.Session(t, "app"), deploytest.Site.SealsFor("db", "app"), true, false)
		deploytest.ExpectRights(t, "the writer", b.Session(t, "db"), deploytest.Site.Public("app"), true, false)
	})
}

// What the writer has sealed for a reader cannot be read for a while: the reader gets the key once it
// can, and the other readers get theirs meanwhile.
func TestSealingGoesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := deploytest.InMemory()
		b.Publish(t, deploytest.WithPassword())
		a := b.Attacker(t)
		app := b.MustBegin(t, newRemains(t, "app", "a1"), 0)
		backup := b.MustBegin(t, newRemains(t, "backup", "b1"), 0)
		db := b.MustBegin(t, newRemains(t, "db", "d1"), 0)
		a.Write(deploytest.Site.SealsFor("db", "app"), "{{{")
		said, ended := make(chan error, 100), make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- db.KeepSealed(ctx, func(err error) { said <- err }) }()
		t.Cleanup(func() { stop(); <-ended })
		put(t, db, deploytest.Password, `"hush"`)
		if err := <-said; !strings.HasPrefix(err.Error(), "nothing is sealed for server app, next attempt in 30s: ") {
			t.Error(err)
		}
		deploytest.ExpectValue(t, backup, deploytest.Password, `"hush"`)
		synctest.Wait()
		a.Write(deploytest.Site.SealsFor("db", "app"), "{}")
		deploytest.ExpectValue(t, app, deploytest.Password, `"hush"`)
	})
}

// A change of the plan lets a server read one more secret of a writer: it gets the key, though its own
// key is known and nothing is written.
func TestAReaderOfOneMoreSecret(t *testing.T) {
	const user = contract.CellName("db.mysql:user")
	plan := func(readers ...contract.ServerPath) *contract.Plan {
		p := deploytest.WithPassword()
		p.Cells = append(p.Cells, contract.Cell{Name: user, Server: "db", Role: "mysql", Sealed: true})
		for i := range p.Servers {
			if s := &p.Servers[i]; slices.Contains(readers, s.Path) {
				s.Roles = []contract.Role{deploytest.Reader(deploytest.Password, user)}
			}
		}
		return p
	}
	b := deploytest.InMemory()
	b.Publish(t, plan("app"))
	app, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
	defer stopApp()
	backup, stopBackup := b.Start(t, deploytest.NewMachine(t, "backup", "b1"), false)
	defer stopBackup()
	db, stopDB := b.Start(t, deploytest.NewMachine(t, "db", "d1"), false)
	defer stopDB()
	put(t, db, user, `"root"`)
	put(t, db, deploytest.Password, `"hush"`)
	deploytest.ExpectValue(t, app, user, `"root"`)
	deploytest.ExpectValue(t, backup, deploytest.Password, `"hush"`)
	b.Publish(t, plan("app", "backup"))
	for _, m := range []*member.Session{db, backup} {
		if _, err := m.PlanAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	deploytest.ExpectValue(t, backup, user, `"root"`)
}

// reading does something after the first read of a node, before its reader gets the answer.
type reading struct {
	store.Session
	path store.Path
	do   *atomic.Pointer[func()]
}

func (s *reading) Read(ctx context.Context, path store.Path) (store.Node, error) {
	node, err := s.Session.Read(ctx, path)
	if path == s.path {
		if do := s.do.Swap(nil); do != nil {
			(*do)()
		}
	}
	return node, err
}

// A value is replaced while its writer, started again, reads the key of the former one in order to
// seal it: its readers get the new one.
func TestAValueIsReplacedWhileItIsSealed(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithPassword())
	machine, do := deploytest.NewMachine(t, "db", "d1"), new(atomic.Pointer[func()])
	db, stop := b.Start(t, machine, false)
	put(t, db, deploytest.Password, `"hush"`)
	stop()
	slow := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		t.Helper()
		return &reading{b.Open(t, creds...), deploytest.Site.SealsFor("db", "db"), do}
	}}
	again := slow.Join(t, machine, true)
	app, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
	defer stopApp()
	renewed := make(chan error, 1)
	renew := func() {
		renewed <- again.Renew(t.Context(), deploytest.Password, json.RawMessage(`"newer"`), nil, nil, deploytest.Noon)
	}
	do.Store(&renew)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- again.KeepSealed(ctx, func(err error) { t.Error(err) }) }()
	defer func() { cancel(); <-ended }()
	if err := deploytest.Soon(t, renewed); err != nil {
		t.Fatal(err)
	}
	deploytest.ExpectValue(t, app, deploytest.Password, `"newer"`)
}
