// Package storetest says in tests what must hold of every back end of
// store.Session. A back end runs them all:
//
//	storetest.Run(t, open)
//
// where open starts a session with one coordinator, the same at every call of one
// test, and any of them may leave nodes there: each test works below a root of
// its own.
//
// The tests wait for what must happen and set no time for it, except one so long that only what
// never happens exceeds it.
package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// Open starts a session that the test closes, or that is closed when it ends.
type Open func(t testing.TB, creds ...store.Credential) store.Session

// never is longer than anything takes on a busy machine.
const never = 2 * time.Minute

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*bench)
	}{
		{"create and read", createAndRead},
		{"create in any order", createInAnyOrder},
		{"create again", createAgain},
		{"create what is too large", createTooLarge},
		{"create many", createMany},
		{"big values", bigValues},
		{"commit", commit},
		{"commit all or nothing", commitAtomic},
		{"commit without loss", commitWithoutLoss},
		{"rights of reading and writing", rightsReadWrite},
		{"rights on the parent", rightsParent},
		{"rights of an added identity", rightsAuthenticate},
		{"rights of a wrong password", rightsWrongPassword},
		{"rights of users with colons", rightsColon},
		{"rights handed over", rightsHandOver},
		{"rights replaced", rightsReplaced},
		{"rights handed over first", rightsHandOverFirst},
		{"rights handed over once", rightsHandOverOnce},
		{"rights added", rightsAdded},
		{"rights told", rightsTold},
		{"rights of what stands", rightsStanding},
		{"limits", limits},
		{"when it was written", written},
		{"watch", watch},
		{"watch without rights", watchWithoutRights},
		{"watch by several", watchSeveral},
		{"watch misses nothing", watchMissesNothing},
		{"watch several nodes", watchAll},
		{"announce", announce},
		{"announce over another", announceOver},
		{"announce after a deletion", announceAgain},
		{"announce ends with the session", announceClose},
		{"delete a tree", deleteTree},
		{"delete a tree with closed nodes", deleteClosedTree},
		{"paths", paths},
		{"contexts", contexts},
		{"close", closeEnds},
		{"no goroutine stays", noLeak},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), never)
			defer cancel()
			root := store.Path(store.Segment("conformance-" + rand.Text()[:8]))
			b := &bench{T: t, ctx: ctx, start: open, root: root}
			b.operator = b.open(operator)
			b.create(node(root, ""))
			test.run(b)
		})
	}
}

var (
	operator = store.Credential{User: "operator", Password: "0p"}
	alice    = store.Credential{User: "server-alice", Password: "a1"}
	bob      = store.Credential{User: "server-bob", Password: "b0b"}
)

// bench is what a test works with.
type bench struct {
	*testing.T
	ctx      context.Context
	start    Open
	root     store.Path
	operator store.Session // owns the test's nodes
}

func (b *bench) open(creds ...store.Credential) store.Session {
	b.Helper()
	s := b.start(b.T, creds...)
	b.Cleanup(func() { s.Close() })
	return s
}

// at is a path below the test's root.
func (b *bench) at(path string) store.Path { return b.root + store.Path("/"+path) }

func node(path store.Path, data string, grants ...store.Grant) store.NewNode {
	return store.NewNode{Path: path, Data: []byte(data), Grants: grants}
}

func grant(to store.Credential, may store.Rights) store.Grant {
	return store.Grant{To: to.Principal(), May: may}
}

func (b *bench) create(nodes ...store.NewNode) {
	b.Helper()
	b.ok(b.operator.Create(b.ctx, nodes))
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// is checks a sentinel, and that the error says where.
func (b *bench) is(err, want error) {
	b.Helper()
	var at *store.PathError
	switch {
	case !errors.Is(err, want):
		b.Fatalf("got error %v, want %v", err, want)
	case !errors.As(err, &at):
		b.Fatalf("error %v names no path", err)
	}
}

// refused checks that a path is named too.
func (b *bench) failsAt(err, want error, path store.Path) {
	b.Helper()
	b.is(err, want)
	var at *store.PathError
	if errors.As(err, &at); at.Path != path {
		b.Fatalf("error %q is at %q, want %q", err, at.Path, path)
	}
}

func (b *bench) read(s store.Session, path store.Path) store.Node {
	b.Helper()
	n, err := s.Read(b.ctx, path)
	b.ok(err)
	return n
}

func (b *bench) holds(s store.Session, path store.Path, data string, version store.Version) {
	b.Helper()
	n := b.read(s, path)
	if !bytes.Equal(n.Data, []byte(data)) || n.Version != version {
		b.Fatalf("%s holds %.60q in version %d, want %.60q in %d", path, n.Data, n.Version, data, version)
	}
}

func (b *bench) exists(s store.Session, path store.Path) bool {
	b.Helper()
	_, exists, err := s.Stat(b.ctx, path)
	b.ok(err)
	return exists
}

func write(path store.Path, version store.Version, data string) store.Op {
	return store.Op{Path: path, Version: version, Write: true, Data: []byte(data)}
}

func check(path store.Path, version store.Version) store.Op {
	return store.Op{Path: path, Version: version}
}

func (b *bench) set(s store.Session, path store.Path, data string) {
	b.Helper()
	b.ok(s.Commit(b.ctx, write(path, store.AnyVersion, data)))
}

// token waits for a token.
func (b *bench) token(tokens <-chan struct{}) {
	b.Helper()
	select {
	case _, ok := <-tokens:
		if !ok {
			b.Fatal("the channel of tokens was closed")
		}
	case <-b.ctx.Done():
		b.Fatal("no token came")
	}
}

// until takes tokens until something holds.
func (b *bench) until(tokens <-chan struct{}, holds func() bool) {
	b.Helper()
	for {
		b.token(tokens)
		if holds() {
			return
		}
	}
}

// eventually waits for what no watch reports.
func (b *bench) eventually(what string, holds func() bool) {
	b.Helper()
	for !holds() {
		if b.ctx.Err() != nil {
			b.Fatalf("it never came about: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// drained waits until a channel is closed.
func drained[T any](b *bench, c <-chan T) {
	b.Helper()
	for {
		select {
		case _, ok := <-c:
			if !ok {
				return
			}
		case <-b.ctx.Done():
			b.Fatal("the channel was not closed")
		}
	}
}

// stacks are the stack traces of all goroutines.
func stacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
