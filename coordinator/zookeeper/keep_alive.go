package zookeeper

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

const (
	// shortestBeat is the period of the keep-alive, plus up to a third, or more if answers are slow
	// (docs/coordination.md, "Blocked reads"). Each time it checks for requests that have waited
	// for an answer as long.
	shortestBeat = 300 * time.Millisecond
	// shortestRest is the time between two checks of watched nodes when no request waits: thousands
	// of sessions that wait for hours are most of their server's load. A node that its reader has
	// read in this time is skipped.
	shortestRest = 2 * shortestBeat
	// longestRest is the same if answers are slow.
	longestRest = mostStretch * shortestBeat
)

// mostLooks bounds the keep-alive's unanswered checks.
const mostLooks = 4

// target is a node that the keep-alive may check.
type target struct {
	entry *entry
	count bool // its children are the other clients
	at    string
}

// keepAlive checks the watched nodes, in turn, until the store is closed. It releases requests
// whose wake-up the server lost, and finds changes that no event reported. It also repeats reads
// that have no answer, and sets watches again whose readers do not: doing that here, and not with a
// timer for each, costs nothing for reads that succeed.
func (s *client) keepAlive() {
	beat := time.NewTimer(0)
	defer beat.Stop()
	looks := make(chan struct{}, mostLooks)
	wait, looked := shortestBeat, time.Time{}
	for {
		beat.Reset(wait + rand.N(shortestBeat/3))
		wait = s.backoff.stretch(shortestBeat)
		select {
		case <-beat.C:
		case <-s.link.alive.Done():
			return
		}
		if !s.link.isUp() {
			continue
		}
		s.link.watchAnchor()
		for _, again := range s.reads.late(s.backoff.stretch(repeatAfter)) {
			s.do(again)
		}
		s.watches.rearmIdle()
		next, soon := s.choose(time.Since(looked))
		if wait = min(wait, soon); next.at == "" {
			continue
		}
		looked = time.Now()
		select {
		case looks <- struct{}{}:
			mistake.Go(func() {
				defer func() { <-looks }()
				s.probeNext(next)
			})
		default:
		}
	}
}

// choose returns the node to check, given the time since the last check. If it is too early there
// is none, and soon is when there may be.
func (s *client) choose(rested time.Duration) (next target, soon time.Duration) {
	late := s.asking.longerThan(shortestBeat)
	rest := max(s.others.rest(), min(s.backoff.stretch(shortestRest), longestRest))
	if rested < rest && !late {
		return target{}, rest - rested
	}
	next, fresh := s.watches.next(rest)
	switch {
	case next.at == "" && late:
		next.at = s.root
	case next.at == "":
		return target{}, rest - fresh
	default:
		if at := s.others.due(); at != "" { // the skipped node gets another turn
			next = target{at: at, count: true}
		}
	}
	return next, rest
}

// next returns the node whose turn it is; a round covers what is watched when it begins. If all
// were read within rest, it returns none, and how long ago the first of them was.
func (w *watches) next(rest time.Duration) (next target, fresh time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.turn) == 0 {
		for _, e := range w.entries {
			w.turn = append(w.turn, target{entry: e, at: e.at})
		}
	}
	for len(w.turn) > 0 {
		next, w.turn = w.turn[0], w.turn[1:]
		age := time.Since(next.entry.looked)
		if age >= rest {
			return next, 0
		}
		fresh = max(fresh, age)
	}
	return target{}, fresh
}

// probeNext checks a node once, over the current connection.
func (s *client) probeNext(next target) {
	w := s.watches
	var before uint64
	if next.entry != nil {
		w.mu.Lock()
		before = next.entry.events
		w.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(s.link.alive, time.Minute)
	defer cancel()
	a := s.once(ctx, write, func(c *zk.Conn) (any, error) {
		exists, stat, err := c.Exists(next.at)
		if err != nil || !exists {
			return nil, err
		}
		return stat, nil
	})
	stat, _ := a.value.(*zk.Stat)
	if a.err == nil && next.count && stat != nil {
		s.others.count(int(stat.NumChildren))
	}
	if a.err != nil || next.entry == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e, st := next.entry, stateOf(stat, stat != nil)
	e.looked = time.Now()
	if e.events != before || e.known == nil {
		return // a reader or rearm is about to read it
	}
	if *e.known != st {
		e.armed = false // a change without its event
	}
	e.see(st)
	w.rearmNow(e)
}
