package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// After the first collection garbage is collected as in any program.
func TestHeapIsTunedUpToTheFirstCollection(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	percent := func() uint64 {
		read := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(read)
		return read[0].Value.Uint64()
	}
	tuneHeap("compile")
	if got := percent(); got != 800 {
		t.Errorf("the first collection is at %d percent of 4 MB, not at 800", got)
	}
	for percent() != garbagePercent {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}
