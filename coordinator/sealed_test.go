package coordinator_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

const password = contract.CellName("db.mysql:password")

// withPassword is a database whose password an application and a backup read.
func withPassword() *contract.Plan {
	readers := []contract.ServerPath{"app", "backup"}
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: "none",
		Servers: []contract.Server{{Path: "db", At: "site.yaml:3:3", Writes: []contract.CellName{password, "db.mysql"},
			Seals: []contract.Sealing{{Cell: password, Readers: readers}},
			Roles: []contract.Role{{Name: "mysql", At: "site.yaml:5:9", Driver: "script", Source: json.RawMessage(`{}`),
				Outputs: []contract.Output{{Name: "password", Cell: password, Type: contract.String, Secret: true, At: "site.yaml:6:9"}}}}}},
		Cells: []contract.Cell{{Name: password, Server: "db", Role: "mysql", Readers: readers, Sealed: true}, {Name: "db.mysql", Server: "db", Role: "mysql"}},
	}
	for _, r := range readers {
		p.Servers = append(p.Servers, contract.Server{Path: r, At: "site.yaml:9:3", Roles: []contract.Role{},
			Reads: []contract.CellRef{{Cell: password, Server: "db", Sealed: true}}})
	}
	p.Servers = append(p.Servers, contract.Server{Path: "lb", At: "site.yaml:20:3", Roles: []contract.Role{}})
	return p
}

// machine is a server's agent with its disk: a journal and a key.
type machine struct {
	server contract.ServerPath
	id     string
	key    seal.Key
}

func newMachine(t *testing.T, server contract.ServerPath, id string) machine {
	t.Helper()
	key, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return machine{server, id, key}
}

// start starts the machine's agent, which seals for its readers until stopped.
func (b bed) start(t *testing.T, of machine, enrolledBefore bool) (m *member.Member, stop func()) {
	t.Helper()
	m = member.Join(b.session(t, of.server), site, of.server, tokenOf(of.server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !m.NeedsKey() {
		t.Fatalf("server %s thinks that it needs no key", of.server)
	}
	m.UseKey(of.key)
	if _, err := m.Enrol(t.Context(), of.id, "i-"+of.id, enrolledBefore, noon); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.KeepSealed(ctx, func(err error) { t.Error(err) }) }()
	stop = func() {
		cancel()
		if err := soon(t, ended); !errors.Is(err, context.Canceled) && !errors.Is(err, member.ErrFenced) {
			t.Error(err)
		}
	}
	return m, stop
}

func put(t *testing.T, m *member.Member, cell contract.CellName, value string) {
	t.Helper()
	if err := m.Put(t.Context(), cell, json.RawMessage(value), noon); err != nil {
		t.Fatal(err)
	}
}

func expectValue(t *testing.T, m *member.Member, cell contract.CellName, want string) {
	t.Helper()
	got, err := m.Await(within(t, patience), cell, member.AwaitOptions{IfDown: -1})
	if err != nil || string(got) != want {
		t.Fatalf("it read %s, want %s (%v)", got, want, err)
	}
}

// A secret reaches its readers, whoever of them comes first, and nothing on the
// coordinator holds it.
func TestSealedValuesReachTheirReaders(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, withPassword())
		app, stopApp := b.start(t, newMachine(t, "app", "a1"), false) // before the value is there
		defer stopApp()
		got := make(chan string, 1)
		go func() {
			value, err := app.Await(within(t, patience), password, member.AwaitOptions{})
			if err != nil {
				value = json.RawMessage(err.Error())
			}
			got <- string(value)
		}()
		db, stopDB := b.start(t, newMachine(t, "db", "d1"), false)
		defer stopDB()
		put(t, db, password, `"hush-hush"`)
		if value := soon(t, got); value != `"hush-hush"` {
			t.Fatalf("it read %s", value)
		}
		expectValue(t, db, password, `"hush-hush"`) // the writer itself
		backup, stopBackup := b.start(t, newMachine(t, "backup", "b1"), false)
		defer stopBackup()
		expectValue(t, backup, password, `"hush-hush"`) // after it
		expectNowhere(t, b.operator(t), site.Root(), "hush-hush")
		record, err := readCell(t.Context(), b.operator(t), contract.CellRef{Cell: password, Server: "db", Sealed: true})
		if err != nil || record.State != coordinator.Valued || record.Value != nil || record.Sealed == "" {
			t.Fatalf("the operator sees %+v (%v)", record, err)
		}
	})
}

