package zookeeper

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// The tests of this file break connections, sessions and servers while readers are
// blocked. Nothing may be lost.

var (
	operator = store.Credential{User: "operator", Password: "0p"}
	agent    = store.Credential{User: "server-a", Password: "a"}
)

// patience is longer than anything takes on a machine that is busy with other things.
const patience = 5 * time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// join opens a session that ends with the test.
func join(t testing.TB, ctx context.Context, url string, timeout time.Duration, creds ...store.Credential) *client {
	t.Helper()
	s, err := open(ctx, url, timeout, creds...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func cell(path store.Path) store.NewNode {
	return store.NewNode{Path: path, Data: []byte("0"), Grants: []store.Grant{
		{To: operator.Principal(), May: store.MayAll}, {To: agent.Principal(), May: store.MayRead},
	}}
}

func set(ctx context.Context, s store.Session, path store.Path, value string) error {
	return s.Commit(ctx, store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte(value)})
}

// reader blocks until a node has a value, again and again.
type reader struct {
	store  *client
	path   store.Path
	tokens <-chan struct{}
}

func read1(t *testing.T, ctx context.Context, s *client, path store.Path) *reader {
	t.Helper()
	tokens, err := s.Watch(ctx, path)
	must(t, err)
	r := &reader{s, path, tokens}
	must(t, r.until(ctx, "0"))
	return r
}

func (r *reader) until(ctx context.Context, value string) error {
	last := "nothing"
	for {
		select {
		case <-r.tokens:
		case <-ctx.Done():
			return fmt.Errorf("the reader of %s waits for %q and has seen %s", r.path, value, last)
		}
		n, err := r.store.Read(ctx, r.path)
		if errors.Is(err, store.ErrNotFound) {
			last = "no node" // the reader's server is behind: it will come
			continue
		}
		if err != nil {
			return err
		}
		if last = string(n.Data); last == value {
			return nil
		}
	}
}

// behindProxy opens a session of an agent through a proxy, and one of the operator
// without, and creates a cell and a place for presences.
func behindProxy(t *testing.T, ctx context.Context, timeout time.Duration) (*zktest.Proxy, *client, *client) {
	t.Helper()
	server := shared.Server(t)
	root := "hotc/" + rand.Text()
	op := join(t, ctx, server.URL(root), timeout, operator)
	must(t, op.Create(ctx, []store.NewNode{cell("cell"), cell("other"), {Path: "agent", Grants: []store.Grant{
		{To: operator.Principal(), May: store.MayAll},
		{To: agent.Principal(), May: store.MayCreateChildren},
	}}}))
	proxy := zktest.NewProxy(t, server.Addr())
	return proxy, join(t, ctx, "zk://"+proxy.Addr()+"/"+root, timeout, agent), op
}

func TestExpiryDuringBlockedReads(t *testing.T) {
	ctx := within(t)
	proxy, s, op := behindProxy(t, ctx, sessionTimeout)
	reading, other := read1(t, ctx, s, "cell"), read1(t, ctx, s, "other")
	changed, err := store.WatchAll(ctx, s, "other")
	must(t, err)
	must(t, s.Announce(ctx, "agent/presence", []byte("here")))
	for i := 1; i <= 3; i++ {
		value := strconv.Itoa(i)
		was := s.link.conn.SessionID()
		// The session ends on the server while its client is cut off; what is written
		// then, no event will tell.
		proxy.Cut()
		proxy.Expire()
		must(t, set(ctx, op, "cell", value))
		must(t, set(ctx, op, "other", value))
		if _, exists, err := op.Stat(ctx, "agent/presence"); err != nil || exists {
			t.Fatalf("the presence stands after its session: %v, %v", exists, err)
		}
		proxy.Mend()
		must(t, reading.until(ctx, value))
		must(t, other.until(ctx, value))
		if s.link.conn.SessionID() == was {
			t.Fatal("the session did not expire")
		}
		seen := false
		for !seen {
			select {
			case path := <-changed:
				seen = path == "other"
			case <-ctx.Done():
				t.Fatal("the watcher of several nodes missed the change")
			}
		}
		eventually(t, ctx, "the presence is back", func() bool {
			_, exists, err := op.Stat(ctx, "agent/presence")
			must(t, err)
			return exists
		})
		// The new session has its watches as well.
		must(t, set(ctx, op, "cell", value+"b"))
		must(t, reading.until(ctx, value+"b"))
	}
}

func eventually(t *testing.T, ctx context.Context, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		if ctx.Err() != nil {
			t.Fatalf("it never came about: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// slowSession is one that only a machine which stands still loses: longer than any
// pause seen, and the longest that the tests' servers give.
const slowSession = time.Minute

// A session that is cut off again and again for a moment goes on, with its presence.
func TestDisconnectionDuringBlockedReads(t *testing.T) {
	if disconnect(t) {
		return
	}
	t.Logf("the session of %v expired: the machine stood still; once more", slowSession)
	if !disconnect(t) {
		t.Errorf("the session of %v expired twice", slowSession)
	}
}

// disconnect breaks the connection of a blocked reader. kept says that its session is
// still the same.
func disconnect(t *testing.T) (kept bool) {
	ctx := within(t)
	proxy, s, op := behindProxy(t, ctx, slowSession)
	reading := read1(t, ctx, s, "cell")
	must(t, s.Announce(ctx, "agent/presence", nil))
	was := s.link.conn.SessionID()
	for i := range 10 {
		value := strconv.Itoa(i + 1)
		proxy.Cut()
		must(t, set(ctx, op, "cell", value))
		proxy.Mend()
		must(t, reading.until(ctx, value))
		proxy.Drop()
		must(t, set(ctx, op, "cell", value+"b"))
		must(t, reading.until(ctx, value+"b"))
	}
	n, err := s.Read(ctx, "agent/presence")
	if s.link.conn.SessionID() != was {
		return false
	}
	if err != nil || n.Version != 0 {
		t.Errorf("the presence of the same session: %v, %v", n, err)
	}
	return true
}

// TestBlackHole lets no byte through for longer than the session lasts, so that it
// expires at the server and its client learns of it late.
func TestBlackHole(t *testing.T) {
	ctx := within(t)
	proxy, s, op := behindProxy(t, ctx, time.Second)
	reading := read1(t, ctx, s, "cell")
	must(t, s.Announce(ctx, "agent/presence", nil))
	proxy.Freeze()
	eventually(t, ctx, "the presence is gone", func() bool {
		_, exists, err := op.Stat(ctx, "agent/presence")
		must(t, err)
		return !exists
	})
	must(t, set(ctx, op, "cell", "1"))
	// A read is under way all the time.
	got := make(chan error, 1)
	go func() { got <- reading.until(ctx, "1") }()
	proxy.Thaw()
	must(t, <-got)
	eventually(t, ctx, "the presence is back", func() bool {
		_, exists, err := op.Stat(ctx, "agent/presence")
		must(t, err)
		return exists
	})
}

// TestRestart kills and starts the only server while readers are blocked and
// writers write.
func TestRestart(t *testing.T) {
	ctx := within(t)
	server := zktest.Start(t)
	op := join(t, ctx, server.URL("hotc"), sessionTimeout, operator)
	must(t, op.Create(ctx, []store.NewNode{cell("cell"), cell("other")}))
	s := join(t, ctx, server.URL("hotc"), sessionTimeout, agent)
	reading := read1(t, ctx, s, "cell")
	for i, end := range []func(){server.Kill, server.Stop} {
		value := strconv.Itoa(i + 1)
		end()
		written := make(chan error, 1)
		go func() { written <- set(ctx, op, "cell", value) }()
		got := make(chan error, 1)
		go func() { got <- reading.until(ctx, value) }()
		_, err := func() (store.Node, error) {
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			return s.Read(short, "other")
		}()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a read without a server returns %v", err)
		}
		server.Start(t)
		must(t, <-written)
		must(t, <-got)
	}
}

// TestPausedServer is one whose kernel takes connections and that never answers.
func TestPausedServer(t *testing.T) {
	ctx := within(t)
	server := zktest.Start(t)
	op := join(t, ctx, server.URL("hotc"), time.Second, operator)
	must(t, op.Create(ctx, []store.NewNode{cell("cell")}))
	s := join(t, ctx, server.URL("hotc"), time.Second, agent)
	reading := read1(t, ctx, s, "cell")
	server.Pause()
	time.Sleep(1500 * time.Millisecond) // of a session of one second
	short, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	if _, err := Open(short, server.URL("hotc"), agent); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a server that does not answer gives %v", err)
	}
	server.Resume()
	must(t, set(ctx, op, "cell", "1"))
	must(t, reading.until(ctx, "1"))
}

// TestEnsemble kills the leader of three, again and again, while values pass
// between sessions.
func TestEnsemble(t *testing.T) {
	ctx := within(t)
	ensemble := zktest.Ensemble(t, 3)
	op := join(t, ctx, ensemble.URL("hotc"), sessionTimeout, operator)
	must(t, op.Create(ctx, []store.NewNode{cell("cell")}))
	var readers []*reader
	for range 6 {
		readers = append(readers, read1(t, ctx, join(t, ctx, ensemble.URL("hotc"), sessionTimeout, agent), "cell"))
	}
	for i := range 3 {
		leader := ensemble.Leader(t)
		leader.Kill()
		for k := range 20 {
			value := fmt.Sprint(i, k)
			must(t, set(ctx, op, "cell", value))
			var running sync.WaitGroup
			errs := make([]error, len(readers))
			for n, r := range readers {
				running.Go(func() { errs[n] = r.until(ctx, value) })
			}
			running.Wait()
			must(t, errors.Join(errs...))
		}
		leader.Start(t)
	}
}

// cutting breaks a proxy's connections again and again, until it is ended. The times
// between grow, so that on a slow machine, too, something is done in one of them.
func cutting(proxy *zktest.Proxy) (end func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for pause := 20 * time.Millisecond; ; pause += pause / 50 {
			select {
			case <-stop:
				return
			case <-time.After(pause):
				proxy.Drop()
			}
		}
	})
	return func() {
		close(stop)
		running.Wait()
	}
}

