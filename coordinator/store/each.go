package store

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// inFlight bounds the concurrent requests of one task.
const inFlight = 64

// Each calls do for 0 … n-1 concurrently, and stops at the first error.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for i := range n {
		group.Go(func() error {
			defer mistake.Ends()
			return do(ctx, i)
		})
	}
	return group.Wait()
}

// Those are the elements for which is reports true; it is called concurrently.
func Those[T any](ctx context.Context, all []T, is func(ctx context.Context, one T) (bool, error)) (those []T, err error) {
	found := make([]bool, len(all))
	err = Each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		found[i], err = is(ctx, all[i])
		return err
	})
	for i, one := range all {
		if found[i] {
			those = append(those, one)
		}
	}
	return those, err
}

// Beside runs do in the background until stop is called, which returns when it has ended.
func Beside(ctx context.Context, do func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	mistake.Go(func() {
		defer close(done)
		do(ctx)
	})
	return func() { cancel(); <-done }
}

// Pause waits for a duration, or until the context ends, and returns its cause.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// InTurn runs steps one after the other, and stops at the first error.
func InTurn(ctx context.Context, steps ...func(ctx context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
