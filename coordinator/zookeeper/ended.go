package zookeeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// A server refuses a session that has seen a later transaction than the server has: it closes the
// connection without an error. That is right for a lagging server, and ends soon. But if all data
// was lost, or an older state was restored, it lasts forever, and the library retries forever. So a
// session that is refused for longer than its timeout, by a server that would begin a new one, is
// ended here, and the next one starts from the current data.

// trySession begins a session and ends it.
func trySession(conn net.Conn, until time.Time) error {
	if err := conn.SetDeadline(until); err != nil {
		return err
	}
	// protocol version, last transaction seen, timeout, session 0, a password, as in
	// org.apache.zookeeper.proto.ConnectRequest
	request := make([]byte, 4+4+8+4+8+4+16)
	binary.BigEndian.PutUint32(request, uint32(len(request)-4))
	binary.BigEndian.PutUint32(request[16:], 1) // at once, should it not be ended here
	binary.BigEndian.PutUint32(request[28:], 16)
	_, err := conn.Write(request)
	answer := make([]byte, 4+4+4+8)
	if err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	if err == nil && binary.BigEndian.Uint64(answer[12:]) == 0 {
		err = errors.New("it gives no session")
	}
	if err == nil {
		end := make([]byte, 4+4+4) // length, id of the request, its operation
		binary.BigEndian.PutUint32(end, 8)
		binary.BigEndian.PutUint32(end[8:], opClose)
		_, err = conn.Write(end)
	}
	return err
}

// endSession returns a fake connection that tells the library that its session has expired.
func (l *link) endSession() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended++
	// protocol version, timeout, session 0, a password (org.apache.zookeeper.proto.ConnectResponse)
	answer := make([]byte, 4+4+4+8+4+16)
	binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
	binary.BigEndian.PutUint32(answer[20:], 16)
	return &endedConn{answer: *bytes.NewReader(answer)}
}

func (s *client) Connection() (store.Connection, <-chan struct{}) {
	l := s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	c := store.Connection{Up: l.up, Ended: l.ended}
	if !l.up {
		c.Trouble = l.trouble
	}
	return c, l.changed
}

// endedConn is a connection without a server.
type endedConn struct{ answer bytes.Reader }

func (c *endedConn) Read(p []byte) (int, error)       { return c.answer.Read(p) }
func (c *endedConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *endedConn) Close() error                     { return nil }
func (c *endedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *endedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *endedConn) SetDeadline(time.Time) error      { return nil }
func (c *endedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *endedConn) SetWriteDeadline(time.Time) error { return nil }