// TestInterruptedCreate cuts the connection while many nodes are being created;
// Create carries on by itself, and a second call finds all done.
func TestInterruptedCreate(t *testing.T) {
	ctx := within(t)
	server := shared.Server(t)
	proxy := zktest.NewProxy(t, server.Addr())
	s := join(t, ctx, "zk://"+proxy.Addr()+"/hotc/"+rand.Text(), sessionTimeout, operator)
	var nodes []store.NewNode
	for i := range 20 {
		top := store.Path(fmt.Sprint("d", i))
		nodes = append(nodes, store.NewNode{Path: top})
		for k := range 300 {
			nodes = append(nodes, store.NewNode{Path: top.Join(fmt.Sprint(k)), Data: fmt.Append(nil, i, k)})
		}
	}
	nodes = append(nodes, store.NewNode{Path: "ready"})
	end := cutting(proxy)
	err := s.Create(ctx, nodes)
	end()
	must(t, err)
	for i := range 20 {
		names, err := s.Children(ctx, store.Path(fmt.Sprint("d", i)))
		must(t, err)
		if len(names) != 300 {
			t.Fatalf("%d of 300 nodes", len(names))
		}
	}
	must(t, s.Create(ctx, nodes))
}

// TestBrokenCommits counts through a proxy that breaks connections: no write that
// was reported done is lost, and one that was reported as ErrVersion is looked at.
func TestBrokenCommits(t *testing.T) {
	ctx := within(t)
	proxy, _, op := behindProxy(t, ctx, sessionTimeout)
	s := join(t, ctx, "zk://"+proxy.Addr()+op.root, sessionTimeout, operator)
	end := cutting(proxy)
	done := 0
	for i := 1; i <= 100; {
		n, err := s.Read(ctx, "cell")
		must(t, err)
		have, _ := strconv.Atoi(string(n.Data))
		if have < done {
			t.Fatalf("the cell holds %d when %d was reported done", have, done)
		}
		if have == i {
			i++
			continue
		}
		if have != i-1 {
			t.Fatalf("the cell holds %d when %d was written last", have, i-1)
		}
		err = s.Commit(ctx, store.Op{Path: "cell", Version: n.Version, Write: true, Data: []byte(strconv.Itoa(i))})
		if err == nil {
			done = i
		} else if !errors.Is(err, store.ErrVersion) {
			t.Fatal(err)
		}
	}
	end()
	if n, err := op.Read(ctx, "cell"); err != nil || string(n.Data) != "100" || n.Version != 100 {
		t.Fatalf("it was written more than once: %v, %v", n, err)
	}
}

