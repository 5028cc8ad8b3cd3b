package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// Serve offers a tree on a unix socket until the context ends, and then removes the socket. A
// socket that is no longer served is replaced. Only its owner may connect; what a connection may do
// depends on the credentials it sends.
func Serve(ctx context.Context, tree *Tree, socketPath string) error {
	listener, err := listen(ctx, socketPath)
	if err != nil {
		return fmt.Errorf("serve the coordinator: %w", err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			listener.Close()
			return fmt.Errorf("serve the coordinator: %w", err)
		}
		mistake.GoIn(&serving, func() { (&connection{conn: conn, session: tree.open()}).serve(ctx) })
	}
}

func listen(ctx context.Context, socketPath string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", socketPath)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(socketPath) {
		if err := os.Remove(socketPath); err != nil {
			return nil, err
		}
		listener, err = config.Listen(ctx, "unix", socketPath)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socketPath, 0o600); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// abandoned reports whether a socket's process is gone.
func abandoned(socketPath string) bool {
	conn, err := net.Dial("unix", socketPath)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// connection is a client of the server.
type connection struct {
	conn    net.Conn
	session *session

	writing sync.Mutex

	mu       sync.Mutex
	standing map[uint64]context.CancelFunc // watches and announcements
	running  sync.WaitGroup
}

// serve answers until the client disconnects, the context ends, or an invalid message arrives.
func (c *connection) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer c.running.Wait()
	defer c.session.Close()
	defer c.conn.Close()
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	c.standing = map[uint64]context.CancelFunc{}
	for scanner := lines(c.conn); scanner.Scan(); {
		var r request
		if json.Unmarshal(scanner.Bytes(), &r) != nil || !c.handle(ctx, r) {
			return
		}
	}
}

// send writes a message; it reports false when the client is gone.
func (c *connection) send(r response) bool {
	text, err := line(r)
	if err != nil {
		text, err = line(response{ID: r.ID, Error: toWire(err)})
	}
	if err != nil {
		return false
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.conn.Write(text)
	return err == nil
}

// handle performs a request.
func (c *connection) handle(ctx context.Context, r request) bool {
	switch r.Op {
	case opWatch, opAnnounce:
		return c.stand(ctx, r)
	case opCancel:
		c.cancel(r.ID)
		return true
	}
	answer, err := c.session.do(ctx, r)
	if errors.Is(err, errNoRequest) {
		return false
	}
	answer.ID, answer.Error = r.ID, toWire(err)
	return c.send(answer)
}

// stand starts a watch or an announcement, which lasts until it is cancelled.
func (c *connection) stand(ctx context.Context, r request) bool {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	_, used := c.standing[r.ID]
	full := len(c.standing) >= maxStanding
	if !used && !full {
		c.standing[r.ID] = cancel
	}
	c.mu.Unlock()
	if used || full {
		cancel()
		return !used && c.send(response{ID: r.ID, Error: toWire(errStanding)})
	}
	mistake.GoIn(&c.running, func() {
		defer cancel()
		defer c.cancel(r.ID)
		if r.Op == opAnnounce {
			err := c.session.Announce(ctx, r.Path, r.Data)
			if c.send(response{ID: r.ID, Error: toWire(err)}); err == nil {
				<-ctx.Done()
			}
			return
		}
		tokens, err := c.session.Watch(ctx, r.Path)
		if c.send(response{ID: r.ID, Error: toWire(err)}); err == nil {
			for range tokens {
				c.send(response{ID: r.ID, Event: true})
			}
		}
	})
	return true
}

var errStanding = fmt.Errorf("more than %d watches and announcements on one connection", maxStanding)

// cancel ends a watch or announcement, if there is one of this id.
func (c *connection) cancel(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.standing[id]; end != nil {
		end()
		delete(c.standing, id)
	}
}
