package coordinator_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// A server that restarts under a blocked read and under a write loses neither.
func TestProtocolOverARestart(t *testing.T) {
	server := zktest.Start(t)
	url := server.URL("hotc")
	b := bed{open: func(t *testing.T, creds ...coordinator.Credential) coordinator.Store {
		s, err := zookeeper.Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}}
	b.publish(t, threeTier())
	db, app := b.agent(t, "db"), b.agent(t, "app")
	if err := db.Announce(t.Context(), coordinator.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
		t.Fatal(err)
	}
	blocked := make(chan time.Time, 1)
	type result struct {
		value json.RawMessage
		err   error
	}
	got := make(chan result, 1)
	go func() {
		v, err := app.Await(within(t, patience), "db.mysql:endpoint", member.AwaitOptions{Blocked: func(s time.Time) { blocked <- s }})
		got <- result{v, err}
	}()
	soon(t, blocked)
	server.Kill()
	put := make(chan error, 1)
	go func() { put <- db.Put(within(t, patience), "db.mysql:endpoint", json.RawMessage(`"after"`), noon) }()
	time.Sleep(300 * time.Millisecond)
	server.Start(t)
	if err := soon(t, put); err != nil {
		t.Errorf("the write: %v", err)
	}
	if r := soon(t, got); r.err != nil || string(r.value) != `"after"` {
		t.Errorf("the read: %s, %v", r.value, r.err)
	}
	if err := deploy.Destroy(within(t, patience), b.operator(t), site); err != nil {
		t.Error(err)
	}
	if err := db.Put(within(t, patience), "db.mysql", json.RawMessage(`null`), noon); !errors.Is(err, member.ErrDestroyed) {
		t.Errorf("a write after destroy: %v, want ErrDestroyed", err)
	}
}
