package memory_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/storetest"
)

func TestConformance(t *testing.T) {
	tree := memory.New()
	storetest.Run(t, func(t testing.TB, creds ...store.Credential) store.Session {
		return tree.Open(creds...)
	})
}

func TestConformanceOfTheSocket(t *testing.T) {
	socket := serve(t, memory.New())
	storetest.Run(t, func(t testing.TB, creds ...store.Credential) store.Session {
		s, err := memory.Dial(t.Context(), socket, creds...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// serve serves a tree until the test ends.
func serve(t *testing.T, tree *memory.Tree) (socket string) {
	dir, err := os.MkdirTemp("", "hotc") // a socket's path has at most 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- memory.Serve(ctx, tree, socket) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return socket
}

func TestSocketRefusesWhatIsNoMessage(t *testing.T) {
	tree := memory.New()
	socket := serve(t, tree)
	watcher, err := memory.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	for name, text := range map[string]string{
		"no JSON":           "hello\n",
		"another type":      `{"id":1,"op":"read","path":7}` + "\n",
		"unknown operation": `{"id":1,"op":"format"}` + "\n",
		"no credential":     `{"id":1,"op":"authenticate"}` + "\n",
		"an endless line":   strings.Repeat("x", 9<<20),
		"an id twice":       strings.Repeat(`{"id":1,"op":"watch","path":"a"}`+"\n", 2),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go io.WriteString(conn, text)
			if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Fatal(err)
			}
		})
	}
	if _, err := watcher.Read(t.Context(), ""); err != nil {
		t.Fatalf("another connection suffered: %v", err)
	}
}

func TestSessionEndsWithItsServer(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- memory.Serve(ctx, memory.New(), filepath.Join(dir, "s")) }()
	s, err := memory.Dial(t.Context(), filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := s.Watch(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for range tokens {
	}
	if _, err := s.Read(t.Context(), "a"); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("got %v", err)
	}
	s.Close()
	for try := 50 * time.Millisecond; ; try *= 2 { // a machine that stands still does not try at all
		short, cancel := context.WithTimeout(t.Context(), try)
		_, err := memory.Dial(short, filepath.Join(dir, "s"))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && errors.Is(err, os.ErrNotExist) {
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) || try > time.Minute {
			t.Fatalf("got %v", err)
		}
	}
}

func TestAbandonedSocketIsReplaced(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := memory.Serve(ctx, memory.New(), socket); !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("a socket that is served was taken over: %v", err)
	}
	l.Close()
	ended := make(chan error, 1)
	go func() { ended <- memory.Serve(ctx, memory.New(), socket) }()
	s, err := memory.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
