package simulationtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// caller counts the requests of a program, which may die at one: before it is taken, or after.
type caller interface {
	request() (number int, died bool)
	taken(number int) (died bool)
}

// session is a process's session with the cluster: a store.Session.
type session struct {
	cluster *cluster
	process *process // nil for the operator's
	inner   store.Session
	name    string
	caller  caller
	dead    <-chan struct{}
	closed  chan struct{}

	// seen is the state that the session's replica has shown so far: the number of commits. Guarded
	// by the cluster's mutex.
	seen int

	mu      sync.Mutex
	creds   []store.Credential
	counts  map[string]int
	watches map[store.Path]map[chan struct{}]struct{}
	// refused are until when it was refused, after each loss; absent is until when the coordinator
	// does not answer it.
	refused []time.Duration
	absent  time.Duration
}

func (c *cluster) open(p *process, name string, dead <-chan struct{}, by caller, creds []store.Credential) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &session{cluster: c, process: p, name: name, inner: c.tree.Open(creds...), creds: slices.Clone(creds), dead: dead, caller: by,
		closed: make(chan struct{}), counts: map[string]int{}, watches: map[store.Path]map[chan struct{}]struct{}{}}
	c.closed, c.sessions = append(c.closed, s.inner), append(c.sessions, s)
	return s
}

// identities are the session's credentials.
func (s *session) identities() []store.Credential {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.creds)
}

func (s *session) machine() *machine {
	if s.process == nil {
		return nil
	}
	return s.process.machine
}

// identify names a request: by what it is and how often it was made.
func (s *session) identify(op string, path store.Path) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := op + " " + string(path)
	s.counts[key]++
	return fmt.Sprintf("%s %s #%d", s.name, key, s.counts[key])
}

// cut is how long the session will remain without an answer from the cluster.
func (s *session) cut() time.Duration {
	away := s.away()
	if s.process == nil {
		return away
	}
	now := s.cluster.now()
	for _, c := range s.process.machine.Cut {
		if c.From <= now && now < c.To {
			return max(away, c.To-now)
		}
	}
	return away
}

// travel is the transit of a request or an answer. A machine that is cut off waits.
func (s *session) travel(ctx context.Context, d time.Duration) error {
	for {
		if err := s.sleep(ctx, d); err != nil {
			return err
		}
		if d = s.cut(); d == 0 {
			return nil
		}
		d += s.cluster.dice.between(time.Millisecond, longestRetry, s.name, "back", s.cluster.now())
	}
}

