package memory

import (
	"context"
	"sync"

	"github.com/hotc-dev/hotc/coordinator"
)

// pathQueue holds the paths that have changed and were not handed over yet, each
// once.
type pathQueue struct {
	mu     sync.Mutex
	paths  []coordinator.Path
	queued map[coordinator.Path]struct{}
	wake   chan struct{}
}

func newPathQueue() *pathQueue {
	return &pathQueue{queued: map[coordinator.Path]struct{}{}, wake: make(chan struct{}, 1)}
}

func (q *pathQueue) add(path coordinator.Path) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.queued[path]; ok {
		return
	}
	q.queued[path] = struct{}{}
	q.paths = append(q.paths, path)
	token(q.wake)
}

// take removes the first path. A change from now on adds it again.
func (q *pathQueue) take() (coordinator.Path, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.paths) == 0 {
		return "", false
	}
	path := q.paths[0]
	q.paths = q.paths[1:]
	delete(q.queued, path)
	return path, true
}

// handOver sends the paths until the context ends, or the session does.
func (q *pathQueue) handOver(ctx, alive context.Context, to chan<- coordinator.Path) {
	for {
		path, ok := q.take()
		if !ok {
			select {
			case <-q.wake:
				continue
			case <-ctx.Done():
				return
			case <-alive.Done():
				return
			}
		}
		select {
		case to <- path:
		case <-ctx.Done():
			return
		case <-alive.Done():
			return
		}
	}
}

// token puts a token into a channel of capacity one, unless one is there.
func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
