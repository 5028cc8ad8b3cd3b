package member_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// interruption is what happens to one commit: it returns what the caller sees.
type interruption func(commit func() error) error

// answerLost is a connection that breaks before the answer: the back end repeats the request, which
// finds its own writes.
func answerLost(commit func() error) error {
	if err := commit(); err != nil {
		return err
	}
	return commit()
}

func killedBefore(func() error) error { return store.ErrClosed }

func killedAfter(commit func() error) error {
	if err := commit(); err != nil {
		return err
	}
	return store.ErrClosed
}

// refusedAsTooLarge is a server whose limit is lower than its clients think.
func refusedAsTooLarge(func() error) error { return store.ErrTooLarge }

// interrupted interrupts the next commit that writes a cell.
type interrupted struct {
	store.Session
	cell store.Path
	next *interruption
}

func (s *interrupted) Commit(ctx context.Context, ops ...store.Op) error {
	for _, op := range ops {
		if interrupt := *s.next; interrupt != nil && op.Write && op.Path == s.cell {
			*s.next = nil
			return interrupt(func() error { return s.Session.Commit(context.WithoutCancel(ctx), ops...) })
		}
	}
	return s.Session.Commit(ctx, ops...)
}

// interrupts are sessions at the same coordinator whose commits of a cell are interrupted when next
// is set.
func interrupts(b deploytest.Bed, ref contract.CellRef) (_ deploytest.Bed, next *interruption) {
	next = new(interruption)
	return deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		t.Helper()
		return &interrupted{b.Open(t, creds...), deploytest.Site.Cell(ref), next}
	}}, next
}

// Whatever is published is on the machine's disk, and what is there is published: when the answer to
// the commit is lost, and when the agent is killed before or after it. So it can be published again
// after the coordinator has lost it, too.
func TestInterruptedPublicationsAreRecovered(t *testing.T) {
	for name, interrupt := range map[string]interruption{"answer lost": answerLost, "killed before": killedBefore, "killed after": killedAfter} {
		for _, c := range []struct {
			name    string
			cell    contract.CellName
			before  string // published before
			publish func(ctx context.Context, m *member.Session) error
			state   protocol.CellState
			version int
			value   string
		}{
			{"value", "db.mysql", "", func(ctx context.Context, m *member.Session) error {
				return m.Put(ctx, "db.mysql", json.RawMessage("null"), deploytest.Noon)
			}, protocol.Valued, 1, "null"},
			{"secret", deploytest.Password, "", func(ctx context.Context, m *member.Session) error {
				return m.Put(ctx, deploytest.Password, json.RawMessage(`"hush"`), deploytest.Noon)
			}, protocol.Valued, 1, `"hush"`},
			{"next version of a secret", deploytest.Password, `"hush"`, func(ctx context.Context, m *member.Session) error {
				return m.Renew(ctx, deploytest.Password, json.RawMessage(`"newer"`), nil, nil, deploytest.Noon)
			}, protocol.Valued, 2, `"newer"`},
			{"failure", "db.mysql", "", func(ctx context.Context, m *member.Session) error {
				return m.Report(ctx, protocol.ServerState{Phase: protocol.PhaseFailed}, map[contract.CellName]*protocol.Cause{"db.mysql": {Reason: "no"}})
			}, protocol.Failed, 1, ""},
			{"the same value after a retry", deploytest.Password, `"hush"`, func(ctx context.Context, m *member.Session) error {
				return m.Renew(ctx, deploytest.Password, json.RawMessage(`"hush"`), nil, nil, deploytest.Noon)
			}, protocol.Valued, 1, `"hush"`},
		} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				b, p, machine := deploytest.InMemory(), deploytest.WithPassword(), newRemains(t, "db", "d1")
				b.Publish(t, p)
				app := b.MustBegin(t, newRemains(t, "app", "a1"), 0)
				ref := contract.CellRef{Cell: c.cell, Server: "db", Sealed: c.cell == deploytest.Password}
				interrupting, next := interrupts(b, ref)
				m := interrupting.MustBegin(t, machine, 0)
				if c.before != "" {
					put(t, m, c.cell, c.before)
				}
				if c.before != "" && c.before == c.value {
					if err := m.TakeBack(t.Context(), []contract.CellName{c.cell}, true); err != nil {
						t.Fatal(err)
					}
				}
				*next = interrupt
				err := c.publish(t.Context(), m)
				if *next != nil || (err != nil) != (name != "answer lost") {
					t.Fatalf("interrupted: %v, %v", *next == nil, err)
				}
				if err != nil {
					m = b.MustBegin(t, machine, 1)
				}
				expect := func() {
					t.Helper()
					there, err := deploytest.ReadCell(t.Context(), b.Operator(t), ref)
					if err != nil || there.State != c.state || there.Version != c.version {
						t.Fatalf("the coordinator has %+v (%v)", there, err)
					}
					if kept := machine.Disk.Record(c.cell); kept.State != c.state || kept.At() != there.At() || string(kept.Value) != c.value {
						t.Fatalf("the disk has %+v", kept)
					}
					if !ref.Sealed {
						return
					}
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					go m.KeepSealed(ctx, func(err error) { t.Error(err) })
					deploytest.ExpectValue(t, app, c.cell, c.value)
				}
				expect()
				b.Lose(t)
				b.Restore(t, p)
				m, app = b.MustBegin(t, machine, 1), b.MustBegin(t, newRemains(t, "app", "a1"), 0)
				expect()
			})
		}
	}
}

