// Package racetest says what tests leave out under the race detector, which makes code five to
// twenty times slower.
//
// The detector looks at what goroutines do beside each other. A test that plays hundreds of cases,
// or handles megabytes, shows it nothing with the last case that it did not show with the first
// ones. Such a test says here how much of it the detector needs; `make test` runs it a second time
// without the detector, as a whole. It finds these tests by the calls in their bodies
// (.ci/whole-tests), so helpers do not call this package.
package racetest

import "testing"

// Cases is how many cases a test plays: all, or a few under the race detector.
func Cases(all, few int) int {
	if detector {
		return few
	}
	return all
}

// Skip ends a test that shows the race detector nothing: one goroutine does all of it, or smaller
// tests do the same.
func Skip(t *testing.T) {
	t.Helper()
	if detector {
		t.Skip("this is run without the race detector")
	}
}
