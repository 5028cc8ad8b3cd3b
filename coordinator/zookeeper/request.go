package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator"
)

const (
	// repeatAfter is how long a read waits for its answer before it is made again
	// beside; the next time it waits twice as long, so that a slow server is not
	// drowned.
	repeatAfter = 400 * time.Millisecond
	// mostRepeats bounds the requests that are under way for one read.
	mostRepeats = 5
	// retryPause is the longest pause after a request that the connection lost.
	retryPause = 50 * time.Millisecond
)

// kind says whether a request may be made twice.
type kind bool

const (
	read  kind = true
	write kind = false
)

type answer[T any] struct {
	value T
	err   error
}

// ask makes a request until it is answered, through disconnections and
// expiries, or the context ends.
func ask[T any](ctx context.Context, s *store, k kind, call func(*zk.Conn) (T, error)) (T, error) {
	s.pending.Add(1)
	defer s.pending.Add(-1)
	for {
		if err := s.link.await(ctx); err != nil {
			var none T
			return none, err
		}
		value, err := once(ctx, s, k, call)
		if !lost(err) {
			return value, err
		}
		pause := time.NewTimer(rand.N(retryPause))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return value, s.link.gaveUp(ctx.Err(), err)
		case <-s.link.alive.Done():
			pause.Stop()
			return value, coordinator.ErrClosed
		}
	}
}

// once makes a request over one connection. A call that is given up stays with the
// library until its answer or the connection's end.
func once[T any](ctx context.Context, s *store, k kind, call func(*zk.Conn) (T, error)) (T, error) {
	answers := make(chan answer[T], mostRepeats)
	begin := func() {
		value, err := call(s.link.conn)
		answers <- answer[T]{value, err}
	}
	go begin()
	made, open := 1, 1
	wait := repeatAfter
	var repeat <-chan time.Time // of a write, never
	if k == read {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		repeat = timer.C
	}
	var none T
	for {
		select {
		case a := <-answers:
			if open--; lost(a.err) && open > 0 {
				continue
			}
			return a.value, a.err
		case <-repeat:
			if made < mostRepeats {
				go begin()
				made, open = made+1, open+1
				wait *= 2
				repeat = time.After(wait)
			}
		case <-ctx.Done():
			return none, s.link.gaveUp(ctx.Err(), nil)
		case <-s.link.alive.Done():
			return none, coordinator.ErrClosed
		}
	}
}

// answers are the errors with which a server answers a request: everything else
// is the connection's.
var answers = []error{
	zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNodeExists, zk.ErrNotEmpty,
	zk.ErrNoChildrenForEphemerals, zk.ErrInvalidACL, zk.ErrBadArguments, zk.ErrAPIError,
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrShortBuffer, zk.ErrAuthFailed,
}

// Codes of org.apache.zookeeper.KeeperException that the library has no error for
// and that say nothing of the request: connection loss and operation time-out.
const connectionLoss, operationTimeout = "unknown error: -4", "unknown error: -7"

// lost reports whether an error is the connection's, so that asking again helps.
func lost(err error) bool {
	if err == nil || errors.Is(err, coordinator.ErrClosed) ||
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

// fail gives an error its place, in the words of coordinator.
func fail(op string, path coordinator.Path, err error) error {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		err = coordinator.ErrNotFound
	case errors.Is(err, zk.ErrNoAuth):
		err = coordinator.ErrRefused
	case errors.Is(err, zk.ErrBadVersion):
		err = coordinator.ErrVersion
	case errors.Is(err, zk.ErrNodeExists):
		err = coordinator.ErrExists
	case errors.Is(err, zk.ErrShortBuffer):
		err = coordinator.ErrTooLarge
	}
	return &coordinator.PathError{Op: op, Path: path, Err: err}
}

func tooLarge(size int) error {
	return fmt.Errorf("%w: %d bytes, at most %d", coordinator.ErrTooLarge, size, MaxValue)
}