func (s *session) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.dead:
	case <-s.closed:
	}
	switch {
	case isClosed(s.dead):
		return errDead
	case ctx.Err() != nil:
		return ctx.Err()
	case isClosed(s.closed):
		return store.ErrClosed
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ask repeats a request until it has an answer, as store.Session promises. late performs it
// after the session has given up on it: it was in transit.
func (s *session) ask(ctx context.Context, op string, path store.Path, effect func(id string) error, late func()) error {
	d, f := s.cluster.dice, s.cluster.faults
	for {
		id := s.identify(op, path)
		if err := s.travel(ctx, s.way(id, "there")); err != nil {
			if late != nil && d.chance(0.3, id, "late") {
				time.AfterFunc(d.between(usual, slowest, id, "how late"), late)
			}
			return fail(op, path, err)
		}
		if d.chance(f.Lost, id, "request lost") {
			if err := s.sleep(ctx, d.between(usual, longestRetry, id, "retry")); err != nil {
				return fail(op, path, err)
			}
			continue
		}
		number, died := s.caller.request()
		if died {
			return fail(op, path, errDead)
		}
		losses := s.losses()
		err := effect(id)
		if s.caller.taken(number) {
			return fail(op, path, errDead)
		}
		if d.chance(f.Lost, id, "answer lost") || s.cut() > 0 {
			if err := s.sleep(ctx, d.between(usual, longestRetry, id, "retry")); err != nil {
				return fail(op, path, err)
			}
			continue
		}
		if gone := s.travel(ctx, s.way(id, "back")); gone != nil {
			return fail(op, path, gone)
		}
		if s.losses() != losses { // the answer was lost, too
			continue
		}
		return err
	}
}

func (s *session) way(id, direction string) time.Duration {
	d := s.cluster.dice
	if d.chance(s.cluster.faults.Slow, id, direction, "slow") {
		return d.between(usual, slowest, id, direction)
	}
	return d.between(quickest, usual, id, direction)
}

func fail(op string, path store.Path, err error) error {
	return &store.PathError{Op: op, Path: path, Err: err}
}

// batch is how many nodes one request of a Create creates.
const batch = 5

// Create implements store.Session.
func (s *session) Create(ctx context.Context, nodes []store.NewNode) error {
	for len(nodes) > 0 {
		n := min(batch, len(nodes))
		some := nodes[:n]
		nodes = nodes[n:]
		err := s.ask(ctx, "create", some[0].Path, func(string) error { return s.cluster.create(s, some) }, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// Read implements store.Session.
func (s *session) Read(ctx context.Context, path store.Path) (store.Node, error) {
	var node change
	err := s.ask(ctx, "read", path, func(id string) (err error) {
		if err := s.cluster.mayRead(s, path); err != nil {
			return err
		}
		if node, err = s.look(id, path); err == nil && !node.exists {
			err = fail("read", path, store.ErrNotFound)
		}
		return err
	}, nil)
	if err != nil {
		return store.Node{}, err
	}
	return store.Node{Data: append([]byte{}, node.data...), Version: node.version}, nil
}

// Stat implements store.Session.
func (s *session) Stat(ctx context.Context, path store.Path) (store.Version, bool, error) {
	var node change
	err := s.ask(ctx, "stat", path, func(id string) (err error) {
		node, err = s.look(id, path)
		return err
	}, nil)
	return node.version, err == nil && (node.exists || path == ""), err // the root stays
}

// SetLimit implements store.Session. Nothing is limited.
func (s *session) SetLimit(context.Context, store.Path, store.Limit, store.Principal) error {
	return nil
}

// Surroundings implements store.Session.
func (s *session) Surroundings(context.Context) (store.Rights, error) { return 0, nil }

// Among implements store.Session.
func (s *session) Among(store.Path) {}

// Written implements store.Session.
func (s *session) Written(ctx context.Context, path store.Path) (at time.Time, err error) {
	err = s.ask(ctx, "stat", path, func(string) error {
		c := s.cluster
		c.mu.Lock()
		defer c.mu.Unlock()
		at = time.Now()
		if x := c.state(path, len(c.commits)); x.exists { // ephemeral nodes have no history
			at = c.commits[x.commit].at
		}
		return nil
	}, nil)
	return at, err
}

// look reads from the session's replica. When it showed an old state, all watchers are woken once
// the replica has caught up: their watches are set there.
func (s *session) look(id string, path store.Path) (change, error) {
	lag := time.Duration(0)
	if s.cluster.faults.Lag > 0 && s.process != nil {
		lag = s.cluster.dice.between(0, s.cluster.faults.Lag, id, "lag")
	}
	node, late, err := s.cluster.look(s, path, lag)
	if late {
		head := s.cluster.head()
		time.AfterFunc(lag+s.cluster.dice.between(quickest, usual, id, "caught up"), func() { s.wakeAll(head) })
	}
	return node, err
}

// wake notifies the watchers of a node, now that the replica has caught up.
func (s *session) wake(path store.Path, head int) {
	s.cluster.mu.Lock()
	s.seen = max(s.seen, head)
	s.cluster.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for tokens := range s.watches[path] {
		token(tokens)
	}
}

func (s *session) wakeAll(head int) {
	s.mu.Lock()
	paths := slices.Collect(maps.Keys(s.watches))
	s.mu.Unlock()
	for _, path := range paths {
		s.wake(path, head)
	}
}

func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Children implements store.Session.
func (s *session) Children(ctx context.Context, path store.Path) (names []string, err error) {
	err = s.ask(ctx, "list", path, func(string) (err error) {
		names, err = s.store().Children(context.Background(), path)
		return err
	}, nil)
	return names, err
}

// Commit implements store.Session.
func (s *session) Commit(ctx context.Context, ops ...store.Op) error {
	path, asked, done := ops[0].Path, time.Now(), -1
	for _, op := range ops {
		if op.Write {
			path = op.Path
		}
	}
	effect := func(id string) (err error) {
		write := func() error {
			n, err := s.cluster.write(s, asked, ops)
			if err == nil {
				done = n
				s.becomes(ops)
			}
			return err
		}
		if s.process != nil {
			return s.process.write(write)
		}
		return write()
	}
	losses := s.losses()
	err := s.ask(ctx, "commit", path, effect, func() {
		if s.losses() == losses {
			_, _ = s.cluster.write(s, asked, ops) // the answer is never received
		}
	})
	s.cluster.answered(done)
	return err
}

// becomes ends a process that is to end when its machine becomes the server.
func (s *session) becomes(ops []store.Op) {
	p := s.process
	if p == nil || !p.end.Number {
		return
	}
	for _, op := range ops {
		if op.Write && op.Path == deployment.Server(p.machine.Server) {
			p.stop()
		}
	}
}

// DeleteTree implements store.Session.
func (s *session) DeleteTree(ctx context.Context, path store.Path) error {
	for _, some := range s.cluster.below(path) {
		err := s.ask(ctx, "delete", path, func(string) error {
			for _, p := range some {
				if err := s.cluster.deleteTree(s, p); err != nil {
					return err
				}
			}
			return nil
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// Watch implements store.Session. A token takes its time; what the replica shows afterwards is
// not older than the change.
func (s *session) Watch(ctx context.Context, path store.Path) (<-chan struct{}, error) {
	inner, err := s.store().Watch(ctx, path)
	if err != nil {
		return nil, err
	}
	tokens := make(chan struct{}, 1)
	s.mu.Lock()
	if s.watches[path] == nil {
		s.watches[path] = map[chan struct{}]struct{}{}
	}
	s.watches[path][tokens] = struct{}{}
	s.mu.Unlock()
	go func() {
		first := true // it stands for no change
		for gone := false; !gone && inner != nil; {
			for range inner {
				head := 0
				if !first {
					head = s.cluster.head()
				}
				first = false
				if gone = s.travel(ctx, s.way(s.identify("watch", path), "token")) != nil; gone {
					break
				}
				s.wake(path, head)
			}
			if gone = gone || ctx.Err() != nil || isClosed(s.cluster.over); !gone { // a loss ended it
				inner, _ = s.store().Watch(ctx, path)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches[path], tokens)
		close(tokens)
	}()
	return tokens, nil
}

// Rights implements store.Session. No agent uses it.
func (s *session) Rights(ctx context.Context, path store.Path) ([]store.Grant, error) {
	return s.store().Rights(ctx, path)
}

// ChangeRights implements store.Session.
func (s *session) ChangeRights(ctx context.Context, path store.Path, change store.RightsChange) error {
	return s.ask(ctx, "change the rights of", path, func(string) error {
		c := s.cluster
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.perform(s, func(at store.Session) error { return at.ChangeRights(context.Background(), path, change) })
	}, nil)
}

// Authenticate implements store.Session.
func (s *session) Authenticate(ctx context.Context, c store.Credential) error {
	return s.ask(ctx, "authenticate", store.Path(c.User), func(string) error {
		s.mu.Lock()
		s.creds = append(s.creds, c)
		s.mu.Unlock()
		return s.inner.Authenticate(context.Background(), c)
	}, nil)
}

// MaxValue implements store.Session.
func (s *session) MaxValue() int {
	if room := s.cluster.faults.Room; room > 0 && s.process != nil {
		return room + overhead
	}
	return s.store().MaxValue()
}

// overhead is what an agent leaves free in a commit (coordinator's Member).
const overhead = 16 << 10

// Close implements store.Session.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isClosed(s.closed) {
		close(s.closed)
	}
	return nil
}
