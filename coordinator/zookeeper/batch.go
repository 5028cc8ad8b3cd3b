package zookeeper

import (
	"cmp"
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

const (
	// Limits of a Multi in operations, and in bytes unless a single one is larger. Larger ones gain
	// nothing and delay others' requests.
	mostOperations = 128
	mostBytes      = 512 << 10
	// mostBatches is how many are in flight: enough to keep the server's disk and the network busy
	// at the same time.
	mostBatches = 4
	// mostScouts is how many nodes are read concurrently.
	mostScouts = 16
)

// batches cuts n operations into runs [from, to), given their sizes in bytes.
func batches(n int, size func(i int) int) [][2]int {
	var cuts [][2]int
	from, bytes := 0, 0
	for i := range n {
		s := size(i)
		if i > from && (i-from == mostOperations || bytes+s > mostBytes) {
			cuts = append(cuts, [2]int{from, i})
			from, bytes = i, 0
		}
		bytes += s
	}
	if from < n {
		cuts = append(cuts, [2]int{from, n})
	}
	return cuts
}

// inOrder runs n batches, several at a time. A batch begins when those up to and including after(i)
// are done (-1: none). It returns the first error of the earliest batch; after an error no new
// batch begins.
func inOrder(ctx context.Context, n int, after func(i int) int, do func(ctx context.Context, i int) error) error {
	for from, to := 0, 0; from < n; from = to {
		for to = from + 1; to < n && after(to) < from; {
			to++
		}
		var failed atomic.Bool
		errs := make([]error, to-from)
		several(mostBatches, len(errs), func(i int) {
			if failed.Load() {
				return
			}
			if errs[i] = do(ctx, from+i); errs[i] != nil {
				failed.Store(true)
			}
		})
		if err := cmp.Or(errs...); err != nil {
			return err
		}
	}
	return nil
}

// several calls do for 0 … n-1, atATime of them concurrently.
func several(atATime, n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(atATime)
	for i := range n {
		group.Go(func() error {
			defer mistake.Ends()
			do(i)
			return nil
		})
	}
	_ = group.Wait()
}
