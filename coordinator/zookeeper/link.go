package zookeeper

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// link is the library's connection and its known state.
type link struct {
	conn   *zk.Conn
	events <-chan zk.Event // closed when the library's goroutine has ended
	alive  context.Context // ends at Close
	end    context.CancelFunc

	// heard gets the events of nodes; joined is called when there is a session again, and whether
	// it is a new one. Both run in the library's goroutines: they must not block or make requests.
	heard  func(zk.Event)
	joined func(fresh bool)
	// security is nil for unencrypted connections.
	security *security

	mu        sync.Mutex
	up        bool
	changed   chan struct{} // closed and replaced when up changes
	fresh     bool          // the next session is a new one
	began     bool          // the session has been up before
	since     time.Time     // when up last became true
	anchored  bool          // the anchor is watched in this session
	anchoring bool          // it is about to be
	moves     int           // of the connection, up and down
	trouble   error         // the last failure
	ended     int           // sessions that were ended here: see endSession
	socket    *socket

	owed atomic.Int32 // see socket
}

// anchor is a node that is never written or deleted. A session watches it, so that the library
// always has watches to set again when it rejoins the session (see socket).
const anchor = "/zookeeper"

// anchorAfter is the age of a session at which it does so: a server to which all agents of a stack
// connect at once is busy. Without a watch, answers on a new connection wait for mostHold.
const anchorAfter = time.Second

// silent keeps the library from printing.
type silent struct{}

func (silent) Printf(string, ...any) {}

func connect(servers []string, security *security, timeout time.Duration, heard func(zk.Event), joined func(fresh bool)) (*link, error) {
	alive, end := context.WithCancel(context.Background())
	l := &link{
		alive: alive, end: end,
		heard: heard, joined: joined, security: security,
		changed: make(chan struct{}), fresh: true,
	}
	var err error
	l.conn, l.events, err = zk.Connect(servers, timeout,
		zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithHostProvider(&hosts{ended: alive.Done()}),
		zk.WithDialer(newDialler(l, timeout).dial),
		zk.WithEventCallback(l.event))
	if err != nil {
		end()
		return nil, err
	}
	return l, nil
}

// event follows the session's state; it runs in the library's goroutines.
func (l *link) event(e zk.Event) {
	if e.Type != zk.EventSession {
		if e.Path == anchor {
			l.mu.Lock()
			l.anchored = false
			l.mu.Unlock()
			return
		}
		l.heard(e)
		return
	}
	switch e.State {
	case zk.StateHasSession:
		l.mu.Lock()
		fresh := l.fresh
		l.fresh, l.trouble = false, nil
		l.socket.established.Store(true)
		if l.began {
			l.socket.hold()
		}
		l.began = true
		l.moves++
		l.mu.Unlock()
		// Watchers learn that no watch is set before any request can be sent.
		l.joined(fresh)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.turn(true)
	case zk.StateConnecting, zk.StateDisconnected, zk.StateExpired:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.moves++
		l.turn(false)
		if e.State == zk.StateExpired {
			l.fresh, l.began, l.anchored = true, false, false
		}
	}
}

// watchAnchor watches the anchor once the session is old enough; the keep-alive calls it.
func (l *link) watchAnchor() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up || l.anchored || l.anchoring || time.Since(l.since) < anchorAfter {
		return
	}
	l.anchoring = true
	moves := l.moves
	mistake.Go(func() {
		_, _, _, err := l.conn.ExistsW(anchor)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.anchoring = false
		if err == nil && l.moves == moves { // otherwise it is retried
			l.anchored = true
		}
	})
}

// turn sets up. The mutex is held.
func (l *link) turn(up bool) {
	if l.up != up {
		l.up, l.since = up, time.Now()
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// await waits until there is a session.
func (l *link) await(ctx context.Context) error {
	for {
		l.mu.Lock()
		up, changed := l.up, l.changed
		l.mu.Unlock()
		if l.alive.Err() != nil {
			return store.ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return l.gaveUp(err, nil)
		}
		if up {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-l.alive.Done():
		}
	}
}

// gaveUp is the context's error with the last failure.
func (l *link) gaveUp(end, last error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.up && l.trouble != nil:
		last = l.trouble
	case !l.up && l.socket != nil && !l.socket.established.Load():
		last = noSession(l.socket)
	}
	if last == nil {
		return end
	}
	return fmt.Errorf("%w (%w)", last, end)
}

// close ends the session: its ephemeral nodes are deleted at once if a server answers.
func (l *link) close() {
	l.end()
	go l.conn.Close() // waits a second if no server answers
	if l.over(closePatience) {
		return
	}
	l.mu.Lock()
	if l.socket != nil {
		l.socket.Close()
	}
	l.mu.Unlock()
	l.over(closePatience)
}

// over waits for the library's goroutine to end, and reports whether it has. It may hang forever: a
// request made while the connection is closed can be answered three times, and its channel holds
// two (zk.Conn.flushRequests). Seen in one of 20,000 closes; nothing is left to do then, since the
// session has ended.
func (l *link) over(patience time.Duration) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case _, more := <-l.events: // the callback has seen it
			if !more {
				return true
			}
		case <-late.C:
			return false
		}
	}
}

// closePatience is how long a server has to confirm a session's end, and then the
// library to end its goroutine.
const closePatience = 2 * time.Second
