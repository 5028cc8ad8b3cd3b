package zookeeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// A server that has lost its data refuses the session for ever; the session is ended, and
// the next one sees what is there, its watches too. One that was away for a while is no
// reason for that.
func TestAServerThatHasLostItsData(t *testing.T) {
	ctx := within(t)
	server := zktest.Start(t)
	s := join(t, ctx, server.URL("hotc"), 4*time.Second, operator)
	must(t, s.Create(ctx, []store.NewNode{{Path: "a", Data: []byte("1")}}))
	changes, err := s.Watch(ctx, "a")
	must(t, err)
	<-changes
	if _, err := s.Read(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	server.Start(t)
	if node, err := s.Read(ctx, "a"); err != nil || string(node.Data) != "1" {
		t.Fatal(node, err)
	}
	if c, _ := s.Connection(); c.Ended != 0 || !c.Up {
		t.Errorf("after a restart: %+v", c)
	}
	server.Stop()
	must(t, os.RemoveAll(filepath.Join(server.Dir(), "data", "version-2")))
	server.Start(t)
	if _, err := s.Read(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it reads what is lost: %v", err)
	}
	if c, _ := s.Connection(); c.Ended != 1 || !c.Up {
		t.Errorf("after the loss: %+v", c)
	}
	for range changes {
		if _, exists, err := s.Stat(ctx, "a"); err == nil && !exists {
			break
		}
	}
	must(t, s.Create(ctx, []store.NewNode{{Path: "a", Data: []byte("2")}}))
	for range changes {
		if node, err := s.Read(ctx, "a"); err == nil && string(node.Data) == "2" {
			break
		}
	}
}

// Two servers of three are away for longer than sessions live without them, and the third one closes
// all connections: nothing was lost, and the session is the same when they are back.
func TestAQuorumThatIsAwayForAWhile(t *testing.T) {
	ctx := within(t)
	c := zktest.Ensemble(t, 3)
	s, err := open(ctx, c.URL("hotc"), 4*time.Second)
	must(t, err)
	defer s.Close()
	if _, _, err := s.Stat(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	before := s.link.conn.SessionID()
	c.Servers[0].Kill()
	c.Servers[1].Kill()
	for {
		now, _ := s.Connection()
		if now.Ended > 0 {
			t.Fatal("the session was ended")
		}
		if now.Trouble != nil && strings.Contains(now.Trouble.Error(), "quorum") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.Servers[0].Start(t)
	c.Servers[1].Start(t)
	if _, _, err := s.Stat(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	if now, _ := s.Connection(); now.Ended > 0 || s.link.conn.SessionID() != before {
		t.Errorf("it has another session: %+v", now)
	}
}
