// Package store is what the protocol needs of a coordinator: a tree of nodes with rights on each,
// versioned writes, watches and ephemeral presence.
//
// Back ends implement Session, which knows nothing of deployments and cells: those are in
// coordinator/protocol. The requirements on back ends are tests in the folder storetest.
package store

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Path is a node's place below the coordinator's root: segments joined by "/",
// without one at either end; "" is the root. Segment encodes segments.
type Path string

// Version counts the writes of a node, from 0. AnyVersion matches all.
type Version int32

// AnyVersion makes a write or delete unconditional.
const AnyVersion Version = -1

// Credential is a user and its password: with it a session becomes a principal.
type Credential struct{ User, Password string }

// Principal is who may do something with a node. It can be given rights, and be recognised, by who
// does not know its password. The zero value is everyone.
type Principal struct {
	Name string // of the user, up to a colon
	// ID distinguishes users of one name. It is the digest of ZooKeeper's access lists, so that every
	// back end can keep it as it is; "" where it is not shown.
	ID string
}

// Everyone is the principal that every session has.
var Everyone = Principal{}

// Principal is the one that the credential proves; without a user it is everyone.
func (c Credential) Principal() Principal {
	if c.User == "" {
		return Everyone
	}
	name, _, _ := strings.Cut(c.User, ":")
	sum := sha1.Sum([]byte(c.User + ":" + c.Password)) // of 64 random digits: it cannot be guessed or replaced
	return Principal{name, base64.StdEncoding.EncodeToString(sum[:])}
}

// Rights is a set of rights on a node.
type Rights uint8

// The rights. Creating and deleting children are rights on the parent, as in
// ZooKeeper; whether a node exists is visible to everyone.
const (
	MayRead Rights = 1 << iota
	MayWrite
	MayCreateChildren
	MayDeleteChildren
	MayHandOver // allows ChangeRights
	MayAll      = MayRead | MayWrite | MayCreateChildren | MayDeleteChildren | MayHandOver
)

// named is all that is shown of a principal to who may not change the rights.
func (p Principal) named() Principal { return Principal{Name: p.Name} }

// Grant gives a principal rights on a node.
type Grant struct {
	To  Principal
	May Rights
}

// NewNode is a node to be created. An empty list of grants gives the session's first principal all
// rights.
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

// Op is a part of a Commit: a version check or, with Write, a write.
type Op struct {
	Path    Path
	Version Version
	// Write says that Data replaces the node's data; otherwise only the version is checked.
	Write bool
	Data  []byte
}

// Session is one session with a coordinator, as the principals of its credentials.
//
// Every method waits, retrying through disconnection and expiry, until it has an answer or its
// context ends; then it returns the context's error, wrapped with the last failure. A write whose
// answer was lost may return ErrVersion although it took effect: read again to tell.
type Session interface {
	// Create creates nodes, parents before children, in batches. It can be called again after an
	// interruption: a node that exists with the same data and rights is left alone, one with other
	// rights is ErrRights, one with other data ErrExists. The root itself, "", is created open to
	// everyone with the first node below it, unless it was created before with other rights.
	Create(ctx context.Context, nodes []NewNode) error
	// Read returns a node.
	Read(ctx context.Context, path Path) (Node, error)
	// Stat returns whether a node exists, and its version, whatever the rights.
	Stat(ctx context.Context, path Path) (version Version, exists bool, err error)
	// Written is when a node was last written, by the coordinator's own clock, whatever the rights.
	Written(ctx context.Context, path Path) (time.Time, error)
	// Children returns the names of a node's children, sorted.
	Children(ctx context.Context, path Path) ([]string, error)
	// Commit performs all of the operations or none. ErrVersion if a version differs.
	Commit(ctx context.Context, ops ...Op) error
	// Rights returns the grants on a node, sorted, to a session that may read it or hand it over. One
	// that may not hand it over learns only the names.
	Rights(ctx context.Context, path Path) ([]Grant, error)
	// ChangeRights changes a node's rights, for a session that may hand it over.
	// It is a no-op where the rights are already so.
	ChangeRights(ctx context.Context, path Path, change RightsChange) error
	// Watch returns a channel that gets a token whenever the node may have been created, changed or
	// deleted since the last token was taken, the first one at once. No change is missed, even if a
	// session or an answer is lost: the node is polled again within 700 ms, or later where the
	// coordinator is slow or has many clients (docs/coordination.md, "Blocked reads"). The channel
	// is closed when ctx ends.
	Watch(ctx context.Context, path Path) (<-chan struct{}, error)
	// Announce keeps an ephemeral node in place until ctx ends, and creates it again after an
	// expiry. It returns when the node exists for the first time.
	Announce(ctx context.Context, path Path, data []byte) error
	// DeleteTree deletes a node and all below it; a missing node is not an error. What it may not
	// delete stays, with the nodes above: ErrRefused.
	DeleteTree(ctx context.Context, path Path) error
	// Authenticate adds a principal to the session.
	Authenticate(ctx context.Context, c Credential) error
	// MaxValue is the maximum size of a node's data, in bytes.
	MaxValue() int
	// SetLimit bounds a node, whether or not it exists yet, and whoever writes below it; the zero
	// Limit removes the bound. What would exceed it is refused (ErrFull), if the coordinator enforces
	// limits. Of two nested ones only the deeper one counts. The bound belongs to its owner: others
	// cannot change it. ErrRights: it is another's.
	SetLimit(ctx context.Context, path Path, l Limit, owner Principal) error
	// Surroundings are everyone's rights outside of the root: on the coordinator's own root node.
	Surroundings(ctx context.Context) (Rights, error)
	// Connection is the current state of the connection; the channel is closed when it changes.
	Connection() (Connection, <-chan struct{})
	// Among names a node that has a child for each client, this session included: what polls its
	// coordinator polls it less often, the more clients there are.
	Among(path Path)
	Close() error
}

// Connection is the state of a session's connection.
type Connection struct {
	Up      bool
	Trouble error // why it is not up, if known
	// Ended counts the sessions that were given up because every server refused them: the servers'
	// data is older than what the session has seen, so it was restored from a backup, or lost.
	Ended int
}

// What callers decide on.
var (
	ErrNotFound = errors.New("no such node")
	ErrRefused  = errors.New("permission denied")
	ErrVersion  = errors.New("the node has another version")
	ErrExists   = errors.New("the node exists with other data")
	ErrRights   = errors.New("the node does not have the required rights")
	ErrTooLarge = errors.New("larger than the coordinator accepts")
	ErrClosed   = errors.New("the session with the coordinator is closed")
)

// PathError is an error at a path.
type PathError struct {
	Op   string
	Path Path
	Err  error
}

func (e *PathError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }
func (e *PathError) Unwrap() error { return e.Err }

// OpSize is the size of an operation in a request, with names and lengths.
func OpSize(op Op) int { return len(op.Path) + len(op.Data) + 128 }

// Room is how many bytes the writes of one commit may have together.
func Room(s Session) int { return s.MaxValue() - 16<<10 }

// SealedRoom is how many bytes a sealed value may have where an open one may have
// limit: base64, and the box's seal.
func SealedRoom(limit int) int { return limit/4*3 - 64 }
