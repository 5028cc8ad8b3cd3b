package simulationtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// cluster is a coordinator of several replicas behind a network. Its truth is the in-process
// coordinator, whose rights and versions count; around it is what a network and an ensemble do to a
// session: requests take time, they or their answers are lost and repeated, a session sees what its
// replica has seen so far (never less than before, never less than its own writes), and a machine
// that is cut off loses its ephemeral nodes after a while.
type cluster struct {
	dice   dice
	faults *Faults
	tree   *memory.Tree
	begin  time.Time
	over   <-chan struct{} // closed at the end of the run

	mu      sync.Mutex
	commits []commit
	nodes   map[store.Path][]change
	cells   map[store.Path]contract.CellName // where each is
	// questions are where machines ask for an operator's approval.
	questions []store.Path
	moved     time.Time // see lastMove
	// stale counts answers that were older than the truth.
	stale    int
	closed   []store.Session // sessions to close at the end
	sessions []*session
	past     []past        // what has changed the tree, where it may be lost
	floor    int           // no replica shows less: the last loss
	lossy    chan struct{} // closed at the next loss
}

// commit is one step of the cluster's history.
type commit struct {
	at      time.Time
	session string
	machine *machine
	writes  []write
	gone    []contract.CellName // deleted by it
	// asked and answered are when the session sent the request and got its answer; answered is zero
	// when it never did.
	asked, answered time.Time
	lost            bool // it is a loss of data
}

type write struct {
	path store.Path
	data []byte
}

// change is a node after a commit.
type change struct {
	commit  int // its index
	exists  bool
	version store.Version
	data    []byte
	machine *machine // who wrote it; nil is an operator or a relay
}

// The times of the network and of sessions.
const (
	quickest, usual = 200 * time.Microsecond, 5 * time.Millisecond
	sessionTimeout  = 10 * time.Second
	longestRetry    = 400 * time.Millisecond
	slowest         = 3 * time.Second
)

func newCluster(d dice, f *Faults, p *Program) *cluster {
	c := &cluster{dice: d, faults: f, tree: memory.New(), begin: time.Now(), moved: time.Now(), lossy: make(chan struct{}),
		nodes: map[store.Path][]change{}, cells: map[store.Path]contract.CellName{}}
	for _, x := range p.Plan.Cells {
		c.cells[deployment.Cell(contract.CellRef{Cell: x.Name, Server: x.Server})] = x.Name
	}
	for _, s := range p.Plan.Servers {
		c.questions = append(c.questions, deployment.ApprovalRequests(s.Path))
	}
	return c
}

// now is the time since the beginning.
func (c *cluster) now() time.Duration { return time.Since(c.begin) }

// lastMove is when something was last written that others may wait for. A machine that waits for an
// operator renews its question for ever.
func (c *cluster) lastMove() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}

// head is the number of commits; a session sees the state after some number of them.
func (c *cluster) head() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.commits)
}

// asOf is how many commits there were at a moment. Locked.
func (c *cluster) asOf(t time.Time) int {
	n, _ := slices.BinarySearchFunc(c.commits, t, func(x commit, t time.Time) int {
		if x.at.After(t) {
			return 1
		}
		return -1
	})
	return n
}

// state is a node after that many commits. Locked.
func (c *cluster) state(path store.Path, view int) change {
	changes := c.nodes[path]
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].commit < view {
			return changes[i]
		}
	}
	return change{}
}

// changesOf are the changes of a node.
func (c *cluster) changesOf(path store.Path) []change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes[path])
}

// record notes a commit. Locked.
func (c *cluster) record(s *session, asked time.Time, writes ...write) *commit {
	n := len(c.commits)
	c.commits = append(c.commits, commit{at: time.Now(), session: s.name, machine: s.machine(), writes: writes, asked: asked})
	if !slices.ContainsFunc(writes, func(w write) bool { return slices.Contains(c.questions, w.path) }) {
		c.moved = time.Now()
	}
	for _, w := range writes {
		before := c.state(w.path, n)
		now := change{commit: n, exists: true, data: w.data, machine: s.machine()}
		if before.exists {
			now.version = before.version + 1
		}
		c.nodes[w.path] = append(c.nodes[w.path], now)
	}
	return &c.commits[n]
}

