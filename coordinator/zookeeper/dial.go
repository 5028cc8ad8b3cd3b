package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// firstDial is about how long the first dial of a server may take: a dropped connection is dialled
// again sooner than TCP would, and not by all clients in the same moment. Later ones may take
// longer.
const firstDial = 400 * time.Millisecond

// firstHandshake is how long a server may take at first to establish a session, TLS included, plus
// a random part of up to the same length. It is short, because ZooKeeper can accept a connection
// when it has just started and never read from it (one of forty, seen with 3.8.0). An overloaded
// server is late as well, and dialling it again makes that worse: so the time doubles with each
// failure, up to one and a half session timeouts.
const firstHandshake = time.Second

// dialler makes a link's connections, one after the other.
type dialler struct {
	link          *link
	session       time.Duration
	patience      time.Duration // with the next dial
	handshake     time.Duration // with the next handshake
	mostHandshake time.Duration
	refused       time.Time // when a server first refused the current session
	serves        bool      // the server that was dialled last would begin a new one
}

func newDialler(l *link, session time.Duration) *dialler {
	return &dialler{link: l, session: session, patience: firstDial, handshake: firstHandshake, mostHandshake: session * 3 / 2}
}

// dial is a zk.Dialer; the library's timeout is not used.
func (d *dialler) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	if d.bury() {
		return d.link.endSession(), nil
	}
	raw, until, err := d.open(network, addr)
	if err == nil && !d.refused.IsZero() && time.Since(d.refused) > d.session {
		err = trySession(raw, until)
		raw.Close()
		if err != nil { // a server without a quorum has lost nothing
			d.refused = time.Now().Add(tryAgain - d.session)
			return nil, d.failed(fmt.Errorf("%s serves nobody: has its ensemble lost its quorum?", raw.RemoteAddr()), err)
		}
		d.serves = true
		raw, until, err = d.open(network, addr)
	}
	if err != nil {
		return nil, err
	}
	s := newSocket(raw, until, &d.link.owed)
	d.link.mu.Lock()
	defer d.link.mu.Unlock()
	d.link.socket = s
	return s, nil
}

// tryAgain is how soon another server is tried after one that serves nobody.
const tryAgain = time.Second

// open opens a connection. A session has to be established on it until then, TLS included.
func (d *dialler) open(network, addr string) (raw net.Conn, until time.Time, err error) {
	dialer := net.Dialer{Timeout: d.patience/2 + rand.N(d.patience)}
	if raw, err = dialer.DialContext(d.link.alive, network, addr); err != nil {
		d.patience = min(2*d.patience, d.session/2)
		return nil, until, d.failed(fmt.Errorf("no ZooKeeper answers at %s: %w", addr, dialCause(err)), err)
	}
	d.patience = firstDial
	until = time.Now().Add(d.handshake + rand.N(d.handshake))
	if d.link.security != nil {
		secured, err := d.secure(raw, addr, until)
		if err != nil {
			raw.Close()
			return nil, until, d.failed(fmt.Errorf("no TLS with the ZooKeeper at %s: %w", addr, err), err)
		}
		raw = secured
	}
	return raw, until, nil
}

// bury closes the previous connection, and learns from how it ended. lost says that the session has
// to be ended: a server that begins new ones refuses it.
func (d *dialler) bury() (lost bool) {
	l := d.link
	l.mu.Lock()
	defer l.mu.Unlock()
	old, serves := l.socket, d.serves
	d.serves = false
	if old == nil {
		return false
	}
	l.socket = nil
	old.Close() // the library leaves it open when a session has expired
	switch alert := old.refusal.Load(); {
	case alert != nil:
		l.trouble = fmt.Errorf("%s: %s", old.RemoteAddr(), l.security.explain(*alert))
	case old.established.Load():
		d.handshake = firstHandshake
		d.refused = time.Time{}
	default:
		l.trouble = noSession(old)
		if time.Now().After(old.until) {
			d.timedOut()
		} else if serves {
			d.refused = time.Time{}
			return true
		} else if d.refused.IsZero() && !l.fresh {
			d.refused = time.Now()
		}
	}
	return false
}

// timedOut allows the next handshake more time.
func (d *dialler) timedOut() { d.handshake = min(2*d.handshake, d.mostHandshake) }

// failed notes why there is no connection, and returns the cause for the library.
func (d *dialler) failed(trouble, cause error) error {
	d.link.mu.Lock()
	defer d.link.mu.Unlock()
	d.link.trouble, d.link.socket = trouble, nil
	return cause
}

// secure starts TLS on a new connection. A server that does not answer counts as one that
// establishes no session.
func (d *dialler) secure(raw net.Conn, addr string, until time.Time) (net.Conn, error) {
	within, stop := context.WithDeadline(d.link.alive, until)
	defer stop()
	conn, err := d.link.security.secure(within, raw, addr)
	if err != nil && !time.Now().Before(until) {
		d.timedOut()
	}
	return conn, err
}

func noSession(s *socket) error {
	return fmt.Errorf("%s accepts connections but establishes no session: is it a running ZooKeeper, and is maxClientCnxns large enough?", s.RemoteAddr())
}

// dialCause removes what the message already says.
func dialCause(err error) error {
	if op, is := errors.AsType[*net.OpError](err); is {
		err = op.Err
	}
	if cause, ok := strings.CutPrefix(err.Error(), "connect: "); ok {
		return errors.New(cause)
	}
	return err
}
