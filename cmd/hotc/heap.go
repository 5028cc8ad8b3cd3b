package main

import (
	"runtime"
	"runtime/debug"
	"slices"
)

// How garbage is collected. A compilation keeps most of what it makes, so that
// collecting early frees nothing: the first collection waits until the heap has
// startingHeap bytes, which a template of a few hundred servers never reaches (Go's own
// compiler does so too: cmd/compile/internal/base, AdjustStartingHeap). From then on
// there may be garbagePercent percent of what is used as garbage beside it.
const (
	startingHeap   = 44 << 20
	garbagePercent = 200
	// smallestHeap is what Go lets grow without a collection at 100 percent.
	smallestHeap = 4 << 20
	// ballastSize counts as used, and is never touched, so that it takes no memory: linting
	// a thousand files keeps little and makes much garbage, which is to be collected every
	// 24 MB and not every 8.
	ballastSize = 12 << 20 // of the startingHeap
)

// staying are commands that run for days, and keep little of what each look makes.
var staying = []string{"relay", "serve-files"}

// stayingPercent is how much garbage they may have beside what they use.
const stayingPercent = 50

// tuneHeap sets how garbage is collected in a command, as long as what it returns is kept.
func tuneHeap(command string) any {
	if slices.Contains(staying, command) {
		debug.SetGCPercent(stayingPercent)
		return nil
	}
	debug.SetGCPercent(100 * startingHeap / smallestHeap)
	// What nothing refers to is gone with the first collection.
	runtime.AddCleanup(new(*int), func(percent int) { debug.SetGCPercent(percent) }, garbagePercent)
	return make([]byte, ballastSize)
}
