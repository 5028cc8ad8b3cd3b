package zookeeper

import (
	"context"
	"sync"

	"github.com/hotc-dev/hotc/coordinator"
)

// changedPaths is a queue of paths, each in it once.
type changedPaths struct {
	mu     sync.Mutex
	paths  []coordinator.Path
	queued map[coordinator.Path]struct{}
	wake   chan struct{}
}

func newChangedPaths() *changedPaths {
	return &changedPaths{queued: map[coordinator.Path]struct{}{}, wake: make(chan struct{}, 1)}
}

func (c *changedPaths) add(path coordinator.Path) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.queued[path]; ok {
		return
	}
	c.queued[path] = struct{}{}
	c.paths = append(c.paths, path)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take removes the first path: a change from now on comes again.
func (c *changedPaths) take() (coordinator.Path, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.paths) == 0 {
		return "", false
	}
	path := c.paths[0]
	c.paths = c.paths[1:]
	delete(c.queued, path)
	return path, true
}

// handOver sends the paths until the context ends.
func (c *changedPaths) handOver(ctx context.Context, to chan<- coordinator.Path) {
	for {
		path, ok := c.take()
		if !ok {
			select {
			case <-c.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case to <- path:
		case <-ctx.Done():
			return
		}
	}
}
