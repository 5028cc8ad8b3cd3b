// Package lists has what the standard library's slices lacks.
package lists

// Map is a list of what f makes of each item.
func Map[From, To any](list []From, f func(From) To) []To {
	out := make([]To, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}
