package zookeeper

import (
	"context"
	"sync"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

const (
	// A Multi has at most so many operations, and so many bytes unless a single one
	// is larger. Larger ones gain nothing and hold up others' requests.
	mostOperations = 128
	mostBytes      = 512 << 10
	// mostBatches is how many are under way: enough to keep the server's disk and
	// the network busy at the same time.
	mostBatches = 4
	// mostScouts is how many nodes are looked at at the same time.
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

// inOrder does n batches, several at a time. A batch begins when those up to and
// including after(i) are done (-1: none). It returns the first error of the
// earliest batch; after an error nothing new begins.
func inOrder(ctx context.Context, n int, after func(i int) int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		running sync.WaitGroup
		slots   = make(chan struct{}, mostBatches)
		done    = make([]chan struct{}, n)
		errs    = make([]error, n)
		failed  = make(chan struct{})
		once    sync.Once
	)
	stopped := func(c <-chan struct{}) bool {
		select {
		case <-failed:
			return true
		case <-c:
			return false
		}
	}
	finished := 0 // all batches before this one are done
start:
	for i := range n {
		for ; finished <= after(i); finished++ {
			if stopped(done[finished]) {
				break start
			}
		}
		select {
		case slots <- struct{}{}:
		case <-failed:
			break start
		}
		done[i] = make(chan struct{})
		running.Go(func() {
			defer mistake.Ends()
			if errs[i] = do(ctx, i); errs[i] != nil {
				once.Do(func() { close(failed) })
			} else {
				close(done[i])
			}
			<-slots
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// scout calls look for 0 … n-1, several at a time.
func scout(n int, look func(i int)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, mostScouts)
	for i := range n {
		slots <- struct{}{}
		running.Go(func() {
			defer mistake.Ends()
			defer func() { <-slots }()
			look(i)
		})
	}
	running.Wait()
}
