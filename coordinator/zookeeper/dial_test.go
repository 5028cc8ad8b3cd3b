package zookeeper

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// deaf accepts connections and never reads from them.
func deaf(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String() // the kernel accepts
}

// What answers and is no ZooKeeper does not make the library reserve the gigabytes that its first
// letters would be; answers as they are pass, in whatever parts they come.
func TestAnswersThatAreTooLong(t *testing.T) {
	for sent, c := range map[string]struct{ established, refused bool }{
		"HTTP/1.1 400 Bad Request":            {false, true},
		"\x00\x00\x00\x02ok\x00\x00\x00\x01x": {false, false},
		"\x00\x00\x00\x02okHTTP":              {true, true},
		"\x00\x00\x00\x01x\x01\x00\x00\x01":   {true, true},
		"\x00\x00\x00\x01x\x00\x00\x04\x01":   {true, false},
	} {
		client, server := net.Pipe()
		s := newSocket(client, time.Now().Add(time.Minute), new(atomic.Int32))
		s.established.Store(c.established)
		go func() {
			_, _ = io.WriteString(server, sent)
			server.Close()
		}()
		var err error
		for p := make([]byte, 3); err == nil; {
			_, err = s.Read(p)
		}
		if refused := err != io.EOF; refused != c.refused {
			t.Errorf("%q ends with %v", sent, err)
		}
	}
}

// A server that accepts a connection and never reads from it is dialled again soon, in
// clear and over TLS alike, and is given more time from try to try.
func TestAServerThatNeverAnswersIsDialledAgainSoon(t *testing.T) {
	const session = time.Hour
	for name, c := range map[string]struct {
		security *security
		said     string
	}{
		"in clear": {nil, "accepts connections but establishes no session"},
		"TLS":      {&security{}, "no TLS with the ZooKeeper at 127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := deaf(t)
			alive, end := context.WithTimeout(t.Context(), 5*time.Minute)
			defer end()
			l := &link{alive: alive, security: c.security}
			d := newDialler(l, session)
			for try := range 2 {
				began := time.Now()
				if conn, err := d.dial("tcp", addr, 0); err == nil {
					// the library asks for a session, and sets a deadline far off
					if err := conn.SetReadDeadline(began.Add(session)); err != nil {
						t.Fatal(err)
					}
					if _, err := conn.Read(make([]byte, 1)); err == nil {
						t.Fatal("the deaf server answers")
					}
					d.bury()
				}
				if took := time.Since(began); alive.Err() != nil || took > session/10 {
					t.Fatalf("try %d took %v", try, took)
				}
				if d.handshake != firstHandshake<<(try+1) {
					t.Errorf("after try %d a handshake may take %v, want %v", try, d.handshake, firstHandshake<<(try+1))
				}
			}
			if l.trouble == nil || strings.Count(l.trouble.Error(), c.said) != 1 || strings.Count(l.trouble.Error(), "TLS with") > 1 {
				t.Errorf("it says %v", l.trouble)
			}
		})
	}
}

// What has no explanation of its own is said once.
func TestAFailedHandshakeIsSaidOnce(t *testing.T) {
	if got := (&security{}).explain(net.UnknownNetworkError("x")); strings.Contains(got, "no TLS") {
		t.Errorf("what ends up behind %q says %q", "no TLS with the ZooKeeper at …:", got)
	}
}

// A server that refuses a session for longer than its timeout has lost its data if it begins a new
// one, and its quorum if it does not: then the session lives on.
func TestWhoRefusesASession(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	const nobody, newOnes, all = 0, 1, 2
	var serves atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 4+4+8+4+8+4+16)
			if _, err := io.ReadFull(conn, request); err == nil && (serves.Load() == all || serves.Load() == newOnes && [8]byte(request[20:28]) == [8]byte{}) {
				answer := make([]byte, 4+4+4+8+4+16)
				answer[3], answer[19] = byte(len(answer)-4), 1
				_, _ = conn.Write(answer)
				_, _ = io.ReadAll(conn)
			}
			conn.Close()
		}
	}()
	alive, end := context.WithTimeout(t.Context(), 5*time.Minute)
	defer end()
	const session = 20 * time.Millisecond
	l := &link{alive: alive, began: true}
	d := newDialler(l, session)
	ask := func(conn net.Conn) {
		request := make([]byte, 4+4+8+4+8+4+16)
		request[3], request[27] = byte(len(request)-4), 7
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
	}
	// dials ask for the old session until it is ended, or the server was found to serve nobody.
	dials := func() (ended bool) {
		for l.trouble = nil; l.trouble == nil || !strings.Contains(l.trouble.Error(), "quorum"); {
			conn, err := d.dial("tcp", listener.Addr().String(), 0)
			if err != nil {
				continue
			}
			if _, ended = conn.(*endedConn); ended {
				return true
			}
			ask(conn)
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Fatal("it takes the old session")
			}
		}
		return false
	}
	for range 2 {
		if dials() || l.ended != 0 {
			t.Fatal("the session is ended though no data was lost")
		}
	}
	serves.Store(all) // the quorum is back
	d.refused = time.Now().Add(-2 * session)
	conn, err := d.dial("tcp", listener.Addr().String(), 0)
	if _, ended := conn.(*endedConn); ended || err != nil {
		t.Fatalf("the session is ended (%v) though it would be let in", err)
	}
	ask(conn)
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	l.socket.established.Store(true)
	serves.Store(newOnes)
	if !dials() || l.ended != 1 {
		t.Error("the session is not ended though the data is lost")
	}
}
