package main

import (
	"runtime"
	"runtime/debug"
)

// How garbage is collected. A compilation keeps most of what it makes, so that
// collecting early frees nothing: the first collection waits until the heap has
// startingHeap bytes, which a template of a few hundred servers never reaches (Go's own
// compiler does so too: cmd/compile/internal/base, AdjustStartingHeap). From then on
// there may be garbagePercent percent of what is used as garbage beside it.
const (
	startingHeap   = 32 << 20
	garbagePercent = 200
	// smallestHeap is what Go lets grow without a collection at 100 percent.
	smallestHeap = 4 << 20
)

// otherwise are commands that keep little of what they make, with how much garbage they may
// have beside it: the first two run for days, and lint keeps little of each file.
var otherwise = map[string]int{"relay": 50, "serve-files": 50, "lint": 150}

// tuneHeap sets how garbage is collected in a command.
func tuneHeap(command string) {
	if percent := otherwise[command]; percent > 0 {
		debug.SetGCPercent(percent)
		return
	}
	debug.SetGCPercent(100 * startingHeap / smallestHeap)
	// What nothing refers to is gone with the first collection.
	runtime.AddCleanup(new(*int), func(percent int) { debug.SetGCPercent(percent) }, garbagePercent)
}
