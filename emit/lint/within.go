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

// bounds limit the resources for linting a file; the zero value sets no limits.
type bounds struct {
	longest time.Duration
	memory  uint64 // of the whole process: it cannot be attributed to a file
}

// untrusted are the bounds for untrusted files. The compiler itself bounds everything that
// grows; these are for the rest.
var untrusted = bounds{longest: time.Minute, memory: 1 << 30}

const lookEvery = 20 * time.Millisecond

// watch records which files are being linted, and since when.
type watch struct {
	mu   sync.Mutex
	busy map[string]time.Time
}

func newWatch() *watch { return &watch{busy: map[string]time.Time{}} }

// on runs work on a file and returns a panic as its error.
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

// within runs work on files, and gives up when it exceeds its bounds. Abandoned work continues:
// the command has to exit then.
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

// over reports which bound is exceeded.
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
