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
	"github.com/hotc-dev/hotc/coordinator"
)

// Serve offers a tree on a unix socket until the context ends, and then removes
// the socket. A socket that nobody serves any more is replaced. Only its owner may
// connect; what a connection may do is a matter of the credentials it sends.
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
		serving.Go(func() {
			defer mistake.Ends()
			(&connection{conn: conn, session: tree.Open().(*session)}).serve(ctx)
		})
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

// abandoned reports whether a socket's process has gone.
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

// serve answers until the client goes, the context ends, or what comes is not a message.
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

// send writes a message; it reports false when the client has gone.
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

// handle does what a request asks for.
func (c *connection) handle(ctx context.Context, r request) bool {
	s, answer := c.session, response{ID: r.ID}
	var err error
	switch r.Op {
	case opAuthenticate:
		if r.Credential == nil {
			return false
		}
		err = s.Authenticate(ctx, *r.Credential)
	case opCreate:
		err = s.Create(ctx, r.Nodes)
	case opRead:
		var n coordinator.Node
		n, err = s.Read(ctx, r.Path)
		answer.Data, answer.Version = n.Data, n.Version
	case opStat:
		answer.Version, answer.Exists, err = s.Stat(ctx, r.Path)
	case opChildren:
		answer.Names, err = s.Children(ctx, r.Path)
	case opCommit:
		err = s.Commit(ctx, r.Ops...)
	case opDeleteTree:
		err = s.DeleteTree(ctx, r.Path)
	case opRights:
		answer.Grants, err = s.Rights(ctx, r.Path, r.Known...)
	case opChangeRights:
		if r.Rights == nil || r.Rights.From != nil && len(r.Rights.Grants) != 1 {
			return false
		}
		err = s.ChangeRights(ctx, r.Path, *r.Rights)
	case opWatch, opAnnounce:
		return c.stand(ctx, r)
	case opCancel:
		c.cancel(r.ID)
		return true
	default:
		return false
	}
	answer.Error = toWire(err)
	return c.send(answer)
}

// stand starts what goes on until it is cancelled.
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
	c.running.Go(func() {
		defer mistake.Ends()
		defer cancel()
		defer c.cancel(r.ID)
		switch r.Op {
		case opWatch:
			tokens, err := c.session.Watch(ctx, r.Path)
			c.send(response{ID: r.ID, Error: toWire(err)})
			if err != nil {
				return
			}
			for range tokens {
				c.send(response{ID: r.ID, Event: true})
			}
		case opAnnounce:
			err := c.session.Announce(ctx, r.Path, r.Data)
			c.send(response{ID: r.ID, Error: toWire(err)})
			if err == nil {
				<-ctx.Done()
			}
		}
	})
	return true
}

var errStanding = fmt.Errorf("more than %d watches and announcements in one connection", maxStanding)

// cancel ends a watch or announcement, if there is one of this id.
func (c *connection) cancel(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.standing[id]; end != nil {
		end()
		delete(c.standing, id)
	}
}
