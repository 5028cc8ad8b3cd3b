package zookeeper

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// held counts the library's channels of watches, without that of the anchor.
func held(s *client) (total int) {
	conn := reflect.ValueOf(s.link.conn).Elem()
	lock := (*sync.Mutex)(unsafe.Pointer(conn.FieldByName("watchersLock").UnsafeAddr()))
	lock.Lock()
	defer lock.Unlock()
	watchers := conn.FieldByName("watchers")
	for _, k := range watchers.MapKeys() {
		if k.FieldByName("path").String() != anchor {
			total += watchers.MapIndex(k).Len()
		}
	}
	return total
}

// The watches of nodes that do not change are set again on each new connection, and in a fresh
// session, and none is held twice.
func TestWatchesAfterManyConnections(t *testing.T) {
	ctx := within(t)
	proxy := zktest.NewProxy(t, zktest.Start(t).Addr())
	s := join(t, ctx, "zk://"+proxy.Addr()+"/hotc", 10*time.Second, operator)
	const n = 60
	var changes []<-chan struct{}
	for i := range n {
		path := store.Path(fmt.Sprint("n", i))
		must(t, s.Create(ctx, []store.NewNode{{Path: path}}))
		tokens, err := s.Watch(ctx, path)
		must(t, err)
		<-tokens
		_, err = s.Read(ctx, path)
		must(t, err)
		changes = append(changes, tokens)
	}
	for range 10 {
		proxy.Drop()
		_, err := s.Read(ctx, "n0")
		must(t, err)
		if now := held(s); now != n {
			t.Fatalf("%d watches are held for %d nodes", now, n)
		}
	}
	other := join(t, ctx, "zk://"+proxy.Addr()+"/hotc", 10*time.Second, operator)
	last := store.Path(fmt.Sprint("n", n-1))
	must(t, other.Commit(ctx, store.Op{Path: last, Write: true, Data: []byte("new")}))
	<-changes[n-1]
	proxy.Expire()
	_, err := s.Read(ctx, "n0")
	must(t, err)
	for held(s) != n {
		time.Sleep(time.Millisecond)
	}
}

// A watcher that takes its tokens and does not read hears of every change all the same, soon: its
// watch is set again for it, at first and after each event.
func TestAWatcherThatDoesNotRead(t *testing.T) {
	ctx := within(t)
	server := zktest.Start(t)
	s := join(t, ctx, server.URL("hotc"), 10*time.Second, operator)
	must(t, s.Create(ctx, []store.NewNode{{Path: "a"}}))
	tokens, err := s.Watch(ctx, "a")
	must(t, err)
	other := join(t, ctx, server.URL("hotc"), 10*time.Second, operator)
	armed := func() bool {
		s.watches.mu.Lock()
		defer s.watches.mu.Unlock()
		return s.watches.entries[s.at("a")].armed
	}
	for n := range 4 {
		for !armed() {
			if ctx.Err() != nil {
				t.Fatalf("after %d changes the watch is not set again", n)
			}
			time.Sleep(time.Millisecond)
		}
		for len(tokens) > 0 {
			<-tokens
		}
		must(t, other.Commit(ctx, store.Op{Path: "a", Version: store.AnyVersion, Write: true, Data: []byte(fmt.Sprint(n))}))
		<-tokens
	}
}
