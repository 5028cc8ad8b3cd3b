package hot

// Nearest is the known name that somebody who wrote name most likely meant: at
// most a third of it is different. It is "" if there is none.
func Nearest(name string, known []string) string {
	best, distance := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := editDistance(name, k, distance); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours, up to a bound.
func editDistance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	var before2 []int
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before2, before, row = before, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before2[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
