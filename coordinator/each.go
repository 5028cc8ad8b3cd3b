package coordinator

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// inFlight is how many requests of one task are under way at the same time.
const inFlight = 64

// Each calls do for 0 … n-1, many at once, and ends with the first error.
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
