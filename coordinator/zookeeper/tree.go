package zookeeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator"
)

// mostScouts is how many nodes of a tree are looked at at the same time.
const mostScouts = 16

// tree watches a node and all below it. Each known node has a data watch and a
// child watch; an event, a reconnection or the keep-alive makes it dirty, scouts look
// at dirty nodes, which sets the watches again, and then hand over those that
// changed.
type tree struct {
	store *store
	ctx   context.Context
	root  string

	mu     sync.Mutex
	nodes  map[string]*treeNode
	dirty  []string // each once
	scouts int
	done   sync.WaitGroup // the scouts

	changed *changedPaths
}

// treeNode is a node as it was last seen.
type treeNode struct {
	seen     state
	listed   int64 // the transaction that last changed its children
	children []string
	known    bool // it has been looked at
	dirty    bool // it is in tree.dirty
	told     bool // an event said that it changed
	deleted  bool // an event said that it was deleted
	busy     bool // a scout is looking at it
}

// WatchTree implements coordinator.Store. The paths that exist come first. What is
// below a node whose children may not be listed is not seen.
func (s *store) WatchTree(ctx context.Context, path coordinator.Path) (<-chan coordinator.Path, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("watch", path, err)
	}
	within, cancel := context.WithCancel(ctx)
	t := &tree{store: s, ctx: within, root: s.at(path), nodes: map[string]*treeNode{}, changed: newChangedPaths()}
	paths := make(chan coordinator.Path)
	s.watches.mu.Lock()
	s.watches.trees[t] = struct{}{}
	s.watches.mu.Unlock()
	started := s.start(func() {
		defer close(paths)
		defer t.done.Wait()
		defer t.leave()
		defer cancel()
		defer context.AfterFunc(s.link.alive, cancel)()
		t.changed.handOver(within, paths)
	})
	if !started {
		cancel()
		t.leave()
		return nil, fail("watch", path, coordinator.ErrClosed)
	}
	t.mu.Lock()
	t.know(t.root).told = true
	t.mark(t.root)
	t.mu.Unlock()
	return paths, nil
}

// leave ends the tree's part in events; its context has ended, so that from here
// on no scout starts.
func (t *tree) leave() {
	w := t.store.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.trees, t)
	t.mu.Lock()
	defer t.mu.Unlock()
}

// know returns a node's record. The mutex is held, here and in what follows.
func (t *tree) know(at string) *treeNode {
	n := t.nodes[at]
	if n == nil {
		n = &treeNode{}
		t.nodes[at] = n
	}
	return n
}

// mark has a node looked at.
func (t *tree) mark(at string) {
	n := t.nodes[at]
	if n == nil || n.dirty || t.ctx.Err() != nil {
		return
	}
	n.dirty = true
	if n.busy {
		return // its scout will see
	}
	t.dirty = append(t.dirty, at)
	if t.scouts < mostScouts {
		t.scouts++
		t.done.Go(t.scout)
	}
}

// heard takes an event; it runs in the library's goroutine.
func (t *tree) heard(event zk.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.nodes[event.Path]; n != nil {
		n.told = n.told || event.Type != zk.EventNodeChildrenChanged
		n.deleted = n.deleted || event.Type == zk.EventNodeDeleted
		t.mark(event.Path)
	}
}

// joined has everything looked at; it runs in the library's goroutine.
func (t *tree) joined() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.nodes {
		t.mark(at)
	}
}

// targets adds the tree's nodes to the keep-alive's round.
func (t *tree) targets(turn []target) []target {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at, n := range t.nodes {
		if n.known {
			turn = append(turn, target{tree: t, at: at})
		}
	}
	return turn
}

// probed compares a node with what the keep-alive saw.
func (t *tree) probed(at string, stat *zk.Stat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.nodes[at]
	if n == nil || !n.known {
		return
	}
	if stateOf(stat, stat != nil) != n.seen || stat != nil && stat.Pzxid != n.listed {
		t.mark(at)
	}
}

// scout looks at dirty nodes until there are none.
func (t *tree) scout() {
	defer mistake.Ends()
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.dirty) > 0 && t.ctx.Err() == nil {
		at := t.dirty[0]
		t.dirty = t.dirty[1:]
		n := t.nodes[at]
		if n == nil {
			continue
		}
		n.dirty, n.busy = false, true
		told, deleted := n.told, n.deleted
		n.told, n.deleted = false, false
		t.mu.Unlock()
		found, err := t.examine(at, !deleted || at == t.root)
		t.mu.Lock()
		n.busy = false
		if err != nil || t.nodes[at] != n {
			continue // the watch or the store has ended, or the node is gone
		}
		t.update(at, n, found, told)
		if n.dirty {
			n.dirty = false
			t.mark(at)
		}
	}
	t.scouts--
}

// found is what a scout saw.
type found struct {
	state  state
	listed int64
	names  []string
}

// examine looks at a node and sets its watches. Where it is expected to be gone,
// it first looks without one: a watch for its return would stay for ever.
func (t *tree) examine(at string, expected bool) (found, error) {
	s := t.store
	for {
		if !expected {
			stat, err := s.exists(t.ctx, at, false)
			if err != nil || stat == nil {
				return found{}, err
			}
		}
		stat, err := s.exists(t.ctx, at, true)
		if err != nil || stat == nil {
			return found{}, err
		}
		f := found{state: stateOf(stat, true), listed: stat.Pzxid}
		type list struct {
			names []string
			stat  *zk.Stat
		}
		l, err := ask(t.ctx, s, read, func(c *zk.Conn) (l list, err error) {
			l.names, l.stat, _, err = c.ChildrenW(at)
			return l, err
		})
		switch {
		case errors.Is(err, zk.ErrNoNode):
			expected = false
			continue
		case errors.Is(err, zk.ErrNoAuth):
			return f, nil
		case err != nil:
			return found{}, err
		}
		slices.Sort(l.names)
		f.listed, f.names = l.stat.Pzxid, l.names
		return f, nil
	}
}

// update takes what a scout saw, and hands over what changed.
func (t *tree) update(at string, n *treeNode, f found, told bool) {
	if told || !n.known || f.state != n.seen {
		t.changed.add(t.store.path(at))
	}
	for _, name := range n.children {
		if _, still := slices.BinarySearch(f.names, name); !still {
			t.gone(at + "/" + name)
		}
	}
	n.known, n.seen, n.listed, n.children = true, f.state, f.listed, f.names
	for _, name := range f.names {
		child := at + "/" + name
		if t.nodes[child] == nil {
			t.know(child)
			t.mark(child)
		}
	}
	if f.state == (state{}) && at != t.root && !n.dirty {
		delete(t.nodes, at)
	}
}

// gone takes note that a node, and with it all below it, is not there. Should it
// have come back, its parent's watch has fired again and finds it.
func (t *tree) gone(at string) {
	for below, n := range t.nodes {
		if below == at || strings.HasPrefix(below, at+"/") {
			if n.known && n.seen != (state{}) {
				t.changed.add(t.store.path(below))
			}
			delete(t.nodes, below)
		}
	}
}
