package zktest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is between clients and a server. It parses only what it must to know a session's id and
// password.
type Proxy struct {
	t        testing.TB
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	frozen  *sync.Cond // while Frozen, no byte passes
	still   bool
	refuse  bool
	closed  bool
	pairs   map[net.Conn]net.Conn // client to server
	session []byte                // the last session's answer to its connect request
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, target: target, listener: l, pairs: map[net.Conn]net.Conn{}}
	p.frozen = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr is HOST:PORT.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed, p.still = true, false
	p.frozen.Broadcast()
	p.mu.Unlock()
	p.listener.Close()
	p.drop()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		p.mu.Lock()
		if err != nil || p.refuse || p.closed {
			p.mu.Unlock()
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		p.pairs[client] = server
		p.mu.Unlock()
		p.running.Go(func() { p.pass(server, client, false) })
		p.running.Go(func() {
			p.pass(client, server, true)
			p.mu.Lock()
			delete(p.pairs, client)
			p.mu.Unlock()
		})
	}
}

// pass copies until one end closes. What the server sends first is the answer to the connect
// request.
func (p *Proxy) pass(to, from net.Conn, fromServer bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for first := true; ; first = false {
		n, err := from.Read(buf)
		p.mu.Lock()
		for p.still {
			p.frozen.Wait()
		}
		if first && fromServer && n >= connectAnswer {
			p.session = append([]byte(nil), buf[:connectAnswer]...)
		}
		p.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// drop closes all connections.
func (p *Proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for client, server := range p.pairs {
		client.Close()
		server.Close()
	}
}

// Cut closes all connections and lets none through until Mend.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.drop()
}

// Mend ends a Cut.
func (p *Proxy) Mend() {
	p.mu.Lock()
	p.refuse = false
	p.mu.Unlock()
}

// Drop closes all connections; clients may reconnect at once.
func (p *Proxy) Drop() { p.drop() }

// Freeze holds back every byte until Thaw, like a network that loses packets.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	p.still = true
	p.mu.Unlock()
}

// Thaw ends a Freeze.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	p.still = false
	p.frozen.Broadcast()
	p.mu.Unlock()
}

// connectAnswer is the length of a server's answer to a connect request: its
// length, protocol version, timeout, session id, and 16 bytes of password
// (org.apache.zookeeper.proto.ConnectResponse).
const connectAnswer = 4 + 4 + 4 + 8 + 4 + 16

// Expire ends the last session that came through the proxy, on the server: its ephemeral nodes are
// deleted, and its client learns of it when it reconnects. It does so as ZooKeeper's own tests do:
// by joining the session from another connection, which it then closes.
func (p *Proxy) Expire() {
	p.t.Helper()
	p.mu.Lock()
	session := p.session
	p.mu.Unlock()
	if session == nil {
		p.t.Fatal("no session has come through the proxy")
	}
	if err := closeSession(p.target, session[12:20], session[24:40], session[8:12]); err != nil {
		p.t.Fatalf("expire the session: %v", err)
	}
}

func closeSession(target string, id, password, timeout []byte) error {
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	var join []byte
	join = binary.BigEndian.AppendUint32(join, 0) // protocol version
	join = binary.BigEndian.AppendUint64(join, 0) // last zxid seen
	join = append(join, timeout...)
	join = append(join, id...)
	join = binary.BigEndian.AppendUint32(join, uint32(len(password)))
	join = append(join, password...)
	answer, err := exchange(conn, join)
	if err != nil {
		return err
	}
	if len(answer) < 16 || binary.BigEndian.Uint64(answer[8:16]) == 0 {
		return errors.New("the session has ended before")
	}
	const opClose = -11
	var end []byte
	end = binary.BigEndian.AppendUint32(end, 1) // xid
	code := int32(opClose)
	end = binary.BigEndian.AppendUint32(end, uint32(code))
	_, err = exchange(conn, end)
	return err
}

// exchange sends one packet and reads one.
func exchange(conn net.Conn, packet []byte) ([]byte, error) {
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	answer := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(conn, answer)
	return answer, err
}
