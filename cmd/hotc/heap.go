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

// tuneHeap sets how garbage is collected.
func tuneHeap() {
	debug.SetGCPercent(100 * startingHeap / smallestHeap)
	// What nothing refers to is gone with the first collection.
	runtime.AddCleanup(new(*int), func(percent int) { debug.SetGCPercent(percent) }, garbagePercent)
}
