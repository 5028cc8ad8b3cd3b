// Package lists has what the standard library's slices lacks.
package lists

import "strings"

// Map applies f to each item.
func Map[From, To any](list []From, f func(From) To) []To {
	out := make([]To, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// Flat applies f to each item and concatenates the results.
func Flat[From, To any](list []From, f func(From) []To) (all []To) {
	for _, x := range list {
		all = append(all, f(x)...)
	}
	return all
}

// Only keeps the items for which the predicate holds.
func Only[T any](list []T, is func(T) bool) (kept []T) {
	for _, x := range list {
		if is(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// Find is the first item for which the predicate holds; nil if there is none.
func Find[T any](list []*T, is func(*T) bool) *T {
	for _, x := range list {
		if is(x) {
			return x
		}
	}
	return nil
}

// Set has the items of a list.
func Set[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}

// Join joins names with commas.
func Join[T ~string](names []T) string {
	return strings.Join(Map(names, func(name T) string { return string(name) }), ", ")
}
