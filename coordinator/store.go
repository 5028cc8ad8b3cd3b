// Package coordinator is the place where agents meet: a tree of nodes with
// rights on each, versioned writes, watches and ephemeral presence.
//
// Back ends implement Store, a small interface that says nothing of cells. Here is
// also what both sides of the protocol on top of it share: paths, records, tokens,
// and who signs what. What operators do is in coordinator/deploy, what a server's agent
// does in coordinator/member. What must hold of every back end is written
// down as tests in the folder storetest. Paths, records and rights are
// described in docs/coordination.md.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Path is a node's place below the coordinator's root: segments joined by "/",
// without one at either end; "" is the root. Segments are made by Segment.
type Path string

// Version counts the writes of a node, from 0. AnyVersion matches all.
type Version int32

// AnyVersion makes a write or delete unconditional.
const AnyVersion Version = -1

// Credential is a user and its password. A back end keeps only a digest of it.
type Credential struct{ User, Password string }

// Rights is a set of what a user may do with a node.
type Rights uint8

// The rights. Creating and deleting children are rights on the parent, as in
// ZooKeeper; whether a node exists may be asked by everyone.
const (
	MayRead Rights = 1 << iota
	MayWrite
	MayCreateChildren
	MayDeleteChildren
	MayHandOver // allows ChangeRights
	MayAll      = MayRead | MayWrite | MayCreateChildren | MayDeleteChildren | MayHandOver
)

// Grant gives one user rights on a node. The user without a name is everybody.
type Grant struct {
	To  Credential
	May Rights
}

// NewNode is a node to be created. An empty list of grants gives the store's own
// first credential all rights.
type NewNode struct {
	Path   Path
	Data   []byte
	Grants []Grant
}

// Node is a node as it was read.
type Node struct {
	Data    []byte
	Version Version
}

// Op is a part of a Commit: a check of a version or, with Data, a write.
type Op struct {
	Path    Path
	Version Version
	// Write says that Data replaces the node's data; else only the version is checked.
	Write bool
	Data  []byte
}

// Store is one session with a coordinator, under the identities of the
// credentials it was opened with.
//
// Every method waits, retrying through disconnection and expiry, until it has
// an answer or its context ends; then it returns the context's error, wrapped
// with the last thing that went wrong. A write whose answer was lost may return
// ErrVersion although it took effect: read again to tell.
type Store interface {
	// Create makes nodes, parents before children, in batches. It can be called
	// again after an interruption: a node that exists with the same data and rights is
	// left alone, one with other rights is ErrRights, one with other data ErrExists.
	// The root itself, "", which the first node below it makes open for everybody, can be
	// made before that with other rights.
	Create(ctx context.Context, nodes []NewNode) error
	// Read returns a node.
	Read(ctx context.Context, path Path) (Node, error)
	// Stat says whether a node exists and its version, whatever the rights.
	Stat(ctx context.Context, path Path) (version Version, exists bool, err error)
	// Children returns the names of a node's children, sorted.
	Children(ctx context.Context, path Path) ([]string, error)
	// Commit does all of the operations or none. ErrVersion if a version differs.
	Commit(ctx context.Context, ops ...Op) error
	// Rights returns who may do what with a node, to a session that may read it or hand
	// it over. A holder is one of the known credentials, or has no password here: a store
	// keeps none. To who may not hand the node over no holder is known.
	Rights(ctx context.Context, path Path, known ...Credential) ([]Grant, error)
	// ChangeRights changes a node's rights, for a session that may hand it over.
	// What is so already is nothing.
	ChangeRights(ctx context.Context, path Path, change RightsChange) error
	// Watch returns a channel that gets a token whenever the node may have been
	// created, changed or deleted since the last token was taken, the first one at
	// once. A change is never missed, not by a lost session nor by a lost answer:
	// at most 700 ms pass before the node is looked at again, or more where the
	// coordinator is slow or has many others (docs/coordination.md, "Blocked reads"). The channel is
	// closed when ctx ends.
	Watch(ctx context.Context, path Path) (<-chan struct{}, error)
	// Announce keeps an ephemeral node in place until ctx ends, made again after an
	// expiry. It returns when the node stands for the first time.
	Announce(ctx context.Context, path Path, data []byte) error
	// DeleteTree deletes a node and all below it; none is not an error. What it may not
	// delete stays, with the nodes above: ErrRefused.
	DeleteTree(ctx context.Context, path Path) error
	// Authenticate adds an identity to the session.
	Authenticate(ctx context.Context, c Credential) error
	// MaxValue is how many bytes a node can hold.
	MaxValue() int
	Close() error
}

// Connected is a Store that knows how it stands with its coordinator.
type Connected interface {
	// Connection is how it stands now; the channel is closed when that changes.
	Connection() (Connection, <-chan struct{})
}

// Connection is how a session stands with its coordinator.
type Connection struct {
	Up      bool
	Trouble error // why it is not up, if that is known
	// Ended counts the sessions that were ended since every server refused them: what these
	// hold is older than what the session has seen. It was put back, or lost.
	Ended int
}

// Clock is a Store that knows by the coordinator's own clock when a node was
// written last.
type Clock interface {
	Written(ctx context.Context, path Path) (time.Time, error)
}

// Crowd is a Store that looks at its coordinator the less often by itself, the more
// others wait there and look.
type Crowd interface {
	// Among names a node that has a child for each of them, this session's own included.
	Among(path Path)
}

// What callers decide on.
var (
	ErrNotFound = errors.New("no such node")
	ErrRefused  = errors.New("no right to do this")
	ErrVersion  = errors.New("the node has another version")
	ErrExists   = errors.New("the node exists with other data")
	ErrRights   = errors.New("the node has other rights than it must have")
	ErrTooLarge = errors.New("larger than the coordinator takes")
	ErrClosed   = errors.New("the session with the coordinator was closed")
)

// PathError is an error at a path.
type PathError struct {
	Op   string
	Path Path
	Err  error
}

func (e *PathError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }
func (e *PathError) Unwrap() error { return e.Err }

// OpSize is what an operation takes in a request, names and lengths included.
func OpSize(op Op) int { return len(op.Path) + len(op.Data) + 128 }

// Room is how many bytes the writes of one commit may have.
func Room(s Store) int { return s.MaxValue() - 16<<10 }

// SealedRoom is how many bytes a sealed value may have where an open one may have
// limit: base64, and the box's seal.
func SealedRoom(limit int) int { return limit/4*3 - 64 }
