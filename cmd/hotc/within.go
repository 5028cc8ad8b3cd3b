package main

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
)

// What looking at one template of a stranger may take. The compiler has bounds of its own
// for all that grows; these are for what they leave.
const (
	untrustedTime   = time.Minute
	untrustedMemory = 1 << 30
	lookEvery       = 20 * time.Millisecond
)

// within does some work on a file, and gives up when it takes too much. What was given up
// goes on: the command has to end then.
func within(ctx context.Context, longest time.Duration, memory uint64, name string, work func()) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- mistaken(p)
			}
		}()
		work()
		done <- nil
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	end := time.NewTimer(longest)
	defer end.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return interrupted()
		case <-end.C:
			return source.Fail(source.TooDeep, fmt.Sprintf("%s: hotc gave up after %v", name, longest), "")
		case <-tick.C:
			if used := heapInUse(); used > memory {
				return source.Fail(source.TooDeep, fmt.Sprintf("%s: hotc gave up when it had taken %d MiB", name, used>>20), "")
			}
		}
	}
}

func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
