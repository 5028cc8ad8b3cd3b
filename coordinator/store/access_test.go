package store_test

import (
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
)

var (
	operator = store.Credential{User: "operator", Password: "o"}
	alice    = store.Credential{User: "alice", Password: "a"}
	other    = store.Credential{User: "alice", Password: "not hers"}
	bob      = store.Credential{User: "bob", Password: "b"}
	everyone = store.Credential{}
)

func as(creds ...store.Credential) (who store.Principals) {
	for _, c := range creds {
		who = who.Add(c.Principal())
	}
	return who
}

func grant(to store.Credential, may store.Rights) store.Grant {
	return store.Grant{To: to.Principal(), May: may}
}

func TestAllows(t *testing.T) {
	cell := store.NewAccess(as(operator), []store.Grant{grant(operator, store.MayAll), grant(alice, store.MayWrite), grant(bob, store.MayRead), grant(other, 0)})
	public := store.NewAccess(as(operator), []store.Grant{grant(everyone, store.MayRead)})
	own := store.NewAccess(as(alice, bob), nil)
	nobodys := store.NewAccess(as(), nil)
	for _, c := range []struct {
		name   string
		access store.Access
		who    store.Principals
		right  store.Rights
		want   bool
	}{
		{"a writer writes", cell, as(alice), store.MayWrite, true},
		{"and does not read", cell, as(alice), store.MayRead, false},
		{"one of two identities reads", cell, as(alice, bob), store.MayRead, true},
		{"a user of the same name has nothing", cell, as(other), store.MayAll, false},
		{"nobody has nothing", cell, as(), store.MayAll, false},
		{"everyone reads", public, as(), store.MayRead, true},
		{"and does not write", public, as(operator), store.MayWrite, false},
		{"a creator owns", own, as(alice), store.MayHandOver, true},
		{"by the first identity alone", own, as(bob), store.MayAll, false},
		{"a creator without one gives it to everyone", nobodys, as(), store.MayHandOver, true},
	} {
		if got := c.access.Allows(c.who, c.right); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestChange(t *testing.T) {
	pass := store.NewAccess(as(operator), []store.Grant{grant(operator, store.MayAll), grant(alice, store.MayHandOver)})
	toBob := store.RightsChange{From: new(alice.Principal()), Grants: []store.Grant{grant(bob, store.MayRead)}}
	taken, err := pass.Change(as(alice), toBob)
	if err != nil || taken.Allows(as(alice), store.MayAll) || !taken.Allows(as(bob), store.MayRead) || !taken.Allows(as(operator), store.MayRead) {
		t.Fatalf("handed over: %v, %v", taken, err)
	}
	shown, err := pass.Change(as(alice), store.RightsChange{Grants: []store.Grant{grant(bob, store.MayRead)}})
	if err != nil || !shown.Allows(as(bob), store.MayRead) || !shown.Allows(as(alice), store.MayHandOver) {
		t.Fatalf("allowed: %v, %v", shown, err)
	}
	set := store.RightsChange{Guard: &store.Op{}, Grants: []store.Grant{grant(bob, store.MayRead)}}
	for _, c := range []struct {
		name    string
		access  store.Access
		who     store.Principals
		change  store.RightsChange
		refused bool
		changes int
	}{
		{"handed over by another", pass, as(bob), toBob, true, 0},
		{"by a user of the same name", pass, as(other), toBob, true, 0},
		{"a second time", taken, as(alice), toBob, true, 1},
		{"again by who has got it", taken, as(alice, bob), toBob, false, 1},
		{"after somebody could read it", shown, as(alice), toBob, true, 1},
		{"set by the owner", pass, as(operator), set, false, 1},
		{"set by a reader", taken, as(bob), set, true, 1},
		{"allowed what is there", pass, as(operator), store.RightsChange{Grants: []store.Grant{grant(alice, store.MayHandOver)}}, false, 0},
		{"allowed nothing", pass, as(operator), store.RightsChange{Grants: []store.Grant{grant(bob, 0)}}, false, 0},
	} {
		after, err := c.access.Change(c.who, c.change)
		if errors.Is(err, store.ErrRefused) != c.refused || after.Changes != c.changes {
			t.Errorf("%s: %d changes, %v", c.name, after.Changes, err)
		}
	}
	if after, _ := pass.Change(as(operator), set); len(after.May) != 1 || !after.Allows(as(bob), store.MayRead) {
		t.Errorf("set: %v", after)
	}
}

// Only who could change the rights learns more than names.
func TestGrants(t *testing.T) {
	a := store.NewAccess(as(operator), []store.Grant{grant(operator, store.MayAll), grant(alice, store.MayRead)})
	if _, err := a.Grants(as(bob)); !errors.Is(err, store.ErrRefused) {
		t.Error(err)
	}
	for _, c := range []struct {
		who  store.Credential
		told store.Principal
	}{{operator, alice.Principal()}, {alice, store.Principal{Name: alice.User}}} {
		grants, err := a.Grants(as(c.who))
		if err != nil || len(grants) != 2 || grants[0] != (store.Grant{To: c.told, May: store.MayRead}) {
			t.Errorf("as %s: %v, %v", c.who.User, grants, err)
		}
	}
}

// names is an access as ZooKeeper shows it to who may not change it.
func names(a store.Access) store.Access {
	shown := store.Access{May: map[store.Principal]store.Rights{}, Changes: a.Changes}
	for p, may := range a.May {
		if p != store.Everyone {
			p.ID = ""
		}
		shown.May[p] |= may
	}
	return shown
}

func TestHandedOverByNames(t *testing.T) {
	toBob := store.RightsChange{From: new(alice.Principal()), Grants: []store.Grant{grant(bob, store.MayRead)}}
	taken := []store.Grant{grant(operator, store.MayAll), grant(bob, store.MayRead)}
	for _, c := range []struct {
		name    string
		grants  []store.Grant
		who     store.Principals
		changes int
		is      bool
	}{
		{"to bob", taken, as(alice, bob), 1, true},
		{"to bob, as another asks", taken, as(alice), 1, false},
		{"changed since", taken, as(alice, bob), 2, false},
		{"alice can still hand it over", append(taken, grant(alice, store.MayHandOver)), as(alice, bob), 1, false},
		{"everyone sees it, so bob may be another", append(taken, grant(everyone, store.MayRead)), as(alice, bob), 1, false},
		{"with more rights", append(taken, grant(bob, store.MayWrite)), as(alice, bob), 1, false},
	} {
		a := names(store.NewAccess(nil, c.grants))
		a.Changes = c.changes
		if after, err := a.Change(c.who, toBob); (err == nil) != c.is || after.Changes != c.changes {
			t.Errorf("%s: %d changes, %v", c.name, after.Changes, err)
		}
	}
}

func TestSame(t *testing.T) {
	twin := store.Credential{User: operator.User, Password: "not his"}
	wanted := store.NewAccess(nil, []store.Grant{grant(operator, store.MayAll), grant(alice, store.MayRead)})
	twins := store.NewAccess(nil, []store.Grant{grant(twin, store.MayAll), grant(operator, store.MayRead), grant(alice, store.MayRead)})
	for _, c := range []struct {
		name  string
		shown store.Access
		who   store.Credential
		want  bool
	}{
		{"all of it", wanted, operator, true},
		{"another's", twins, operator, false},
		{"names, to a reader", names(wanted), alice, true},
		{"names, to who would see all of it", names(twins), operator, false},
		{"fewer", names(store.NewAccess(nil, []store.Grant{grant(alice, store.MayRead)})), alice, false},
	} {
		if got := wanted.Same(as(c.who), c.shown); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
