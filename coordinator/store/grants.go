package store

import (
	"cmp"
	"context"
	"sort"
	"strings"
)

// String lists the rights for messages.
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

// SortGrants sorts grants, by name first. The code of slices.SortFunc would be 12 kB in the agent.
func SortGrants(grants []Grant) []Grant {
	sort.Slice(grants, func(i, k int) bool {
		a, b := grants[i], grants[k]
		return cmp.Or(strings.Compare(a.To.Name, b.To.Name), strings.Compare(a.To.ID, b.To.ID), cmp.Compare(a.May, b.May)) < 0
	})
	return grants
}

// RightsChange is a change of a node's rights: HandOver, Allow or SetRights.
type RightsChange struct {
	From   *Principal `json:",omitempty"` // hands the node over
	Guard  *Op        `json:",omitempty"` // while this node has this version, Grants replace the rights
	Grants []Grant
}

// HandOver takes a node from one of the session's principals, which may hand it over, and gives
// another one rights on it. It must be the first change of the node's rights since its
// creation, and is refused otherwise: so no other has got rights on it before. Of several
// attempts only one succeeds: the others, and all later ones, get ErrRefused. Repeating it is a
// no-op for a session that is `to` and may read the node: so a lost answer does no harm.
func HandOver(ctx context.Context, s Session, path Path, from Principal, to Grant) error {
	return s.ChangeRights(ctx, path, RightsChange{From: &from, Grants: []Grant{to}})
}

// Allow adds rights on a node to those that exist.
func Allow(ctx context.Context, s Session, path Path, grants ...Grant) error {
	return s.ChangeRights(ctx, path, RightsChange{Grants: grants})
}

// SetRights gives a node these rights and no others, while the node that guard names
// has the version that it names: ErrVersion.
func SetRights(ctx context.Context, s Session, path Path, guard Op, grants ...Grant) error {
	return s.ChangeRights(ctx, path, RightsChange{Guard: &guard, Grants: grants})
}