// TestCloseThatNobodyEnds: the library can hang when a request comes while it closes
// the connection (see over). Whoever closes a session does not.
func TestCloseThatNobodyEnds(t *testing.T) {
	ctx := within(t)
	server := zktest.Start(t, zktest.AsInstalled)
	s, err := open(ctx, server.URL("hotc"), sessionTimeout)
	must(t, err)
	s.link.events = make(chan zk.Event)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.Close()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		t.Error("the session is not closed")
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	const free = "127.0.0.1:1"
	hangUp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer hangUp.Close()
	go func() {
		for {
			conn, err := hangUp.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	before := runtime.NumGoroutine()
	for url, want := range map[string]string{
		"zk://" + free + "/hotc":                   "no ZooKeeper answers at " + free + ": connection refused",
		"zk://" + hangUp.Addr().String() + "/hotc": "establishes no session",
		"zk://no-such-host.invalid/hotc":           "no ZooKeeper answers at no-such-host.invalid:2181: lookup",
	} {
		// It may take a while until a name is looked up, or until a machine that is busy
		// comes to it.
		for try := 700 * time.Millisecond; ; try *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), try)
			_, err := Open(ctx, url, operator)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), want) {
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || try > time.Minute {
				t.Errorf("got %v, want %s", err, want)
				break
			}
		}
	}
	eventually(t, within(t), "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// TestRootIsOpen: everyone may create below a root, and below it is as it is. Whoever
// only looks makes none.
func TestRootIsOpen(t *testing.T) {
	ctx := within(t)
	url := shared.Server(t).URL("hotc/several/segments")
	a, b := join(t, ctx, url, sessionTimeout, operator), join(t, ctx, url, sessionTimeout, agent)
	if _, exists, err := a.Stat(ctx, ""); err != nil || exists {
		t.Fatalf("there is a root before anything is in it: %v, %v", exists, err)
	}
	must(t, a.Create(ctx, []store.NewNode{{Path: "a"}}))
	must(t, b.Create(ctx, []store.NewNode{{Path: "b"}}))
	// Below an operator's node another may create nothing, so neither may a root be.
	err := join(t, ctx, url+"/a/x", sessionTimeout, agent).Create(ctx, []store.NewNode{{Path: "c"}})
	if err == nil || errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "segments/a/x, and does not let this user create it") {
		t.Fatalf("got %v", err)
	}
	must(t, a.DeleteTree(ctx, "a"))
}

