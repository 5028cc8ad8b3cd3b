package order

import (
	"fmt"
	"strings"
)

// A cycle can be as long as the template. Of a long one only the beginning and the end are
// shown.
const (
	maxShown   = 12
	shownFirst = 6
	shownLast  = 3
)

// shows says whether a step of a cycle is shown; for the first hidden one, left is the
// number of hidden ones.
func shows(step, steps int) (told bool, left int) {
	if steps <= maxShown || step < shownFirst || step >= steps-shownLast {
		return true, 0
	}
	if step == shownFirst {
		left = steps - shownFirst - shownLast
	}
	return false, left
}

// spelledOut writes a cycle with arrows.
func spelledOut(names []string) string {
	var out []string
	for i, name := range names {
		told, left := shows(i, len(names))
		switch {
		case told:
			out = append(out, name)
		case left > 0:
			out = append(out, fmt.Sprintf("… (%d more)", left))
		}
	}
	return strings.Join(append(out, names[0]), " → ")
}
