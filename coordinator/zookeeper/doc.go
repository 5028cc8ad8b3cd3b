// Package zookeeper is the coordinator in ZooKeeper, on the library
// github.com/go-zookeeper/zk. It knows nothing of cells: it gives nodes, rights,
// versions and watches the meaning that coordinator.Store asks for, through
// everything that happens to connections and sessions.
//
// # Requests
//
// A request waits until there is a session, goes out, and is made again when the
// connection breaks (request.go). A read without an answer is also made again
// beside the first one, by the keep-alive, since Debian's ZooKeeper 3.8.0 can lose a
// request's wake-up until other traffic of the session arrives (ZOOKEEPER-4537). A
// write is not: that would be a second write. The keep-alive's own looks free it.
//
// # Watches
//
// A watch fires once and must then be set again, and what happens in between is
// reported by nobody. So the order is: set the watch, then read. Doing so before
// the reader gets its token would cost every blocked read a second round trip.
// Here the token comes at once, and the reader's own Read sets the watch: a read
// of a node that is watched in this session, but has no watch standing at the
// server, is sent as a read with watch (watch.go). A blocked read costs the server
// one request a wake. Where a token was taken and nobody reads, the keep-alive sets the
// watch, and then gives another token for what may have happened before.
//
// So a Read or Stat of a watched node counts as the look of its watcher. Where a
// node has several watchers in one session, the first look after an event gives
// them all another token, since it cannot be known whose look it was.
//
// What a node looked like is remembered as its state, the ids of the transactions
// that created and last wrote it; whenever any later answer shows another state
// than the watchers were told of, they get a token. That makes the rest simple: a
// reconnection, an expiry or the keep-alive just looks at the node.
//
// # The keep-alive
//
// While anything of a session waits, it looks at one of the watched nodes every
// 600 to 700 ms, in turn (keep_alive.go), but for those that their readers have just
// looked at; after 300 to 700 ms when a request has had no answer for as long. It waits
// for no answer. Of a server whose answers are slow it asks less often (backoff.go), and
// among many others who look as well (others.go): else the looks of five thousand
// sessions would be most of what keeps a server busy.
//
// # Sessions
//
// The library connects again by itself, joins the session or finds it expired and
// starts another, and repeats the credentials. Our host provider decides when it
// dials (hosts.go): at once where another server may answer, spread a little so
// that a thousand agents do not overflow a listen queue of 50, and with a pause
// that grows where none does. It sets its watches again after a reconnection, but
// only logs it when that fails, and reads the last transaction's id for it in a
// race with answers that come in; so we do look at everything ourselves.
package zookeeper
