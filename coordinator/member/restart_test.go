package member_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// A server that restarts under a blocked read and under a write loses neither.
func TestProtocolOverARestart(t *testing.T) {
	server := zktest.Start(t)
	url := server.URL("hotc")
	b := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		s, err := zookeeper.Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}}
	b.Publish(t, deploytest.ThreeTier())
	db, app := b.Agent(t, "db"), b.Agent(t, "app")
	if err := db.Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1, Since: deploytest.Noon}); err != nil {
		t.Fatal(err)
	}
	blocked := make(chan time.Time, 1)
	type result struct {
		value json.RawMessage
		err   error
	}
	got := make(chan result, 1)
	go func() {
		v, err := app.Await(deploytest.Within(t, deploytest.Patience), "db.mysql:endpoint", member.AwaitOptions{Blocked: func(s time.Time) { blocked <- s }})
		got <- result{v, err}
	}()
	deploytest.Soon(t, blocked)
	server.Kill()
	put := make(chan error, 1)
	go func() {
		put <- db.Put(deploytest.Within(t, deploytest.Patience), "db.mysql:endpoint", json.RawMessage(`"after"`), deploytest.Noon)
	}()
	time.Sleep(300 * time.Millisecond)
	server.Start(t)
	if err := deploytest.Soon(t, put); err != nil {
		t.Errorf("the write: %v", err)
	}
	if r := deploytest.Soon(t, got); r.err != nil || string(r.value) != `"after"` {
		t.Errorf("the read: %s, %v", r.value, r.err)
	}
	if err := deploy.Destroy(deploytest.Within(t, deploytest.Patience), b.Operator(t), deploytest.Site); err != nil {
		t.Error(err)
	}
	if err := db.Put(deploytest.Within(t, deploytest.Patience), "db.mysql", json.RawMessage(`null`), deploytest.Noon); !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("a write after destroy: %v, want ErrDestroyed", err)
	}
}
