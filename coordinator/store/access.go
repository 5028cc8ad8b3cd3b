package store

import (
	"crypto/sha256"
	"maps"
	"slices"
)

// Identity is what a server keeps of a credential: the user and a digest of the password.
type Identity struct {
	User   string
	Digest [sha256.Size]byte
}

// Identities are those of a session, in the order in which it authenticated. Anyone is implied.
type Identities []Identity

// Add adds an identity, unless it is there.
func (who Identities) Add(id Identity) Identities {
	if id == Anyone || slices.Contains(who, id) {
		return who
	}
	return append(who, id)
}

// owner is who owns the nodes that are created without grants.
func (who Identities) owner() Identity {
	if len(who) == 0 {
		return Anyone
	}
	return who[0]
}

// Anyone is the identity that every session has.
var Anyone = Identity{}

// Identity is that of a credential; a credential without a user is everyone's.
func (c Credential) Identity() Identity {
	if c.User == "" {
		return Anyone
	}
	return Identity{c.User, sha256.Sum256([]byte(c.User + ":" + c.Password))}
}

// Access is who has which rights on a node. Every server of hotc's own decides with it; ZooKeeper
// decides by itself.
type Access struct {
	May     map[Identity]Rights
	Changes int // of May, since the node was created
}

// NewAccess is that of a new node. Without grants the node belongs to the first identity of its
// creator.
func NewAccess(creator Identities, grants []Grant) Access {
	a := Access{May: map[Identity]Rights{}}
	for _, g := range grants {
		if g.May != 0 {
			a.May[g.To.Identity()] |= g.May
		}
	}
	if len(grants) == 0 {
		a.May[creator.owner()] = MayAll
	}
	return a
}

// Allows reports whether one of the identities has one of the rights.
func (a Access) Allows(who Identities, right Rights) bool {
	return a.May[Anyone]&right != 0 || slices.ContainsFunc(who, func(id Identity) bool { return a.May[id]&right != 0 })
}

// Grants are the rights as Session.Rights shows them to someone.
func (a Access) Grants(who Identities, known []Credential) ([]Grant, error) {
	if !a.Allows(who, MayRead|MayHandOver) {
		return nil, ErrRefused
	}
	credentials := map[Identity]Credential{}
	if a.Allows(who, MayHandOver) {
		for _, c := range known {
			credentials[c.Identity()] = c
		}
	}
	var grants []Grant
	for id, may := range a.May {
		to, is := credentials[id]
		if !is {
			to = Credential{User: id.User}
		}
		grants = append(grants, Grant{To: to, May: may})
	}
	return SortGrants(grants), nil
}

// Change is the access after a change that someone asks for. That the guard, if there is one,
// has the version that it names is checked by the caller. ErrRefused.
func (a Access) Change(who Identities, c RightsChange) (Access, error) {
	after := Access{May: maps.Clone(a.May), Changes: a.Changes + 1}
	switch {
	case c.From != nil && a.handedOver(who, *c.From, c.Grants[0]):
		return a, nil
	case c.From != nil:
		giver := c.From.Identity()
		if !slices.Contains(who, giver) || a.May[giver]&MayHandOver == 0 || a.Changes > 0 {
			return a, ErrRefused
		}
		delete(after.May, giver)
	case !a.Allows(who, MayHandOver):
		return a, ErrRefused
	case c.Guard != nil:
		after.May = NewAccess(who, c.Grants).May
	}
	for _, g := range c.Grants {
		if g.May != 0 {
			after.May[g.To.Identity()] |= g.May
		}
	}
	if maps.Equal(after.May, a.May) {
		return a, nil
	}
	return after, nil
}

// handedOver reports whether exactly this hand-over was done before, and nothing else.
func (a Access) handedOver(who Identities, from Credential, to Grant) bool {
	taker := to.To.Identity()
	_, still := a.May[from.Identity()]
	return slices.Contains(who, taker) && !still && a.Changes == 1 && a.May[taker] == to.May && to.May&MayRead != 0
}
