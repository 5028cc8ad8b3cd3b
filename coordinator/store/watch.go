package store

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// OnChange calls changed whenever a node may have changed, until ctx ends.
func OnChange(ctx context.Context, s Session, path Path, changed func()) error {
	tokens, err := s.Watch(ctx, path)
	if err != nil {
		return err
	}
	mistake.Go(func() {
		for range tokens {
			changed()
		}
	})
	return nil
}

// WatchEnded is why the channel of a watch was closed.
func WatchEnded(ctx context.Context) error { return cmp.Or(context.Cause(ctx), ErrClosed) }

// WatchAll is Watch for several nodes: the channel gets the path of each that may have changed.
func WatchAll(ctx context.Context, s Session, paths ...Path) (<-chan Path, error) {
	ctx, stop := context.WithCancel(ctx)
	changed := make(chan Path)
	var watching sync.WaitGroup
	for _, path := range paths {
		tokens, err := s.Watch(ctx, path)
		if err != nil {
			stop()
			return nil, err
		}
		mistake.GoIn(&watching, func() {
			for range tokens {
				select {
				case changed <- path:
				case <-ctx.Done():
				}
			}
		})
	}
	mistake.Go(func() {
		watching.Wait()
		stop()
		close(changed)
	})
	return changed, nil
}

// Rest is the pause after a poll that took some time, as that of a large deployment or stack does:
// polls take the servers' time from others.
func Rest(took time.Duration) time.Duration { return 5 * took }

// Wake puts a token into a channel of capacity one, unless one is there.
func Wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
