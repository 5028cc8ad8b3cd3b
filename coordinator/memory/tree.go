// Package memory is the coordinator inside one process: a tree of nodes under
// one mutex. `hotc run` and the tests use it; Serve offers it on a unix socket to
// agents that are processes of their own.
//
// It follows ZooKeeper's rules wherever the two could differ, since a plan that
// was tried here must behave the same there: creating and deleting are rights on
// the parent, WRITE does not imply READ, a check in a Commit needs READ, a version
// starts at 0 and grows by one with every write, existence may be asked by
// everyone, and an ephemeral node has no children.
//
// Every change happens with the mutex held, and puts the tokens of those who
// watch into their channels before the mutex is released. So no change can fall
// between a read and a watch, and nothing here needs the re-reads of back
// ends that lie behind a network.
package memory

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/coordinator"
)

// MaxValue is how many bytes a node holds: as many as with ZooKeeper, so that a
// value which passes `hotc run` passes a deployment.
const MaxValue = 1<<20 - 16<<10

// Tree is a tree of nodes. Its root may be read, and nodes created and deleted
// below it, by anyone, unless it is made with other rights (Create).
type Tree struct {
	mu    sync.Mutex
	root  *node
	nodes map[coordinator.Path]*node // all but the root

	watches map[coordinator.Path]map[chan struct{}]struct{}
}

// node is a node; its fields are guarded by Tree.mu.
type node struct {
	data     []byte
	version  coordinator.Version
	may      map[identity]coordinator.Rights
	changes  int // of may
	children map[string]struct{}
	owner    *announcement // of an ephemeral node
}

// identity is a user and a digest of its password: passwords are not kept.
type identity struct {
	user   string
	digest [sha256.Size]byte
}

// anyone is the identity that every session has.
var anyone = identity{}

func identify(c coordinator.Credential) identity {
	if c.User == "" {
		return anyone
	}
	return identity{c.User, sha256.Sum256([]byte(c.User + ":" + c.Password))}
}

// openRights are everybody's on a root that nobody has made.
const openRights = coordinator.MayRead | coordinator.MayCreateChildren | coordinator.MayDeleteChildren

// New returns an empty tree.
func New() *Tree {
	return &Tree{
		root: &node{
			may:      map[identity]coordinator.Rights{anyone: openRights},
			children: map[string]struct{}{},
		},
		nodes:   map[coordinator.Path]*node{},
		watches: map[coordinator.Path]map[chan struct{}]struct{}{},
	}
}

// find returns the node at a path, nil where there is none.
func (t *Tree) find(path coordinator.Path) *node {
	if path == "" {
		return t.root
	}
	return t.nodes[path]
}

// untouched says that nobody has made the root, or anything below it.
func (t *Tree) untouched() bool {
	return len(t.nodes) == 0 && t.root.may[anyone] == openRights
}

// add puts a node below its parent, which exists.
func (t *Tree) add(path coordinator.Path, n *node) {
	t.nodes[path] = n
	t.find(path.Parent()).children[name(path)] = struct{}{}
	t.changed(path)
}

// remove takes a node without children away.
func (t *Tree) remove(path coordinator.Path) {
	delete(t.nodes, path)
	delete(t.find(path.Parent()).children, name(path))
	t.changed(path)
}

// write replaces a node's data.
func (t *Tree) write(path coordinator.Path, n *node, data []byte) {
	n.data = bytes.Clone(data)
	n.version++
	t.changed(path)
}

// name is the last segment of a path.
func name(path coordinator.Path) string {
	return string(path[strings.LastIndexByte(string(path), '/')+1:])
}

var errPath = errors.New("not a path: segments are non-empty, neither . nor .., and joined by one slash")

// check refuses what Segment and Join cannot have made.
func check(path coordinator.Path) error {
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

// tooLarge says what the limit is.
func tooLarge(size int) error {
	return fmt.Errorf("%w: %d bytes, at most %d", coordinator.ErrTooLarge, size, MaxValue)
}
