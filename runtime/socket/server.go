package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// Server serves a role's values until it is closed.
type Server struct {
	path     string
	listener net.Listener
	values   driver.Values
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// Serve opens the socket in a run folder, or, where its path would be longer
// than a socket's may be, in a folder of its own that the run folder points to.
func Serve(ctx context.Context, folder string, values driver.Values) (*Server, error) {
	path, err := place(folder)
	if err != nil {
		return nil, fmt.Errorf("open the role's socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the role's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("open the role's socket: %w", err)
	}
	s := &Server{path: path, listener: listener, values: values}
	s.ctx, s.cancel = context.WithCancel(ctx)
	mistake.GoIn(&s.running, s.accept)
	return s, nil
}

// longest is how long a socket's path may be: sun_path, less its zero byte.
const longest = 107

// elsewhere is the link to the folder of a socket outside of the run folder.
const elsewhere = "socket-folder"

func place(folder string) (string, error) {
	path := filepath.Join(folder, "socket")
	if len(path) <= longest {
		return path, nil
	}
	base := os.TempDir()
	if len(base) > longest/2 {
		base = "/tmp"
	}
	outside, err := os.MkdirTemp(base, "hotc-")
	if err != nil {
		return "", err
	}
	if err := os.Symlink(outside, filepath.Join(folder, elsewhere)); err != nil {
		os.Remove(outside)
		return "", err
	}
	return filepath.Join(outside, "socket"), nil
}

// Remove removes what Serve left outside of a run folder, also after an agent was killed.
func Remove(folder string) {
	link := filepath.Join(folder, elsewhere)
	outside, err := os.Readlink(link)
	if err != nil {
		return
	}
	os.Remove(filepath.Join(outside, "socket"))
	os.Remove(outside)
	os.Remove(link)
}

// Path is where the socket is.
func (s *Server) Path() string { return s.path }

// Close ends all connections and waits for their end.
func (s *Server) Close() {
	s.cancel()
	s.listener.Close()
	s.running.Wait()
}

func (s *Server) accept() {
	for {
		connection, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			mistake.GoIn(&s.running, func() { s.serve(connection) })
		}
	}
}

// serve answers the requests of a connection. They are read in a separate goroutine, so that a
// disconnect is noticed while a read waits.
func (s *Server) serve(connection net.Conn) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { connection.Close() })
	defer stop()
	defer connection.Close()
	lines := make(chan []byte)
	mistake.GoIn(&s.running, func() {
		defer cancel()
		defer close(lines)
		in := bufio.NewScanner(connection)
		in.Buffer(nil, MaxRequest)
		for in.Scan() {
			select {
			case lines <- append([]byte(nil), in.Bytes()...):
			case <-ctx.Done():
				return
			}
		}
		if errors.Is(in.Err(), bufio.ErrTooLong) {
			reply(connection, answer{Error: fmt.Sprintf("the request has more than %d bytes", MaxRequest)})
		}
	})
	for line := range lines {
		if reply(connection, s.answer(ctx, line)) != nil {
			return
		}
	}
}

func reply(connection net.Conn, a answer) error {
	text, err := protocol.Encode(a)
	if err == nil {
		_, err = connection.Write(append(text, '\n'))
	}
	return err
}

func (s *Server) answer(ctx context.Context, line []byte) answer {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return answer{Error: fmt.Sprintf("the request is not JSON: %v", err)}
	}
	value, err := s.do(ctx, r)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: value}
}

func (s *Server) do(ctx context.Context, r request) (json.RawMessage, error) {
	switch {
	case r.Get != nil && r.Put == nil:
		return s.values.Read(ctx, *r.Get)
	case r.Put != nil && r.Get == nil && r.Text != nil && r.Value == nil:
		return nil, s.values.WriteText(ctx, *r.Put, []byte(*r.Text))
	case r.Put != nil && r.Get == nil && r.Text == nil && r.Value != nil:
		return nil, s.values.Write(ctx, *r.Put, r.Value)
	}
	return nil, errors.New(`a request has "get", or "put" with either "value" or "text"`)
}
