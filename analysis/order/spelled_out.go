package order

import (
	"fmt"
	"strings"
)

// A cycle can be as long as the template. Of a long one only the beginning and the end are
// shown.
const (
	mostTold  = 12
	toldFirst = 6
	toldLast  = 3
)

// tells says whether a step of a cycle is shown; for the first hidden one, left is the
// number of hidden ones.
func tells(step, steps int) (told bool, left int) {
	if steps <= mostTold || step < toldFirst || step >= steps-toldLast {
		return true, 0
	}
	if step == toldFirst {
		left = steps - toldFirst - toldLast
	}
	return false, left
}

// spelledOut writes a cycle with arrows.
func spelledOut(names []string) string {
	var out []string
	for i, name := range names {
		told, left := tells(i, len(names))
		switch {
		case told:
			out = append(out, name)
		case left > 0:
			out = append(out, fmt.Sprintf("… (%d more)", left))
		}
	}
	return strings.Join(append(out, names[0]), " → ")
}
