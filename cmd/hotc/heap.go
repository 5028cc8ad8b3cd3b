package main

import (
	"runtime"
	"runtime/debug"
)

// A compilation keeps most of what it allocates, so that collecting early frees nothing: the
// first collection waits until the heap has startingHeap bytes, which a template of a few
// hundred servers never reaches (Go's own compiler does the same: cmd/compile/internal/base,
// AdjustStartingHeap). From then on garbagePercent is the GC percentage.
const (
	startingHeap   = 32 << 20
	garbagePercent = 200
	// smallestHeap is what Go lets grow without a collection at 100 percent.
	smallestHeap = 4 << 20
)

// otherwise are the GC percentages of commands that keep little of what they allocate: the first
// two run for days, and lint keeps little of each file.
var otherwise = map[string]int{"relay": 50, "serve-files": 50, "lint": 150}

// tuneHeap configures the garbage collector for a command.
func tuneHeap(command string) {
	if percent := otherwise[command]; percent > 0 {
		debug.SetGCPercent(percent)
		return
	}
	debug.SetGCPercent(100 * startingHeap / smallestHeap)
	// The unreferenced object's cleanup runs with the first collection.
	runtime.AddCleanup(new(*int), func(percent int) { debug.SetGCPercent(percent) }, garbagePercent)
}
