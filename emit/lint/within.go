package lint

import (
	"context"
	"fmt"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
)

// bounds are what looking at a file may take; without any it is as much as it likes.
type bounds struct {
	longest time.Duration
	memory  uint64 // of the whole process: whose it is, nobody knows
}

// untrusted are the bounds for a stranger's file. The compiler has bounds of its own for all
// that grows; these are for what they leave.
var untrusted = bounds{longest: time.Minute, memory: 1 << 30}

const lookEvery = 20 * time.Millisecond

// watch knows which files are looked at now, and since when.
type watch struct {
	mu   sync.Mutex
	busy map[string]time.Time
}

func newWatch() *watch { return &watch{busy: map[string]time.Time{}} }

// on does some work on a file. A panic is an error of it.
func (w *watch) on(name string, work func()) (err error) {
	w.mu.Lock()
	w.busy[name] = time.Now()
	w.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = source.Fail(source.Internal, fmt.Sprintf("%s: internal error in hotc: %s", name, mistake.Text(p)), "please report it, with the template if you can")
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.busy, name)
	}()
	work()
	return nil
}

// within lets work on files run, and gives up when it takes too much. What was given up goes
// on: the command has to end then.
func (w *watch) within(ctx context.Context, b bounds, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		defer mistake.Ends()
		done <- work(ctx)
	}()
	var tick <-chan time.Time
	if b != (bounds{}) {
		t := time.NewTicker(lookEvery)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick:
			if err := w.over(b); err != nil {
				return err
			}
		}
	}
}

// over says what takes too much.
func (w *watch) over(b bounds) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.Sorted(maps.Keys(w.busy))
	for _, name := range names {
		if time.Since(w.busy[name]) > b.longest {
			return source.Fail(source.TooDeep, fmt.Sprintf("%s: hotc gave up after %v", name, b.longest), "")
		}
	}
	if used := heapInUse(); used > b.memory {
		return source.Fail(source.TooDeep, fmt.Sprintf("%s: hotc gave up after using %d MiB", strings.Join(names, ", "), used>>20), "")
	}
	return nil
}

func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
