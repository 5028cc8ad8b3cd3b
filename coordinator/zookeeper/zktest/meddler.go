package zktest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// Meddle is how someone between a client and its server changes a node's data, in what the server
// answers and (sent) in what the client writes. The same data changes nothing.
type Meddle func(path string, data []byte, sent bool) []byte

// Meddler is between clients and a server, and changes what passes: it knows as much of ZooKeeper's
// protocol as that takes (org.apache.zookeeper.proto, org.apache.jute).
type Meddler struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	meddle Meddle
	open   map[net.Conn]bool
	closed bool
}

// NewMeddler starts one, which changes nothing yet and ends with the test.
func NewMeddler(t testing.TB, target string) *Meddler {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &Meddler{target: target, listener: l, open: map[net.Conn]bool{}}
	m.running.Go(m.accept)
	t.Cleanup(m.close)
	return m
}

// Addr is HOST:PORT.
func (m *Meddler) Addr() string { return m.listener.Addr().String() }

// Do changes data from now on.
func (m *Meddler) Do(meddle Meddle) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meddle = meddle
}

func (m *Meddler) change(path string, data []byte, sent bool) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.meddle == nil {
		return data
	}
	return m.meddle(path, data, sent)
}

func (m *Meddler) close() {
	m.listener.Close()
	m.mu.Lock()
	m.closed = true
	for c := range m.open {
		c.Close()
	}
	m.mu.Unlock()
	m.running.Wait()
}

func (m *Meddler) accept() {
	for {
		client, err := m.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", m.target)
		m.mu.Lock()
		if err != nil || m.closed {
			m.mu.Unlock()
			client.Close()
			continue
		}
		m.open[client], m.open[server] = true, true
		m.mu.Unlock()
		c := &meddled{Meddler: m, reads: map[int32]string{}}
		m.running.Go(func() { c.pass(server, client, c.request) })
		m.running.Go(func() { c.pass(client, server, c.answer) })
	}
}

// meddled is one connection.
type meddled struct {
	*Meddler
	mu    sync.Mutex
	reads map[int32]string // paths of reads under way, by the request's id
}

// pass copies packets until one end closes. The first one of each side, which opens the session, is
// unchanged.
func (c *meddled) pass(to, from net.Conn, change func([]byte) []byte) {
	defer to.Close()
	defer from.Close()
	in := bufio.NewReader(from)
	for first := true; ; first = false {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return
		}
		packet := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, packet); err != nil {
			return
		}
		if !first {
			packet = change(packet)
		}
		if _, err := to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)); err != nil {
			return
		}
	}
}

// The operations' codes (org.apache.zookeeper.ZooDefs.OpCode).
const (
	opCreate  = 1
	opGetData = 4
	opSetData = 5
	opMulti   = 14
	opCheck   = 13
	opDelete  = 2
)

// request changes what is written: id, operation, and its arguments.
func (c *meddled) request(packet []byte) []byte {
	if len(packet) < 8 {
		return packet
	}
	id, op := int32(binary.BigEndian.Uint32(packet)), binary.BigEndian.Uint32(packet[4:])
	r := &jute{in: packet[8:], out: append([]byte(nil), packet[:8]...)}
	switch op {
	case opGetData:
		c.mu.Lock()
		c.reads[id] = string(r.bytes())
		c.mu.Unlock()
		return packet
	case opCreate, opSetData:
		c.write(r)
	case opMulti:
		for len(r.in) >= 9 {
			kind, done := r.number(), r.in[0] != 0
			r.raw(1 + 4) // done, an error's code
			if done {
				break
			}
			switch kind {
			case opCreate, opSetData:
				c.write(r)
				if kind == opCreate {
					for range r.number() { // rights: what, scheme, who
						r.number()
						r.copied()
						r.copied()
					}
				}
				r.number() // flags, or a version
			case opCheck:
				r.copied()
				r.number()
			case opDelete:
				r.copied()
				r.number()
			}
		}
	default:
		return packet
	}
	return append(r.out, r.in...)
}

// write changes a path's data.
func (c *meddled) write(r *jute) {
	path := string(r.copied())
	data := r.bytes()
	r.put(c.change(path, data, true))
}

// answer changes what was read: id, transaction, an error's code, and the data.
func (c *meddled) answer(packet []byte) []byte {
	if len(packet) < 16 {
		return packet
	}
	id := int32(binary.BigEndian.Uint32(packet))
	c.mu.Lock()
	path, read := c.reads[id]
	delete(c.reads, id)
	c.mu.Unlock()
	if !read || binary.BigEndian.Uint32(packet[12:]) != 0 {
		return packet
	}
	r := &jute{in: packet[16:], out: append([]byte(nil), packet[:16]...)}
	r.put(c.change(path, r.bytes(), false))
	return append(r.out, r.in...)
}

// jute reads a packet's parts, and writes another packet.
type jute struct{ in, out []byte }

func (j *jute) raw(n int) []byte {
	b := j.in[:n]
	j.in, j.out = j.in[n:], append(j.out, b...)
	return b
}

func (j *jute) number() int32 { return int32(binary.BigEndian.Uint32(j.raw(4))) }

// bytes takes a string or data, without copying it to the other packet.
func (j *jute) bytes() []byte {
	n := max(int32(binary.BigEndian.Uint32(j.in)), 0) // -1 is none
	b := j.in[4 : 4+n]
	j.in = j.in[4+n:]
	return b
}

func (j *jute) put(b []byte) {
	j.out = append(binary.BigEndian.AppendUint32(j.out, uint32(len(b))), b...)
}

func (j *jute) copied() []byte {
	b := j.bytes()
	j.put(b)
	return b
}
