package zookeeper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// socket is the library's connection to a server. The library reads every answer in two
// parts: here it gets them from a buffer, which takes what has come in one call of the
// system. And four things are mended that the library leaves open.
//
// It would wait for a session for ten times its receive timeout, and for the
// second part of the answer without any bound: a paused server, whose kernel still
// accepts, would hold a client until its session has expired. Here all of that ends
// at until.
//
// And when it rejoins a session, it tells the server the last transaction it has
// seen, so that watches whose nodes have changed since fire at once. But it reads
// that number while answers on the new connection may already have raised it: then
// a change is missed (and it is a data race). Here answers are held back until the
// request that sets the watches is on its way.
//
// And it makes room for as much as an answer says that it has, up to 4 GB. What is no
// ZooKeeper, a web server say, says so by its first letters: here a longer answer than any
// is an error.
//
// And where it cannot write a request, it answers that one twice. Of credentials, which it sends again
// on a new connection, nobody reads even the first answer: it would block for ever at the second, with
// all that the session waits for. Here a failed write ends the connection, which the reader finds out.
type socket struct {
	net.Conn
	buffer      *bufio.Reader // of what Conn has; Read is its only user
	length      []byte        // of the answer that comes next, as far as it was read
	left        int           // bytes of the present answer that are still to be read
	until       time.Time
	established atomic.Bool           // there is a session
	refusal     atomic.Pointer[error] // the server has ended TLS with it

	holding   atomic.Bool
	proving   atomic.Bool // what was sent last are credentials, whose answer does no harm
	rewatched chan struct{}
	once      sync.Once
	// owed counts the requests to set watches that are still to come, over all
	// connections: one that a broken connection did not take is sent on the next.
	owed *atomic.Int32
}

// bufferedBytes is more than most answers have; larger ones are read past the buffer.
const bufferedBytes = 1 << 10

func newSocket(conn net.Conn, until time.Time, owed *atomic.Int32) *socket {
	return &socket{Conn: conn, buffer: bufio.NewReaderSize(conn, bufferedBytes), until: until, rewatched: make(chan struct{}), owed: owed}
}

// hold begins to hold answers back; nothing is read or written meanwhile.
func (s *socket) hold() {
	s.owed.Add(1)
	s.holding.Store(true)
}

// release ends it.
func (s *socket) release() {
	s.owed.Swap(0)
	s.holding.Store(false)
	s.once.Do(func() { close(s.rewatched) })
}

func (s *socket) SetReadDeadline(t time.Time) error {
	if !s.established.Load() && (t.IsZero() || t.After(s.until)) {
		t = s.until
	}
	return s.Conn.SetReadDeadline(t)
}

// The operations' codes in a request, and where they stand: after its length and
// its id (org.apache.zookeeper.ZooDefs.OpCode).
const (
	opAuth       = 100
	opSetWatches = 101
	opAt         = 8
)

// The longest answers: one that gives a session has 40 bytes; of others lists of children are the
// longest.
const (
	longestGreeting = 1 << 10
	longestAnswer   = 16 << 20
)

// count follows where answers begin, and refuses one that is too long.
func (s *socket) count(read []byte) error {
	for len(read) > 0 {
		if s.left > 0 {
			n := min(s.left, len(read))
			s.left -= n
			read = read[n:]
			continue
		}
		n := min(4-len(s.length), len(read))
		s.length = append(s.length, read[:n]...)
		read = read[n:]
		if len(s.length) < 4 {
			continue
		}
		most := uint32(longestAnswer)
		if !s.established.Load() {
			most = longestGreeting
		}
		length := binary.BigEndian.Uint32(s.length)
		if length > most {
			return fmt.Errorf("an answer of %d bytes is none of a ZooKeeper", length)
		}
		s.length, s.left = s.length[:0], int(length)
	}
	return nil
}

// Write implements net.Conn. The library writes a request at a time.
func (s *socket) Write(p []byte) (int, error) {
	if s.established.Load() && len(p) >= opAt+4 {
		op := binary.BigEndian.Uint32(p[opAt:])
		s.proving.Store(op == opAuth)
		if op == opSetWatches && s.owed.Add(-1) <= 0 {
			s.release()
		}
	}
	if _, err := s.Conn.Write(p); err != nil {
		s.Conn.Close()
	}
	return len(p), nil
}

// mostHold is how long answers are held back at most. The request comes at once,
// but for two cases: a connection broke before its session had set any watch, or
// just when the library had taken the request up.
const mostHold = 300 * time.Millisecond

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.buffer.Read(p)
	if tooLong := s.count(p[:n]); tooLong != nil {
		return 0, tooLong
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // an alert of TLS
		s.refusal.Store(&err)
	}
	if err == nil && s.holding.Load() && !s.proving.Load() {
		patience := time.NewTimer(mostHold)
		defer patience.Stop()
		select {
		case <-s.rewatched:
		case <-patience.C:
			s.release()
		}
	}
	return n, err
}
