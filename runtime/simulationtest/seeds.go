package simulationtest

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// Seeds calls play for as many seeds as the environment requests: SEED=n for that one, SEEDS=n for
// the first n, DURATION=10m for as many as fit; usual by default.
func Seeds(t *testing.T, usual int, play func(t *testing.T, seed uint64)) {
	t.Helper()
	if one := os.Getenv("SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatalf("SEED=%s: %v", one, err)
		}
		play(t, seed)
		return
	}
	var until time.Time
	if text := os.Getenv("DURATION"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("DURATION=%s: %v", text, err)
		}
		usual, until = 1<<62, time.Now().Add(d)
	}
	if text := os.Getenv("SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SEEDS=%s: %v", text, err)
		}
		usual = n
	}
	begin, n := time.Now(), 0
	for ; n < usual && (until.IsZero() || time.Now().Before(until)); n++ {
		play(t, uint64(n+1))
	}
	t.Logf("%d seeds, %.0f a second", n, float64(n)/time.Since(begin).Seconds())
}

// Replay is the command that replays a seed.
func Replay(folder, test string, seed uint64) string {
	return fmt.Sprintf("SEED=%d go test ./%s -run '^%s$' -count=1 -v", seed, folder, test)
}
