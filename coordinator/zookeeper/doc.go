// Package zookeeper implements store.Session on ZooKeeper, with the library
// github.com/go-zookeeper/zk. It knows nothing of cells: it gives nodes, rights, versions and
// watches the semantics that store.Session requires, through all failures of connections and
// sessions.
//
// # Requests
//
// A request waits until there is a session, is sent, and is repeated when the connection breaks
// (request.go). A read without an answer is also repeated concurrently, by the keep-alive, since
// Debian's ZooKeeper 3.8.0 can lose a request's wake-up until other traffic of the session arrives
// (ZOOKEEPER-4537). A write is not: that would be a second write. The keep-alive's own checks
// release it.
//
// # Watches
//
// A watch fires once and must then be set again, and what happens in between is not reported. So
// the order is: set the watch, then read. Doing so before the reader gets its token would cost
// every blocked read a second round trip. Here the token is sent at once, and the reader's own Read
// sets the watch: a read of a node that is watched in this session, but has no watch set at the
// server, is sent as a read with watch (watch.go). A blocked read costs the server one request per
// wake-up. If a token was taken and no read follows, the keep-alive sets the watch, and then sends
// another token for what may have happened before.
//
// So a Read or Stat of a watched node counts as a read by its watcher. If a node has several
// watchers in one session, the first read after an event gives them all another token, since it is
// unknown whose read it was.
//
// The last known state of a node is the ids of the transactions that created and last wrote it;
// whenever a later answer shows another state than the watchers were told of, they get a token.
// That makes the rest simple: a reconnection, an expiry or the keep-alive just reads the node's
// state.
//
// # The keep-alive
//
// While anything in a session waits, it checks one of the watched nodes every 600 to 700 ms, in
// turn (keep_alive.go), except for those that their readers have just read; after 300 to 700 ms if
// a request has had no answer for as long. It does not wait for answers. It checks less often if
// the server's answers are slow (backoff.go), and among many other clients (others.go): otherwise
// the checks of five thousand sessions would be most of a server's load.
//
// # Sessions
//
// The library reconnects by itself, rejoins the session or finds it expired and starts another, and
// repeats the credentials. Our host provider decides when it dials (hosts.go): at once where
// another server may answer, spread a little so that a thousand agents do not overflow a listen
// queue of 50, and with a growing pause where none does. It sets its watches again after a
// reconnection, but only logs a failure of that, and its read of the last transaction's id races
// with incoming answers; so we check all nodes ourselves.
package zookeeper
