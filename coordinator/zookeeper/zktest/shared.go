package zktest

import (
	"os"
	"sync"
	"testing"
)

// Sharing is a server that the tests of one package share, each below a root of its own. The first
// test that asks starts it.
type Sharing struct {
	mu     sync.Mutex
	dir    string
	server *Server
	err    error
}

// Main runs a package's tests and ends the server that they shared.
//
//	var shared zktest.Sharing
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
func (s *Sharing) Main(m *testing.M) int {
	defer func() {
		if s.server != nil {
			s.server.Kill()
		}
		if s.dir != "" {
			_ = os.RemoveAll(s.dir)
		}
	}()
	return m.Run()
}

// Server returns the server. Tests must leave it running.
func (s *Sharing) Server(t testing.TB) *Server {
	t.Helper()
	need(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil && s.err == nil {
		if s.dir, s.err = os.MkdirTemp("", "zktest-"); s.err == nil {
			s.server, s.err = newServer(s.dir, false)
		}
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}
