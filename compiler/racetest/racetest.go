// Package racetest shortens tests under the race detector, which makes code five to twenty times
// slower.
//
// The detector observes concurrent goroutines. In a test with hundreds of cases, or megabytes of
// data, the last case shows it nothing that the first ones did not. Such a test declares here how
// much of it the detector needs; `make test` runs it again in full without the detector. It finds
// these tests by the calls in their bodies (.ci/whole-tests), so helpers must not call this package.
package racetest

import "testing"

// Cases is the number of cases to run: all, or few under the race detector.
func Cases(all, few int) int {
	if detector {
		return few
	}
	return all
}

// Skip skips a test under the race detector that would show it nothing: it has a single
// goroutine, or smaller tests do the same.
func Skip(t *testing.T) {
	t.Helper()
	if detector {
		t.Skip("runs only without the race detector")
	}
}