// expectNowhere looks through everything on the coordinator, as it is and out of base64.
func expectNowhere(t *testing.T, s coordinator.Store, path coordinator.Path, secret string) {
	t.Helper()
	node, err := s.Read(t.Context(), path)
	if err != nil {
		if errors.Is(err, coordinator.ErrRefused) {
			return // an agent's own presence
		}
		t.Fatal(err)
	}
	var texts map[string]any
	_ = json.Unmarshal(node.Data, &texts)
	data := node.Data
	if sealed, ok := texts["sealed"].(string); ok {
		raw, err := base64.StdEncoding.DecodeString(sealed)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, raw...)
	}
	if bytes.Contains(data, []byte(secret)) {
		t.Errorf("%s holds the secret: %s", path, node.Data)
	}
	names, err := s.Children(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		expectNowhere(t, s, path.Join(name), secret)
	}
}

// A reader that was built anew has another key: the writer's agent, started again
// meanwhile, seals for it. The old machine's key is of no use any more.
func TestSealedAgainForReadersAnew(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, withPassword())
		writer := newMachine(t, "db", "d1")
		db, stopDB := b.start(t, writer, false)
		put(t, db, password, `"hush-hush"`)
		_, stopApp := b.start(t, newMachine(t, "app", "a1"), false)
		stopApp()
		stopDB()
		again, stopApp := b.start(t, newMachine(t, "app", "a2"), false)
		defer stopApp()
		waiting, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if value, err := again.Await(waiting, password, member.AwaitOptions{IfDown: -1}); err == nil {
			t.Fatalf("without the writer's agent it read %s", value)
		}
		db, stopDB = b.start(t, writer, true)
		defer stopDB()
		expectValue(t, again, password, `"hush-hush"`)
		// The same value again is nothing after a restart too, and another is refused.
		put(t, db, password, `"hush-hush"`)
		if err := db.Put(t.Context(), password, json.RawMessage(`"other"`), noon); !errors.Is(err, member.ErrOtherValue) {
			t.Errorf("another value: %v, want ErrOtherValue", err)
		}
	})
}

// A writer that was built anew seals another value with another key.
func TestSealedByAWriterAnew(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, withPassword())
		app, stopApp := b.start(t, newMachine(t, "app", "a1"), false)
		defer stopApp()
		db, stopDB := b.start(t, newMachine(t, "db", "d1"), false)
		put(t, db, password, `"one"`)
		expectValue(t, app, password, `"one"`)
		later, stopLater := b.start(t, newMachine(t, "db", "d2"), false)
		defer stopLater()
		if err := db.Put(t.Context(), password, json.RawMessage(`"late"`), noon); !errors.Is(err, member.ErrFenced) {
			t.Errorf("the late predecessor writes: %v, want ErrFenced", err)
		}
		stopDB()
		put(t, later, password, `"two"`)
		expectValue(t, app, password, `"two"`)
	})
}

// Who is no reader can read none of the nodes, and a reader with another key than
// the one it showed opens nothing.
func TestWhoCannotOpenWhatIsSealed(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, withPassword())
		db, stopDB := b.start(t, newMachine(t, "db", "d1"), false)
		defer stopDB()
		put(t, db, password, `"hush-hush"`)
		app, stopApp := b.start(t, newMachine(t, "app", "a1"), false)
		defer stopApp()
		expectValue(t, app, password, `"hush-hush"`)
		// another process of the same server, with its token and without its key
		spy := member.Join(b.session(t, "app"), site, "app", tokenOf("app"))
		if _, err := spy.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		spy.UseKey(newMachine(t, "app", "spy").key)
		if record, err := spy.Cell(t.Context(), password); err != nil || record.State != coordinator.Empty || record.Sealed != "" {
			t.Errorf("a process with the token reads %+v (%v)", record, err)
		}
		for _, path := range []coordinator.Path{site.Public("db"), site.Public("app"), site.SealsFor("db", "app"), site.SealsFor("db", "db")} {
			expectRights(t, "the balancer", b.session(t, "lb"), path, false, false)
		}
		expectRights(t, "another reader", b.session(t, "backup"), site.SealsFor("db", "app"), false, false)
		expectRights(t, "the reader", b.session(t, "app"), site.SealsFor("db", "app"), true, false)
		expectRights(t, "the writer", b.session(t, "db"), site.Public("app"), true, false)
	})
}
