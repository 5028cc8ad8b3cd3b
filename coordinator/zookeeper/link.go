package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator"
)

// link is the library's connection and what is known of its state.
type link struct {
	conn  *zk.Conn
	alive context.Context // ends at Close
	end   context.CancelFunc
	ended chan struct{} // closed when the library's goroutine has ended

	// heard gets the events of nodes; joined is told that the session stands again,
	// and whether it is another one. Both run in the library's goroutines: they do
	// not block and make no requests.
	heard  func(zk.Event)
	joined func(fresh bool)

	mu      sync.Mutex
	up      bool
	changed chan struct{} // closed and replaced when up changes
	fresh   bool          // the next session is a new one
	trouble error         // what went wrong last
	socket  *socket
}

// silent keeps the library from printing.
type silent struct{}

func (silent) Printf(string, ...any) {}

func connect(servers []string, timeout time.Duration, heard func(zk.Event), joined func(fresh bool)) (*link, error) {
	alive, end := context.WithCancel(context.Background())
	l := &link{
		alive: alive, end: end, ended: make(chan struct{}),
		heard: heard, joined: joined,
		changed: make(chan struct{}), fresh: true,
	}
	conn, events, err := zk.Connect(servers, timeout,
		zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithHostProvider(&hosts{ended: alive.Done()}),
		zk.WithDialer(l.dialer(timeout)),
		zk.WithEventCallback(l.event))
	if err != nil {
		end()
		return nil, err
	}
	l.conn = conn
	go func() {
		defer close(l.ended)
		for range events { // the callback has seen them
		}
	}()
	return l, nil
}

// event follows the session's state; it runs in the library's goroutines.
func (l *link) event(e zk.Event) {
	if e.Type != zk.EventSession {
		l.heard(e)
		return
	}
	switch e.State {
	case zk.StateHasSession:
		l.mu.Lock()
		fresh := l.fresh
		l.fresh, l.trouble = false, nil
		l.socket.established.Store(true)
		l.mu.Unlock()
		// Watchers learn that nothing stands before any request can go out.
		l.joined(fresh)
		l.setUp(true)
	case zk.StateExpired:
		l.mu.Lock()
		l.fresh = true
		l.mu.Unlock()
		l.setUp(false)
	case zk.StateConnecting, zk.StateDisconnected:
		l.setUp(false)
	}
}

func (l *link) setUp(up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up != up {
		l.up = up
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
			return coordinator.ErrClosed
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

// gaveUp is the context's error with the last thing that went wrong.
func (l *link) gaveUp(end, last error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up && l.trouble != nil {
		last = l.trouble
	}
	if last == nil {
		return end
	}
	return fmt.Errorf("%w (%w)", last, end)
}

// close ends the session: its ephemeral nodes go at once if a server answers.
func (l *link) close() {
	l.end()
	go l.conn.Close() // waits a second when nobody answers
	select {
	case <-l.ended:
		return
	case <-time.After(closePatience):
	}
	l.mu.Lock()
	if l.socket != nil {
		l.socket.Close()
	}
	l.mu.Unlock()
	<-l.ended
}

// closePatience is how long a server has to confirm a session's end.
const closePatience = 2 * time.Second

// socket is a connection that bounds how long a server that accepted it may take
// to give a session. The library would wait for ten times its receive time-out,
// and for the second part of the answer without any bound: a paused server, whose
// kernel still accepts, would hold a client until its session has expired.
type socket struct {
	net.Conn
	until       time.Time
	established atomic.Bool
}

// SetReadDeadline implements net.Conn.
func (s *socket) SetReadDeadline(t time.Time) error {
	if !s.established.Load() && (t.IsZero() || t.After(s.until)) {
		t = s.until
	}
	return s.Conn.SetReadDeadline(t)
}

// firstDial is how long the first dial of a server may take: a dropped
// connection is dialled again before TCP would. Later ones take longer.
const firstDial = 400 * time.Millisecond

func (l *link) dialer(session time.Duration) zk.Dialer {
	patience := firstDial
	return func(network, addr string, _ time.Duration) (net.Conn, error) {
		l.mu.Lock()
		if old := l.socket; old != nil {
			old.Close() // the library leaves it open when a session has expired
			if !old.established.Load() {
				l.trouble = fmt.Errorf("%s accepts connections but gives no session: is it a ZooKeeper that serves, and is maxClientCnxns large enough?", old.RemoteAddr())
			}
		}
		l.mu.Unlock()
		dialer := net.Dialer{Timeout: patience}
		raw, err := dialer.DialContext(l.alive, network, addr)
		if err != nil {
			patience = min(2*patience, session/2)
			l.mu.Lock()
			l.trouble = fmt.Errorf("no ZooKeeper answers at %s: %w", addr, dialCause(err))
			l.socket = nil
			l.mu.Unlock()
			return nil, err
		}
		patience = firstDial
		s := &socket{Conn: raw, until: time.Now().Add(session / 2)}
		l.mu.Lock()
		l.socket = s
		l.mu.Unlock()
		return s, nil
	}
}

// dialCause leaves out what the message says already.
func dialCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	if cause, ok := strings.CutPrefix(err.Error(), "connect: "); ok {
		return errors.New(cause)
	}
	return err
}
