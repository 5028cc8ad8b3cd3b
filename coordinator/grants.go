package coordinator

import (
	"cmp"
	"slices"
	"strings"
)

// String names the rights for people.
func (r Rights) String() string {
	var names []string
	for i, name := range []string{"read", "write", "create below", "delete below", "change rights"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if r == MayAll {
		return "everything"
	}
	return strings.Join(names, ", ")
}

// SortGrants puts grants into one order, those of the same user together.
func SortGrants(grants []Grant) []Grant {
	slices.SortFunc(grants, func(a, b Grant) int {
		return cmp.Or(strings.Compare(a.To.User, b.To.User), strings.Compare(a.To.Password, b.To.Password), cmp.Compare(a.May, b.May))
	})
	return grants
}