// A secret's readers get its key though the writer does not know whether its box is there, and has
// the box of an earlier version in its cache.
func TestASecretWhoseAnswerWasLostReachesItsReaders(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithPassword())
	app, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
	defer stopApp()
	interrupting, next := interrupts(b, contract.CellRef{Cell: deploytest.Password, Server: "db", Sealed: true})
	db, stopDB := interrupting.Start(t, deploytest.NewMachine(t, "db", "d1"), false)
	defer stopDB()
	for _, value := range []string{`"hush"`, `"newer"`} {
		*next = answerLost
		if err := db.Renew(t.Context(), deploytest.Password, json.RawMessage(value), nil, nil, deploytest.Noon); err != nil || *next != nil {
			t.Fatalf("interrupted: %v, %v", *next == nil, err)
		}
		for got := ""; got != value; {
			read, err := app.Await(deploytest.Within(t, deploytest.Patience), deploytest.Password, member.AwaitOptions{IfDown: -1})
			if err != nil {
				t.Fatal(err)
			}
			got = string(read)
		}
	}
}

// What was refused is not kept: a relay would wait until the followers have run with it.
func TestARefusedValueIsNotKept(t *testing.T) {
	b := deploytest.InMemory()
	b.Publish(t, deploytest.WithPassword())
	interrupting, next := interrupts(b, contract.CellRef{Cell: deploytest.Password, Server: "db", Sealed: true})
	machine := newRemains(t, "db", "d1")
	m := interrupting.MustBegin(t, machine, 0)
	for version, value := range []string{"", `"hush"`} {
		if value != "" {
			put(t, m, deploytest.Password, value)
		}
		*next = refusedAsTooLarge
		if err := m.Renew(t.Context(), deploytest.Password, json.RawMessage(`"newer"`), nil, nil, deploytest.Noon); err == nil {
			t.Fatal("it was not refused")
		}
		if kept := machine.Disk.Record(deploytest.Password); string(kept.Value) != value || kept.Version != version {
			t.Errorf("the disk has %+v", kept)
		}
	}
}

// An agent is killed while a write of its is on the way, which arrives when the machine's next agent
// is at work: it does not count any more. Otherwise it would take back what that one has answered,
// reported or sealed.
func TestWritesOfAnAgentThatDied(t *testing.T) {
	answer := func(ids ...string) func(context.Context, *member.Session, *member.Session) error {
		var all []protocol.Answer
		for _, id := range ids {
			all = append(all, protocol.Answer{ID: id, Status: protocol.AnswerDone})
		}
		return func(ctx context.Context, m, _ *member.Session) error { return m.Answer(ctx, all) }
	}
	log := func(text string) func(context.Context, *member.Session, *member.Session) error {
		return func(ctx context.Context, m, _ *member.Session) error { return m.WriteLog(ctx, "mysql", []byte(text)) }
	}
	state := func(p protocol.Phase) func(context.Context, *member.Session, *member.Session) error {
		return func(ctx context.Context, m, _ *member.Session) error {
			return m.Report(ctx, protocol.ServerState{Phase: p}, nil)
		}
	}
	sealed := func(value string) func(context.Context, *member.Session, *member.Session) error {
		return func(ctx context.Context, m, app *member.Session) error {
			ctx, stop := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() { ended <- m.KeepSealed(ctx, func(error) {}) }()
			defer func() { stop(); <-ended }()
			err := m.Renew(ctx, deploytest.Password, json.RawMessage(value), nil, nil, deploytest.Noon)
			for err == nil {
				var record protocol.CellRecord
				if record, err = app.Cell(ctx, deploytest.Password); string(record.Value) == value {
					break
				}
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		path       store.Path
		dead, next func(ctx context.Context, m, app *member.Session) error
	}{
		"answers":           {deploytest.Site.Answers("db"), answer("one"), answer("one", "two")},
		"log":               {deploytest.Site.Log("db", "mysql"), log("before"), log("after")},
		"state":             {deploytest.Site.State("db"), state(protocol.PhaseRunning), state(protocol.PhaseDone)},
		"keys of a reader":  {deploytest.Site.SealsFor("db", "app"), sealed(`"hush"`), sealed(`"newer"`)},
		"its own last keys": {deploytest.Site.SealsFor("db", "db"), sealed(`"hush"`), sealed(`"newer"`)},
	} {
		t.Run(name, func(t *testing.T) {
			b, machine := deploytest.InMemory(), newRemains(t, "db", "d1")
			b.Publish(t, deploytest.WithPassword())
			app := b.MustBegin(t, newRemains(t, "app", "a1"), 0)
			began, arrives, arrived := make(chan bool), make(chan bool), make(chan error, 1)
			next := new(interruption(func(commit func() error) error {
				began <- true
				<-arrives
				arrived <- commit()
				return store.ErrClosed // nobody hears the answer
			}))
			slow := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
				t.Helper()
				return &interrupted{b.Open(t, creds...), c.path, next}
			}}
			ctx, kill := context.WithCancel(t.Context())
			dead, ended := slow.MustBegin(t, machine, 0), make(chan bool)
			go func() { _ = c.dead(ctx, dead, app); close(ended) }()
			<-began
			m := b.MustBegin(t, machine, 1)
			if err := c.next(t.Context(), m, app); err != nil {
				t.Fatal(err)
			}
			a := b.Attacker(t)
			want := a.Read(c.path)
			kill()
			close(arrives)
			<-ended
			if err := <-arrived; !errors.Is(err, store.ErrVersion) {
				t.Errorf("it arrived: %v", err)
			}
			if got := a.Read(c.path); got != want {
				t.Errorf("there is %s\nnot %s", got, want)
			}
			if err := c.next(t.Context(), m, app); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}
