package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

const (
	// repeatAfter is how long a read waits for its answer before it is sent again concurrently, or
	// longer if answers are slow (see backoff); the next time it waits twice as long, so that a
	// slow server is not overloaded.
	repeatAfter = 400 * time.Millisecond
	// mostRepeats bounds the requests in flight for one read.
	mostRepeats = 5
	// retryPause is the longest pause after a request was lost with its connection.
	retryPause = 50 * time.Millisecond
)

// kind says whether a request may be sent twice.
type kind bool

const (
	read  kind = true
	write kind = false
)

type answer struct {
	value any
	err   error
}

// ask repeats a request until it is answered, through disconnections and expiries, or the context
// ends. Only this wrapper is generic: the agent is copied to every server.
func ask[T any](ctx context.Context, s *client, k kind, call func(*zk.Conn) (T, error)) (T, error) {
	a := s.ask(ctx, k, func(c *zk.Conn) (any, error) { return call(c) })
	value, _ := a.value.(T)
	return value, a.err
}

func (s *client) ask(ctx context.Context, k kind, call func(*zk.Conn) (any, error)) answer {
	s.asking.begin()
	defer s.asking.end()
	for {
		if err := s.link.await(ctx); err != nil {
			return answer{nil, err}
		}
		a := s.once(ctx, k, call)
		if !lost(a.err) {
			return a
		}
		pause := time.NewTimer(rand.N(retryPause))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return answer{nil, s.link.gaveUp(ctx.Err(), a.err)}
		case <-s.link.alive.Done():
			pause.Stop()
			return answer{nil, store.ErrClosed}
		}
	}
}

// once sends a request over one connection. An abandoned call stays in the library until its answer
// or the connection's end.
func (s *client) once(ctx context.Context, k kind, call func(*zk.Conn) (any, error)) answer {
	answers := make(chan answer, mostRepeats)
	begin := func() {
		asked := s.backoff.ask()
		value, err := call(s.link.conn)
		if !lost(err) {
			s.backoff.answered(asked)
		}
		answers <- answer{value, err}
	}
	s.do(begin)
	made := func() int { return 1 }
	if k == read {
		r := s.reads.add(begin)
		made = func() int { return s.reads.remove(r) }
	}
	select {
	case a := <-answers:
		// A broken connection ends them all; otherwise another one may be answered.
		for left := made() - 1; left > 0 && lost(a.err); left-- {
			a = <-answers
		}
		return a
	case <-ctx.Done():
		made()
		return answer{nil, s.link.gaveUp(ctx.Err(), nil)}
	}
}

// asking tracks requests that wait for an answer.
type asking struct {
	mu       sync.Mutex
	requests int
	since    time.Time // when there were last none
}

func (a *asking) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests == 0 {
		a.since = time.Now()
	}
	a.requests++
}

func (a *asking) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests--
}

// longerThan reports whether requests have been waiting all this time.
func (a *asking) longerThan(wait time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests > 0 && time.Since(a.since) > wait
}

// reads are the reads in flight. The keep-alive repeats those without an answer.
type reads struct {
	mu   sync.Mutex
	open map[*openRead]struct{}
}

type openRead struct {
	begin func()
	since time.Time
	made  int
}

func (r *reads) add(begin func()) *openRead {
	o := &openRead{begin, time.Now(), 1}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[o] = struct{}{}
	return o
}

// remove ends a read and returns how often it was sent.
func (r *reads) remove(o *openRead) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, o)
	return o.made
}

// late returns the reads to be repeated, the first time after a while.
func (r *reads) late(after time.Duration) []func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var again []func()
	for o := range r.open {
		if o.made < mostRepeats && time.Since(o.since) > after<<(o.made-1) {
			o.made++
			again = append(again, o.begin)
		}
	}
	return again
}

// do runs a call to the library in a goroutine: a call cannot be cancelled. One goroutine waits for
// the next call, since a new one would have to grow its stack.
func (s *client) do(call func()) {
	select {
	case s.calls <- call:
		return
	default:
	}
	mistake.Go(func() {
		for call != nil {
			call()
			if !s.idle.CompareAndSwap(false, true) {
				return
			}
			select {
			case call = <-s.calls:
			case <-s.link.alive.Done():
				call = nil
			}
			s.idle.Store(false)
		}
	})
}

// answers are the errors with which a server answers a request: all others are the connection's.
var answers = []error{
	zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNodeExists, zk.ErrNotEmpty,
	zk.ErrNoChildrenForEphemerals, zk.ErrInvalidACL, zk.ErrBadArguments, zk.ErrAPIError,
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrShortBuffer, zk.ErrAuthFailed,
}

// Codes of org.apache.zookeeper.KeeperException that the library does not know and that are not
// about the request: connection loss and operation timeout.
const connectionLoss, operationTimeout = "unknown error: -4", "unknown error: -7"

// quotaExceeded is another such code, from ZooKeeper 3.7 on.
const quotaExceeded = "unknown error: -125"

// lost reports whether an error is the connection's, so that retrying helps.
func lost(err error) bool {
	if err == nil || errors.Is(err, store.ErrClosed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, known := range answers {
		if errors.Is(err, known) {
			return false
		}
	}
	text := err.Error()
	return text == connectionLoss || text == operationTimeout || !strings.HasPrefix(text, "unknown error: ")
}

// fail translates an error into coordinator's, with its path.
func fail(op string, path store.Path, err error) error {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		err = store.ErrNotFound
	case errors.Is(err, zk.ErrNoAuth):
		err = store.ErrRefused
	case errors.Is(err, zk.ErrBadVersion):
		err = store.ErrVersion
	case errors.Is(err, zk.ErrNodeExists):
		err = store.ErrExists
	case errors.Is(err, zk.ErrShortBuffer):
		err = store.ErrTooLarge
	case err != nil && err.Error() == quotaExceeded:
		err = store.ErrFull
	}
	return &store.PathError{Op: op, Path: path, Err: err}
}

func tooLarge(size int) error {
	return fmt.Errorf("%w: %d bytes, at most %d", store.ErrTooLarge, size, MaxValue)
}