// TestSlowAnswers: what is asked of a server again and again is asked less often while
// its answers are slow; one that was lost, and came with the next, says nothing.
func TestSlowAnswers(t *testing.T) {
	const hour = time.Hour // what a machine takes that stands still is nothing beside it
	var pace backoff
	if got := pace.stretch(hour); got != hour {
		t.Fatalf("before any answer an hour is %v", got)
	}
	slow := asked{pace.ask().number, time.Now().Add(-hour / 2)}
	pace.answered(slow)
	if got := pace.stretch(hour); got < 2*hour || got > mostStretch*hour {
		t.Fatalf("after half an hour's answer an hour is %v", got)
	}
	pace.answered(pace.ask())
	lost := asked{pace.ask().number, time.Now().Add(-100 * hour)}
	next := pace.ask()
	for _, a := range []asked{lost, next} {
		pace.answered(a)
		if got := pace.stretch(hour); got != hour {
			t.Fatalf("a lost answer, which the next request set free, makes an hour %v", got)
		}
	}
	pace.answered(asked{pace.ask().number, time.Now().Add(-100 * hour)})
	if got := pace.stretch(hour); got != mostStretch*hour {
		t.Fatalf("at most, an hour is %v", got)
	}
}

// TestWakeCostsOneRequest counts what a blocked read costs the server: with a
// thousand readers, each request more would be a thousand.
func TestWakeCostsOneRequest(t *testing.T) {
	ctx := within(t)
	server := zktest.Start(t)
	op := join(t, ctx, server.URL("hotc"), sessionTimeout, operator)
	must(t, op.Create(ctx, []store.NewNode{cell("cell")}))
	s := join(t, ctx, server.URL("hotc"), sessionTimeout, agent)
	reading := read1(t, ctx, s, "cell")
	before, begin := server.Received(t), time.Now()
	const rounds = 500
	for i := range rounds {
		must(t, set(ctx, op, "cell", fmt.Sprint("r", i)))
		must(t, reading.until(ctx, fmt.Sprint("r", i)))
	}
	// A write and a read each; what comes with time, and what a slow machine repeats.
	beats := int(time.Since(begin)/shortestBeat) + 1
	if got, want := server.Received(t)-before, 2*rounds+10*beats+rounds/10; got > want {
		t.Fatalf("%d values cost %d requests, more than %d", rounds, got, want)
	}
}

