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
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// answers is a relay's part: it waits until a machine asks to be db, or was told otherwise, and
// answers.
func answers(t *testing.T, b deploytest.Bed, instance string, has bool) {
	t.Helper()
	key, err := deploytest.Secret.Relay(deploytest.Site)
	if err != nil {
		t.Fatal(err)
	}
	s, err := relay.Join(t.Context(), b.Open(t, key.Credential()), key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- s.Watch(ctx) }()
	defer func() {
		stop()
		<-watched
	}()
	for {
		if is := s.Servers()["db"]; is.Next.Instance == instance && (is.Next.Asks() || *is.Next.Has != has) {
			if err := s.Answer(t.Context(), "db", is, has); err != nil {
				t.Fatal(err)
			}
			return
		}
		select {
		case <-s.Changed():
		case err := <-watched:
			watched <- err
			t.Fatal(err)
		}
	}
}

// Two machines of one server are there at once. Each asks; the one that Heat has is the server, the
// other one is not, whatever it writes itself. When Heat goes back to the first, that is the server
// again, and what it had published stands again, as of another incarnation.
func TestHeatSaysWhichMachineIsTheServer(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		p.Signal = contract.RelaySignals
		b.Publish(t, p)
		disk := map[string]*deploytest.Disk{"old": {}, "new": {}, "late": {}}
		enrol := func(ctx context.Context, id string, was int) (*member.Session, error) {
			m := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
			m.UseMemory(disk[id])
			if _, err := m.Plan(ctx); err != nil {
				return nil, err
			}
			m.RememberTries(was, func(int) error { return nil })
			s, err := m.Enrol(ctx, id, "i-"+id, was > 0, deploytest.Noon)
			if err == nil && was > 0 {
				err = s.Republish(ctx, was)
			}
			return s, err
		}
		type outcome struct {
			*member.Session
			err error
		}
		begins := func(ctx context.Context, id string, was int) chan outcome {
			c := make(chan outcome, 1)
			go func() {
				s, err := enrol(ctx, id, was)
				c <- outcome{s, err}
			}()
			return c
		}
		old, err := enrol(t.Context(), "old", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := old.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"old"`), deploytest.Noon); err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithCancel(t.Context())
		late := begins(ctx, "late", 0)
		answers(t, b, "i-late", false)
		forged, err := protocol.Encode(protocol.NextRecord{ID: "late", Instance: "i-late", After: 1, Has: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Session(t, "db").Commit(t.Context(), store.Op{Path: deploytest.Site.Next("db"), Version: store.AnyVersion, Write: true, Data: forged}); err != nil {
			t.Fatal(err)
		}
		answers(t, b, "i-late", false)
		newer := begins(t.Context(), "new", 0)
		answers(t, b, "i-new", true)
		is := <-newer
		if is.err != nil || is.Incarnation.Number != 2 {
			t.Fatalf("the new machine: %+v, %v", is.Session, is.err)
		}
		if err := old.Put(t.Context(), "db.mysql", json.RawMessage(`null`), deploytest.Noon); !errors.Is(err, member.ErrFenced) {
			t.Errorf("the old one writes: %v", err)
		}
		if err := is.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"new"`), deploytest.Noon); err != nil {
			t.Error(err)
		}

		answers(t, b, "i-late", false) // it asks once more, of the next one
		back := begins(t.Context(), "old", 1)
		answers(t, b, "i-old", false)
		answers(t, b, "i-old", true) // Heat goes back to it
		again := <-back
		if again.err != nil || again.Incarnation.Number != 3 {
			t.Fatalf("the old machine: %+v, %v", again.Session, again.err)
		}
		cell, err := again.Cell(t.Context(), "db.mysql:endpoint")
		if err != nil || string(cell.Value) != `"old"` || cell.Incarnation != 3 {
			t.Errorf("the cell is %+v, %v", cell, err)
		}
		stop()
		if end := <-late; !errors.Is(end.err, context.Canceled) {
			t.Errorf("the late machine: %+v", end)
		}
	})
}