// answered notes that a session has the answer to a commit of its own.
func (c *cluster) answered(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= 0 && c.commits[n].answered.IsZero() {
		c.commits[n].answered = time.Now()
	}
}

// write does a commit for a session; done is its index, -1 if refused.
func (c *cluster) write(s *session, asked time.Time, ops []store.Op) (done int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done = -1
	err = c.perform(s, func(at store.Session) error { return at.Commit(context.Background(), ops...) })
	if err == nil {
		var writes []write
		for _, op := range ops {
			if op.Write {
				writes = append(writes, write{op.Path, slices.Clone(op.Data)})
			}
		}
		c.record(s, asked, writes...)
		done = len(c.commits) - 1
	}
	c.answer(s)
	return done, err
}

// answer lets a session see all that came before the answer to its write, even if it was refused.
func (c *cluster) answer(s *session) { s.seen = len(c.commits) }

func (c *cluster) create(s *session, nodes []store.NewNode) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.answer(s)
	for _, n := range nodes {
		before := c.state(n.Path, len(c.commits))
		if err := c.perform(s, func(at store.Session) error { return at.Create(context.Background(), []store.NewNode{n}) }); err != nil {
			return err
		}
		if !before.exists {
			c.record(s, time.Now(), write{n.Path, slices.Clone(n.Data)})
		}
	}
	return nil
}

func (c *cluster) deleteTree(s *session, path store.Path) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.answer(s)
	if err := c.perform(s, func(at store.Session) error { return at.DeleteTree(context.Background(), path) }); err != nil {
		return err
	}
	done := c.record(s, time.Now())
	for p, changes := range c.nodes {
		if (p == path || strings.HasPrefix(string(p), string(path)+"/")) && changes[len(changes)-1].exists {
			c.nodes[p] = append(changes, change{commit: len(c.commits) - 1})
			if name, is := c.cells[p]; is {
				done.gone = append(done.gone, name)
			}
		}
	}
	return nil
}

// below are a node and everything below it, children first, in batches of one request.
func (c *cluster) below(path store.Path) [][]store.Path {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []store.Path{path}
	for p, changes := range c.nodes {
		if strings.HasPrefix(string(p), string(path)+"/") && changes[len(changes)-1].exists {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return slices.Collect(slices.Chunk(all, batch))
}

// look answers a read from the session's replica, which is behind by at most lag. late says that
// the answer is older than the truth.
func (c *cluster) look(s *session, path store.Path, lag time.Duration) (node change, late bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if path == "" || isEphemeral(path) { // kept by the tree itself: no history
		version, exists, err := s.store().Stat(context.Background(), path)
		return change{exists: exists, version: version}, false, err
	}
	s.seen = max(s.seen, c.asOf(time.Now().Add(-lag)), c.floor)
	node = c.state(path, s.seen)
	truth := c.state(path, len(c.commits))
	late = node.commit != truth.commit || node.exists != truth.exists
	if late {
		c.stale++
	}
	return node, late, nil
}

func isEphemeral(path store.Path) bool {
	return strings.HasSuffix(string(path), "/agent/presence") || strings.HasPrefix(string(path), string(deployment.LockHolder("")))
}

// mayRead asks the truth whether a session may read a node, or whether that is gone. A replica that
// refuses has the current rights, and so all the rest.
func (c *cluster) mayRead(s *session, path store.Path) error {
	_, err := s.store().Read(context.Background(), path)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	head := c.head()
	c.mu.Lock()
	defer c.mu.Unlock()
	s.seen = max(s.seen, head)
	return err
}

// cell decodes a cell's record.
func cell(data []byte) (r protocol.CellRecord) {
	_ = json.Unmarshal(data, &r)
	return r
}

// incarnation decodes a server's record.
func incarnation(data []byte) (r protocol.IncarnationRecord) {
	_ = json.Unmarshal(data, &r)
	return r
}

func (c *cluster) close() {
	c.mu.Lock()
	sessions := c.closed
	c.mu.Unlock()
	for _, s := range sessions {
		s.Close()
	}
}