// TestRest counts what a reader that waits costs the server when nothing happens: where
// thousands wait for hours, that is most of what it has to do.
func TestRest(t *testing.T) {
	ctx := within(t)
	server := zktest.Start(t)
	op := join(t, ctx, server.URL("hotc"), sessionTimeout, operator)
	must(t, op.Create(ctx, []store.NewNode{cell("cell")}))
	must(t, op.Close())
	s := join(t, ctx, server.URL("hotc"), sessionTimeout, agent)
	read1(t, ctx, s, "cell")
	time.Sleep(anchorAfter + shortestRest) // what a session does at its start comes to its end
	before, begin := server.Received(t), time.Now()
	time.Sleep(5 * shortestRest)
	looks, pings := int(time.Since(begin)/shortestRest)+1, int(time.Since(begin)/(sessionTimeout/3))+1
	if got := server.Received(t) - before; got < 1 || got > looks+pings+2 {
		t.Fatalf("%d looks and %d pings became %d requests", looks, pings, got)
	}
}

// TestRestAmongOthers: the more there are who wait, the less each of them looks.
func TestRestAmongOthers(t *testing.T) {
	ctx := within(t)
	url := shared.Server(t).URL("hotc/others")
	op := join(t, ctx, url, sessionTimeout, operator)
	nodes := []store.NewNode{cell("cell"), {Path: "few"}, {Path: "many"}}
	for i := range 500 {
		nodes = append(nodes, store.NewNode{Path: store.Path(fmt.Sprint("many/", i))})
	}
	for i := range 3 {
		nodes = append(nodes, store.NewNode{Path: store.Path(fmt.Sprint("few/", i))})
	}
	must(t, op.Create(ctx, nodes))
	for _, row := range []struct {
		node store.Path
		size int
		rest time.Duration
	}{
		{"none", 0, shortestRest},
		{"few", 3, shortestRest},
		{"many", 500, 500 * crowdsShare},
	} {
		s := join(t, ctx, url, sessionTimeout, agent)
		s.Among(row.node)
		read1(t, ctx, s, "cell")
		eventually(t, ctx, fmt.Sprint(row.node, " are counted"), func() bool {
			s.others.mu.Lock()
			defer s.others.mu.Unlock()
			return !s.others.counted.IsZero() && s.others.size == row.size
		})
		if got := s.others.rest(); got != row.rest {
			t.Errorf("among %s it rests for %v, not %v", row.node, got, row.rest)
		}
	}
}

// unwritable is a connection that takes no credentials: what is written last before a pause of the
// machine, or just when a server closes.
type unwritable struct{ net.Conn }

func (u unwritable) Write(p []byte) (int, error) {
	if len(p) >= opAt+4 && binary.BigEndian.Uint32(p[opAt:]) == opAuth {
		return 0, errors.New("write: broken pipe")
	}
	return u.Conn.Write(p)
}

// A connection that breaks just when the library sends credentials again is one more that has
// broken: the next one goes on.
func TestCredentialsThatCannotBeWritten(t *testing.T) {
	ctx := within(t)
	var dials int
	var last net.Conn
	dial := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		raw, err := net.DialTimeout(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		last = raw
		if dials++; dials == 2 {
			raw = unwritable{raw}
		}
		s := newSocket(raw, time.Now().Add(patience), new(atomic.Int32))
		s.established.Store(true) // the greeting is as short as any answer
		return s, nil
	}
	conn, events, err := zk.Connect([]string{shared.Server(t).Addr()}, sessionTimeout, zk.WithDialer(dial), zk.WithLogger(silent{}))
	must(t, err)
	must(t, conn.AddAuth("digest", []byte("a:b")))
	_, _, err = conn.Exists("/")
	must(t, err)
	last.Close()
	for up := 0; up < 3; { // at first, on the connection that breaks, and on the next one
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				up++
			}
		case <-ctx.Done():
			t.Fatal("the session does not stand again")
		}
	}
	conn.Close()
}
