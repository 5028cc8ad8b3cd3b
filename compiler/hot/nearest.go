package hot

import (
	"fmt"
	"slices"
)

// mostCompared limits the letter comparisons for one hint: enough for about a thousand
// names of usual length.
const mostCompared = 100_000

// Nearest is the known name that name most likely misspells: at most a third of it
// differs. It is "" if there is none.
func Nearest(name string, known []string) string {
	best, distance := "", max(1, len(name)/3)+1
	rows, left := &editRows{}, mostCompared
	for _, k := range known {
		if len(name)-len(k) >= distance || len(k)-len(name) >= distance {
			continue
		}
		if left -= len(name) * len(k); left < 0 {
			break
		}
		if d := rows.distance(name, k, distance); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// DidYouMean is a hint at the known name that was probably meant, or otherwise another hint.
func DidYouMean(name string, known []string, otherwise string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// editRows are the last three rows of the distance matrix.
type editRows struct{ row, before, before2 []int }

// distance counts insertions, deletions, substitutions and transpositions, up to a
// bound.
func (e *editRows) distance(a, b string, bound int) int {
	for _, r := range []*[]int{&e.row, &e.before, &e.before2} {
		*r = slices.Grow((*r)[:0], len(b)+1)[:len(b)+1]
	}
	for j := range e.row {
		e.row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		e.before2, e.before, e.row = e.before, e.row, e.before2
		e.row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			e.row[j] = min(e.before[j]+1, e.row[j-1]+1, e.before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				e.row[j] = min(e.row[j], e.before2[j-2]+1)
			}
			least = min(least, e.row[j])
		}
		if least > bound { // a swap reaches back two rows
			return bound
		}
	}
	return e.row[len(b)]
}
