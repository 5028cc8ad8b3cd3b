package zookeeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// rearmAfter is how long a new watcher has to take its first token and to read, and so to set the
// watch, before that is done for it. After an event the keep-alive does so: if many readers share a
// busy machine, doing it too early would double the server's work at the worst moment.
const rearmAfter = 50 * time.Millisecond

// state identifies a node's content: the transactions that created and last wrote it. state{} means
// that there is no node.
type state struct{ created, written int64 }

func stateOf(stat *zk.Stat, exists bool) state {
	if !exists {
		return state{}
	}
	return state{stat.Czxid, stat.Mzxid}
}

// watches are all watches of a session. The mutex is held only briefly, and never during a request:
// the library's goroutine takes it.
type watches struct {
	store *client

	mu      sync.Mutex
	entries map[string]*entry
	turn    []target // what the keep-alive checks next
	closed  bool
}

// entry is one watched node.
//
// While armed, the server has a watch that was set no later than known was read. known is a state
// that every watcher knows or has a token for; it is nil from an event on, which gave them all a
// token, until the node was read again. No event reports what happened between a watcher's taking
// its token and that first read. So a first read gives all watchers another token, unless it is a
// Read or Stat and there is only one watcher, whose read it then is. If the node is read in another
// state than known, all get a token too.
type entry struct {
	at       string
	watchers map[chan struct{}]func() bool // with the stop function of its context's AfterFunc
	armed    bool
	known    *state
	events   uint64 // counts events that may have disarmed it
	looks    int    // requests in flight that set the watch
	looked   time.Time
	fired    time.Time
	rearming bool
}

// tell sends every watcher a token, unless it has one.
func (e *entry) tell() {
	for tokens := range e.watchers {
		store.Wake(tokens)
	}
}

func (s *client) Watch(ctx context.Context, path store.Path) (<-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("watch", path, err)
	}
	w, at := s.watches, s.at(path)
	tokens := make(chan struct{}, 1)
	tokens <- struct{}{}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fail("watch", path, store.ErrClosed)
	}
	e := w.entries[at]
	if e == nil {
		e = &entry{at: at, watchers: map[chan struct{}]func() bool{}}
		w.entries[at] = e
		time.AfterFunc(rearmAfter, func() {
			defer mistake.Ends()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.rearmNow(e)
		})
	}
	// No goroutine waits for that: a relay watches three nodes of each of a thousand servers.
	e.watchers[tokens] = context.AfterFunc(ctx, func() {
		defer mistake.Ends()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.leave(e, tokens)
	})
	return tokens, nil
}

// leave ends a watcher, unless it has already ended. The mutex is held.
func (w *watches) leave(e *entry, tokens chan struct{}) {
	stays, there := e.watchers[tokens]
	if !there {
		return
	}
	stays()
	close(tokens)
	if delete(e.watchers, tokens); len(e.watchers) == 0 {
		delete(w.entries, e.at)
	}
}

// close ends all watchers, and admits no new ones.
func (w *watches) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, e := range w.entries {
		for tokens := range e.watchers {
			w.leave(e, tokens)
		}
	}
}

// heard handles an event of a node; it runs in the library's goroutine.
func (w *watches) heard(event zk.Event) {
	switch event.Type {
	case zk.EventNodeCreated, zk.EventNodeDataChanged, zk.EventNodeDeleted:
	default:
		return // watches that ended with a session: see joined
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.entries[event.Path]; e != nil {
		e.events++
		e.armed, e.known, e.fired = false, nil, time.Now()
		e.tell()
	}
}

// joined checks all watched nodes on a new connection; it runs in the library's goroutine. In a
// fresh session no watch is set, and all watchers get a token as well. In the same session the
// library sets the watches again that were set: nodes are read without one, since the library keeps
// a channel for each watch that is set on an unchanged node.
func (w *watches) joined(fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.entries {
		switch {
		case fresh:
			e.events++
			e.armed, e.known = false, nil
			e.tell()
			w.rearmNow(e)
		case e.armed:
			mistake.Go(func() {
				if w.store.link.await(w.store.link.alive) == nil {
					w.store.probeNext(target{entry: e, at: e.at})
				}
			})
		default:
			w.rearmNow(e)
		}
	}
}

// look is one read of a node that may be watched.
type look struct {
	watches *watches
	entry   *entry // nil if the node is not watched
	events  uint64 // when it began
	arms    bool   // it has to set the watch
}

// look begins a read.
func (w *watches) look(at string) look {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[at]
	if e == nil || e.armed {
		return look{}
	}
	e.looks++
	return look{w, e, e.events, true}
}

// done takes the read's answer: the state, if there is no error.
func (l look) done(st state, err error) {
	if l.entry == nil {
		return
	}
	l.watches.mu.Lock()
	defer l.watches.mu.Unlock()
	l.entry.looks--
	l.entry.looked = time.Now()
	if l.entry.known == nil && len(l.entry.watchers) > 1 {
		l.entry.tell()
	}
	switch {
	case err == nil:
		l.seen(st)
	case errors.Is(err, zk.ErrNoNode):
		// A read with watch sets none on a missing node.
		l.entry.see(state{})
	}
	l.watches.rearmNow(l.entry) // unless it is set
}

// seen takes a state that was read with a watch set. The mutex is held.
func (l look) seen(st state) {
	if l.entry.see(st); l.entry.events == l.events {
		l.entry.armed = true
	}
}

// see takes a state that was read. The mutex is held.
func (e *entry) see(st state) {
	if e.known != nil && *e.known != st {
		e.tell()
	}
	e.known = &st
}

// rearmIdle sets the watches that no reader has set soon after an event.
func (w *watches) rearmIdle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.entries {
		if !e.armed && time.Since(e.fired) > rearmAfter {
			w.rearmNow(e)
		}
	}
}

// rearmNow sets the watch in the background, unless a read is about to. The mutex is held.
func (w *watches) rearmNow(e *entry) {
	if e.armed || e.rearming || e.looks > 0 || len(e.watchers) == 0 {
		return
	}
	e.rearming = true
	mistake.Go(func() { w.rearm(e) })
}

// rearm repeats setting the watch until it is set. It asks for the node's existence, which needs no
// right.
func (w *watches) rearm(e *entry) {
	for {
		w.mu.Lock()
		if e.armed || len(e.watchers) == 0 {
			e.rearming = false
			w.mu.Unlock()
			return
		}
		l := look{w, e, e.events, true}
		w.mu.Unlock()
		stat, err := w.store.exists(w.store.link.alive, e.at, true)
		w.mu.Lock()
		if err != nil { // the store was closed, or the path is not one
			e.rearming = false
			w.mu.Unlock()
			return
		}
		if e.known == nil {
			e.tell()
		}
		l.seen(stateOf(stat, stat != nil))
		w.mu.Unlock()
	}
}
