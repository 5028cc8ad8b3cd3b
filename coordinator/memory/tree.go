// Package memory is the coordinator inside one process: a tree of nodes under
// one mutex. `hotc run` and the tests use it; Serve offers it on a unix socket to
// agents that are processes of their own.
//
// It follows ZooKeeper's rules wherever the two could differ, since a plan that was tested here
// must behave the same there: creating and deleting are rights on the parent, WRITE does not imply
// READ, a check in a Commit needs READ, a version starts at 0 and grows by one with every write,
// existence is visible to everyone, and an ephemeral node has no children.
//
// Every change happens with the mutex held, and sends the watchers' tokens before the mutex is
// released. So no change can fall between a read and a watch, and the re-reads of networked back
// ends are not needed.
package memory

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// MaxValue is how many bytes a node holds: as many as with ZooKeeper, so that a value that works in
// `hotc run` works in a deployment.
const MaxValue = 1<<20 - 16<<10

// Tree is a tree of nodes. Its root may be read, and nodes created and deleted
// below it, by anyone, unless it is created with other rights (Create).
type Tree struct {
	mu     sync.Mutex
	root   *node
	nodes  map[store.Path]*node // all but the root
	limits map[store.Path]bound

	watches map[store.Path]map[chan struct{}]struct{}
}

// node is a node; its fields are guarded by Tree.mu.
type node struct {
	data     []byte
	version  store.Version
	written  time.Time
	access   store.Access
	children map[string]struct{}
	owner    *announcement // of an ephemeral node
}

// openRights are everyone's on a root that was not explicitly created.
const openRights = store.MayRead | store.MayCreateChildren | store.MayDeleteChildren

// New returns an empty tree.
func New() *Tree {
	return &Tree{
		root: &node{
			access:   store.Access{May: map[store.Principal]store.Rights{store.Everyone: openRights}},
			children: map[string]struct{}{},
		},
		nodes:   map[store.Path]*node{},
		limits:  map[store.Path]bound{},
		watches: map[store.Path]map[chan struct{}]struct{}{},
	}
}

// find returns the node at a path, nil if there is none.
func (t *Tree) find(path store.Path) *node {
	if path == "" {
		return t.root
	}
	return t.nodes[path]
}

// untouched reports whether neither the root nor anything below it was created.
func (t *Tree) untouched() bool {
	return len(t.nodes) == 0 && t.root.access.May[store.Everyone] == openRights
}

// add puts a node below its parent, which exists.
func (t *Tree) add(path store.Path, n *node) {
	t.nodes[path] = n
	t.find(path.Parent()).children[name(path)] = struct{}{}
	t.changed(path)
}

// remove deletes a node without children.
func (t *Tree) remove(path store.Path) {
	delete(t.nodes, path)
	delete(t.find(path.Parent()).children, name(path))
	t.changed(path)
}

// write replaces a node's data.
func (t *Tree) write(path store.Path, n *node, data []byte) {
	n.data = bytes.Clone(data)
	n.version++
	n.written = time.Now()
	t.changed(path)
}

// name is the last segment of a path.
func name(path store.Path) string {
	return string(path[strings.LastIndexByte(string(path), '/')+1:])
}

var errPath = errors.New("invalid path: segments must be non-empty, neither . nor .., and joined by one slash")

// check refuses paths that Segment and Join cannot produce.
func check(path store.Path) error {
	if path == "" {
		return nil
	}
	for segment := range strings.SplitSeq(string(path), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return errPath
		}
	}
	return nil
}

// tooLarge is an ErrTooLarge with the limit.
func tooLarge(size int) error {
	return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, size, MaxValue)
}
