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

// bounds are what looking at a file may take; 0 is as much as it likes.
type bounds struct {
	longest time.Duration
	memory  uint64 // of the whole process: whose it is, nobody knows
}

// untrusted are the bounds for a stranger's file. The compiler has bounds of its own for all
// that grows; these are for what they leave.
var untrusted = bounds{longest: time.Minute, memory: 1 << 30}

const lookEvery = 20 * time.Millisecond

// watch knows which files are looked at now.
type watch struct {
	mu   sync.Mutex
	busy map[string]bool
}

func (w *watch) note(name string, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.busy, name); busy {
		w.busy[name] = true
	}
}

func (w *watch) names() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(w.busy)), ", ")
}

// within does some work on a file, and gives up when it takes too much. What was given up
// goes on: the command has to end then.
func (w *watch) within(ctx context.Context, b bounds, name string, work func()) error {
	w.note(name, true)
	defer w.note(name, false)
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- source.Fail(source.Internal, fmt.Sprintf("%s: hotc made a mistake: %s", name, mistake.Text(p)), "please report it, with the template if you can")
			}
		}()
		work()
		done <- nil
	}()
	var tick, end <-chan time.Time
	if b.memory > 0 {
		t := time.NewTicker(lookEvery)
		defer t.Stop()
		tick = t.C
	}
	if b.longest > 0 {
		t := time.NewTimer(b.longest)
		defer t.Stop()
		end = t.C
	}
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return source.Fail(source.TooDeep, fmt.Sprintf("%s: hotc gave up after %v", name, b.longest), "")
		case <-tick:
			if used := heapInUse(); used > b.memory {
				return source.Fail(source.TooDeep, fmt.Sprintf("%s: hotc gave up when it had taken %d MiB", w.names(), used>>20), "")
			}
		}
	}
}

func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
