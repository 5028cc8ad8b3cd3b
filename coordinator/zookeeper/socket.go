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

// socket is the library's connection to a server. The library reads every answer in two parts: here
// it gets them from a buffer, filled with one system call. And four problems of the library are
// fixed.
//
// It would wait for a session for ten times its receive timeout, and for the second part of the
// answer without any bound: a paused server, whose kernel still accepts, would block a client until
// its session has expired. Here all of that ends at until.
//
// When it rejoins a session, it tells the server the last transaction it has seen, so that watches
// whose nodes have changed since fire at once. But it reads that number while answers on the new
// connection may already have raised it: then a change is missed (and it is a data race). Here
// answers are held back until the request that sets the watches is sent.
//
// It allocates as much as an answer claims to have, up to 4 GB, which the first bytes of, say, a
// web server do: here an answer that is too long for a ZooKeeper is an error.
//
// If it cannot write a request, it answers that one twice. For credentials, which it sends again on
// a new connection, not even the first answer is read: it would block forever at the second, with
// the whole session. Here a failed write closes the connection, which the reader notices.
type socket struct {
	net.Conn
	buffer      *bufio.Reader // of what Conn has; Read is its only user
	length      []byte        // of the next answer, as far as it was read
	left        int           // unread bytes of the current answer
	until       time.Time
	established atomic.Bool           // there is a session
	refusal     atomic.Pointer[error] // the alert with which the server ended TLS

	holding   atomic.Bool
	proving   atomic.Bool // credentials were sent last, whose answer does no harm
	rewatched chan struct{}
	once      sync.Once
	// owed counts the requests to set watches that are still expected, over all connections: one
	// that a broken connection did not send is sent on the next.
	owed *atomic.Int32
}

// bufferedBytes is more than most answers have; larger ones are read past the buffer.
const bufferedBytes = 1 << 10

func newSocket(conn net.Conn, until time.Time, owed *atomic.Int32) *socket {
	return &socket{Conn: conn, buffer: bufio.NewReaderSize(conn, bufferedBytes), until: until, rewatched: make(chan struct{}), owed: owed}
}

// hold starts holding answers back; nothing is read or written meanwhile.
func (s *socket) hold() {
	s.owed.Add(1)
	s.holding.Store(true)
}

// release stops holding answers back.
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

// The operations' codes in a request, and their offset: after its length and its id
// (org.apache.zookeeper.ZooDefs.OpCode).
const (
	opAuth       = 100
	opSetWatches = 101
	opClose      = 1<<32 - 11
	opAt         = 8
)

// The longest answers: one that establishes a session has 40 bytes; of the others, lists of
// children are the longest.
const (
	longestGreeting = 1 << 10
	longestAnswer   = 16 << 20
)

// count tracks where answers begin, and refuses one that is too long.
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
			return fmt.Errorf("an answer of %d bytes is not from a ZooKeeper", length)
		}
		s.length, s.left = s.length[:0], int(length)
	}
	return nil
}

// Write implements net.Conn. The library writes one request at a time.
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

// mostHold is how long answers are held back at most. The request is sent at once, except in two
// cases: a connection broke before its session had set any watch, or just when the library had
// picked the request up.
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
