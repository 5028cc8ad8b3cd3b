package zookeeper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// MaxValue is how many bytes a node holds. A request may have 1 MiB (jute.maxbuffer); the rest is
// for its path, access list and frame.
const MaxValue = 1<<20 - 16<<10

// sessionTimeout is the requested timeout; a server's own limits are 2 and 20 ticks, by default 4
// and 40 s. A dead agent is noticed after this time.
const sessionTimeout = 10 * time.Second

// client is a store.Session: one session at a time, under the same root.
type client struct {
	root    string
	link    *link
	watches *watches
	asking  asking
	reads   reads
	backoff backoff
	others  others
	calls   chan func() // to the goroutine that is idle
	idle    atomic.Bool // there is one
	running sync.WaitGroup
	closing sync.Once

	mu    sync.Mutex
	ended bool
	who   store.Principals
	// sessions are the ids of this store's sessions: their nodes are ours.
	sessions map[int64]struct{}
}

// Open connects to the ZooKeeper that a URL names, zk://HOST:PORT[,HOST:PORT…]/ROOT, or
// zk+tls://HOST:PORT[,HOST:PORT…]/ROOT?ca=FILE&cert=FILE&key=FILE&server_name=NAME, and starts a
// session under some identities. Create creates the root if needed. Open retries until the context
// ends, except that a wrong URL or file is a *store.URLError at once.
func Open(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
	return open(ctx, url, sessionTimeout, creds...)
}

func open(ctx context.Context, url string, timeout time.Duration, creds ...store.Credential) (*client, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	if a.security != nil {
		if _, err := a.security.config(""); err != nil { // wrong at the start; later errors are retried
			return nil, &store.URLError{URL: url, Err: err}
		}
	}
	s := &client{root: a.root, sessions: map[int64]struct{}{}, calls: make(chan func()), reads: reads{open: map[*openRead]struct{}{}}}
	s.watches = &watches{store: s, entries: map[string]*entry{}}
	if s.link, err = connect(a.hosts, a.security, timeout, s.watches.heard, s.watches.joined); err != nil {
		return nil, err
	}
	mistake.GoIn(&s.running, s.keepAlive)
	err = s.link.await(ctx)
	for _, c := range creds {
		if err == nil {
			err = s.Authenticate(ctx, c)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// at is a path in ZooKeeper.
func (s *client) at(path store.Path) string {
	if path == "" {
		return s.root
	}
	return s.root + "/" + string(path)
}

// path is at's inverse.
func (s *client) path(at string) store.Path {
	return store.Path(strings.TrimPrefix(strings.TrimPrefix(at, s.root), "/"))
}

func (s *client) Read(ctx context.Context, path store.Path) (store.Node, error) {
	at := s.at(path)
	look := s.watches.look(at)
	type found struct {
		data []byte
		stat *zk.Stat
	}
	f, err := ask(ctx, s, read, func(c *zk.Conn) (f found, err error) {
		if look.arms {
			f.data, f.stat, _, err = c.GetW(at)
		} else {
			f.data, f.stat, err = c.Get(at)
		}
		return f, err
	})
	look.done(stateOf(f.stat, err == nil), err)
	if err != nil {
		return store.Node{}, fail("read", path, err)
	}
	return store.Node{Data: f.data, Version: store.Version(f.stat.Version)}, nil
}

func (s *client) Stat(ctx context.Context, path store.Path) (store.Version, bool, error) {
	at := s.at(path)
	look := s.watches.look(at)
	stat, err := s.exists(ctx, at, look.arms)
	look.done(stateOf(stat, stat != nil), err)
	if err != nil {
		return 0, false, fail("stat", path, err)
	}
	if stat == nil {
		return 0, false, nil
	}
	return store.Version(stat.Version), true, nil
}

func (s *client) Written(ctx context.Context, path store.Path) (time.Time, error) {
	stat, err := s.exists(ctx, s.at(path), false)
	if err == nil && stat == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return time.Time{}, fail("stat", path, err)
	}
	return time.UnixMilli(stat.Mtime), nil
}

// exists returns a node's stat, nil if there is none.
func (s *client) exists(ctx context.Context, at string, watch bool) (*zk.Stat, error) {
	return ask(ctx, s, read, func(c *zk.Conn) (stat *zk.Stat, err error) {
		var exists bool
		if watch {
			exists, stat, _, err = c.ExistsW(at)
		} else {
			exists, stat, err = c.Exists(at)
		}
		if err != nil || !exists {
			return nil, err
		}
		return stat, nil
	})
}

func (s *client) Children(ctx context.Context, path store.Path) ([]string, error) {
	names, err := s.names(ctx, s.at(path))
	if err != nil {
		return nil, fail("list", path, err)
	}
	return names, nil
}

// names are those of a node's children, sorted.
func (s *client) names(ctx context.Context, at string) ([]string, error) {
	return ask(ctx, s, read, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(at)
		slices.Sort(names)
		return names, err
	})
}

// data is what a node holds.
func (s *client) data(ctx context.Context, at string) ([]byte, error) {
	return ask(ctx, s, read, func(c *zk.Conn) ([]byte, error) {
		data, _, err := c.Get(at)
		return data, err
	})
}

func (s *client) Commit(ctx context.Context, ops ...store.Op) error {
	size := 0
	requests := make([]any, len(ops))
	for i, op := range ops {
		if size += len(op.Data); size > MaxValue {
			return fail("commit", op.Path, tooLarge(size))
		}
		if op.Write {
			requests[i] = &zk.SetDataRequest{Path: s.at(op.Path), Data: bytesOf(op.Data), Version: int32(op.Version)}
		} else {
			requests[i] = &zk.CheckVersionRequest{Path: s.at(op.Path), Version: int32(op.Version)}
		}
	}
	if i, err := s.multi(ctx, requests); err != nil {
		var path store.Path
		if i < len(ops) {
			path = ops[i].Path
		}
		return fail("commit", path, err)
	}
	return nil
}

// multi performs all of the operations or none, and returns which one was refused.
func (s *client) multi(ctx context.Context, requests []any) (refused int, err error) {
	results, err := ask(ctx, s, write, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(requests...) })
	for i, r := range results {
		if r.Error != nil {
			return i, r.Error
		}
	}
	return 0, err
}

// bytesOf keeps empty data from becoming ZooKeeper's null.
func bytesOf(data []byte) []byte { return append([]byte{}, data...) }

// Authenticate implements store.Session. ZooKeeper accepts any password; with a wrong one,
// later requests are refused.
func (s *client) Authenticate(ctx context.Context, c store.Credential) error {
	_, err := ask(ctx, s, write, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.AddAuth(digest, auth(c))
	})
	if err != nil {
		return fmt.Errorf("authenticate %s: %w", c.User, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.who = s.who.Add(c.Principal())
	return nil
}

// auth is what a session authenticates with.
func auth(c store.Credential) []byte { return []byte(c.User + ":" + c.Password) }

// principals are the session's.
func (s *client) principals() store.Principals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.who
}

func (s *client) MaxValue() int { return MaxValue }

// start runs a goroutine that Close waits for, unless Close has begun.
func (s *client) start(run func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		mistake.GoIn(&s.running, run)
	}
	return !s.ended
}

func (s *client) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		s.link.end()
		s.watches.close()
		s.link.close()
	})
	s.running.Wait()
	return nil
}
