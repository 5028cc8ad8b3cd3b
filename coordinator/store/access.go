package store

import (
	"maps"
	"slices"
)

// Principals are those of a session, in the order in which it authenticated. Everyone is implied.
type Principals []Principal

// Add adds a principal, unless it is there.
func (who Principals) Add(p Principal) Principals {
	if p == Everyone || slices.Contains(who, p) {
		return who
	}
	return append(who, p)
}

// Owner is who owns the nodes that are created without grants.
func (who Principals) Owner() Principal {
	if len(who) == 0 {
		return Everyone
	}
	return who[0]
}

// Access is who has which rights on a node. Every server of hotc's own decides with it. ZooKeeper
// decides by itself who may do what; how rights change is decided here for it, too.
type Access struct {
	May     map[Principal]Rights
	Changes int // of May, since the node was created
}

// NewAccess is that of a new node. Without grants the node belongs to the first principal of its
// creator.
func NewAccess(creator Principals, grants []Grant) Access {
	a := Access{May: map[Principal]Rights{}}
	for _, g := range grants {
		if g.May != 0 {
			a.May[g.To] |= g.May
		}
	}
	if len(grants) == 0 {
		a.May[creator.Owner()] = MayAll
	}
	return a
}

// Allows reports whether one of the principals has one of the rights.
func (a Access) Allows(who Principals, right Rights) bool {
	return a.May[Everyone]&right != 0 || slices.ContainsFunc(who, func(p Principal) bool { return a.May[p]&right != 0 })
}

// Grants are the rights as Session.Rights shows them to someone.
func (a Access) Grants(who Principals) ([]Grant, error) {
	if !a.Allows(who, MayRead|MayHandOver) {
		return nil, ErrRefused
	}
	var grants []Grant
	for to, may := range a.May {
		if !a.Allows(who, MayHandOver) {
			to = to.named()
		}
		grants = append(grants, Grant{To: to, May: may})
	}
	return SortGrants(grants), nil
}

// Change is the access after a change that someone asks for. That the guard, if there is one,
// has the version that it names is checked by the caller. ErrRefused.
func (a Access) Change(who Principals, c RightsChange) (Access, error) {
	after := Access{May: maps.Clone(a.May), Changes: a.Changes + 1}
	switch {
	case c.From != nil && a.handedOver(who, *c.From, c.Grants[0]):
		return a, nil
	case c.From != nil:
		if !slices.Contains(who, *c.From) || a.May[*c.From]&MayHandOver == 0 || a.Changes > 0 {
			return a, ErrRefused
		}
		delete(after.May, *c.From)
	case !a.Allows(who, MayHandOver):
		return a, ErrRefused
	case c.Guard != nil:
		after.May = NewAccess(who, c.Grants).May
	}
	for _, g := range c.Grants {
		if g.May != 0 {
			after.May[g.To] |= g.May
		}
	}
	if maps.Equal(after.May, a.May) {
		return a, nil
	}
	return after, nil
}

// handedOver reports whether exactly this hand-over was done before, and nothing else. To who may
// not change the rights ZooKeeper shows names only, if to anyone: then the taker's is enough, since
// who sees it has rights by it.
func (a Access) handedOver(who Principals, from Principal, to Grant) bool {
	may := a.May
	if a.hidden() {
		may = map[Principal]Rights{to.To: a.May[to.To.named()], from: a.May[from.named()]}
	}
	return slices.Contains(who, to.To) && may[from] == 0 && a.Changes == 1 && may[to.To] == to.May && to.May&MayRead != 0
}

// hidden reports whether nothing but names is shown.
func (a Access) hidden() bool {
	for p := range a.May {
		if p == Everyone || p.ID != "" {
			return false
		}
	}
	return true
}

// Same reports whether the rights are those of another node, which may be shown without digests to
// who would not have the right to change them.
func (a Access) Same(who Principals, shown Access) bool {
	if !shown.hidden() || a.Allows(who, MayHandOver) {
		return maps.Equal(a.May, shown.May)
	}
	names := map[Principal]Rights{}
	for p, may := range a.May {
		names[p.named()] |= may
	}
	return maps.Equal(names, shown.May)
}
