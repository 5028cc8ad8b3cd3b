// Package seedtest gives the seeds to tests that generate their cases.
//
// A seed that stays the same finds nothing new after its first run. So each run of the tests takes
// other ones: FIRST is the first of them, a random number unless it is set; `make test` sets it for
// all packages and prints it. Cases are functions of their seeds, so a test that fails prints the
// command that repeats the failing case, and the one that repeats all of its cases.
//
//	SEED=n        that one alone
//	FIRST=n       the first one
//	SEEDS=n       so many
//	DURATION=10m  as many as fit
//
// go test -short takes a twentieth of them, the same at each run, so that what stock Heat says of them
// can be recorded.
package seedtest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Each yields the seeds of a test's cases: those that found a fault once, and then n new ones. Who
// sets SEEDS or DURATION gets only new ones.
func Each(t testing.TB, n int, known ...uint64) iter.Seq[uint64] {
	t.Helper()
	if Chosen() {
		return func(yield func(uint64) bool) { yield(number(t, "SEED")) }
	}
	if os.Getenv("SEEDS")+os.Getenv("DURATION") != "" {
		known = nil
	}
	n, until := extent(t, n)
	from := first(t)
	return func(yield func(uint64) bool) {
		t.Helper()
		begin, played := time.Now(), 0
		for _, seed := range known {
			if !watched(t, seed, yield) {
				return
			}
		}
		for ; played < n && (until.IsZero() || time.Now().Before(until)); played++ {
			if !watched(t, from+uint64(played), yield) {
				return
			}
		}
		t.Logf("%d seeds from %d, in %v", played, from, time.Since(begin).Round(time.Millisecond))
	}
}

// Mixed is Each for whole deployments: a tenth of the n seeds are new ones, and the others the same at
// each run. So a run rarely fails for a fault that its change has not made, and `make sim` looks for
// these.
func Mixed(t testing.TB, n int, known ...uint64) iter.Seq[uint64] {
	t.Helper()
	if testing.Short() {
		return Each(t, n)
	}
	fresh := max(n/10, 1)
	for seed := range uint64(n - fresh) {
		known = append(known[:len(known):len(known)], seed+1)
	}
	return Each(t, fresh, known...)
}

// One is the seed of a test that draws all of its cases from one generator.
func One(t testing.TB) uint64 {
	t.Helper()
	if Chosen() {
		return number(t, "SEED")
	}
	seed := first(t)
	t.Logf("seed %d", seed)
	return seed
}

// Chosen reports whether a single seed is repeated.
func Chosen() bool { return os.Getenv("SEED") != "" }

// Few reports whether a test cannot expect that something happens in one of its cases: a single seed
// is repeated, or few are tried.
func Few() bool { return Chosen() || testing.Short() }

// Cases is the number of cases to run: all, or few with -short, as `make test` has them under the race
// detector, which makes code five to twenty times slower and to which the last of hundreds of cases shows
// nothing that the first ones did not.
func Cases(all, few int) int {
	if testing.Short() {
		return few
	}
	return all
}

// SkipShort skips a test with -short: it takes long, and has a single goroutine or smaller tests that do
// the same.
func SkipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs only without -short")
	}
}

// Replay is the command that repeats a test with one seed.
func Replay(t testing.TB, seed uint64) string { return command(t, "SEED", seed) }

// watched yields a seed, and says how to repeat it if it fails.
func watched(t testing.TB, seed uint64, yield func(uint64) bool) bool {
	t.Helper()
	failed := t.Failed()
	defer func() { // a Fatal ends the goroutine
		t.Helper()
		if !failed && t.Failed() {
			t.Logf("play it again: %s", Replay(t, seed))
		}
	}()
	return yield(seed)
}

// extent is how many seeds are played, and until when, if that has an end.
func extent(t testing.TB, usual int) (n int, until time.Time) {
	t.Helper()
	if text := os.Getenv("DURATION"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("DURATION=%s: %v", text, err)
		}
		usual, until = 1<<62, time.Now().Add(d)
	}
	switch {
	case os.Getenv("SEEDS") != "":
		usual = int(number(t, "SEEDS"))
	case testing.Short():
		usual = max(usual/20, 1)
	}
	return usual, until
}

// drawn is the first seed of a process whose environment sets none.
var drawn = sync.OnceValue(func() uint64 { return 1 + rand.Uint64N(1e9) })

// first is the first seed, which a test that fails prints.
func first(t testing.TB) uint64 {
	t.Helper()
	from := drawn()
	switch {
	case os.Getenv("FIRST") != "":
		from = number(t, "FIRST")
	case testing.Short():
		from = 1
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("all seeds of this run again: %s", command(t, "FIRST", from))
		}
	})
	return from
}

func number(t testing.TB, variable string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv(variable), 10, 63)
	if err != nil {
		t.Fatalf("%s=%s: %v", variable, os.Getenv(variable), err)
	}
	return n
}

func command(t testing.TB, variable string, n uint64) string {
	test, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("%s=%d go test ./%s -run '^%s$' -count=1 -v", variable, n, folder, test)
}

// folder is that of the package under test, in which go test starts it, as seen from the module's.
var folder = func() string {
	here, err := os.Getwd()
	if err != nil {
		return "..."
	}
	for root := here; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			below, _ := filepath.Rel(root, here)
			return filepath.ToSlash(below)
		}
	}
	return "..."
}()
