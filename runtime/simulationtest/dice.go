package simulationtest

import (
	"fmt"
	"hash/fnv"
	"time"
)

// dice answer every question of chance from the seed and the question, never from how often or in
// which order was asked: so a fault hits the same operation of the same agent in every replay,
// whatever else runs at that moment.
type dice uint64

func (d dice) roll(about ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, uint64(d))
	for _, x := range about {
		fmt.Fprintf(h, "\x00%v", x)
	}
	// The hash is weak in its low bits: mix them (the finalizer of splitmix64).
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d dice) chance(p float64, about ...any) bool {
	return float64(d.roll(about...)>>11)/(1<<53) < p
}

// between is a duration within bounds. Its nanoseconds keep two operations from happening in the
// same instant, whose order the scheduler would decide.
func (d dice) between(from, to time.Duration, about ...any) time.Duration {
	return from + time.Duration(d.roll(about...)%uint64(to-from))
}
