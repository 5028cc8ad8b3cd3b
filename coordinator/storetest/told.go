package storetest

import (
	"reflect"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// Those who may hand a node over are told by name who may do what, as far as they know them; others
// by their users, and what everyone may do.
func rightsTold(b *bench) {
	other := store.Credential{User: bob.User, Password: "0ther"}
	everybody := store.Credential{}
	b.create(
		node(b.at("cell"), "x", grant(operator, store.MayAll), grant(alice, store.MayRead), grant(alice, store.MayWrite),
			grant(bob, store.MayRead), grant(everybody, store.MayDeleteChildren)),
		node(b.at("pass"), "x", grant(operator, store.MayAll), grant(alice, store.MayHandOver)),
		node(b.at("open"), "x", grant(everybody, store.MayAll)),
		node(b.at("own"), "x"))
	b.told(b.operator, "cell", []store.Credential{operator, alice, other},
		grant(everybody, store.MayDeleteChildren), grant(operator, store.MayAll),
		grant(alice, store.MayRead|store.MayWrite), grant(store.Credential{User: bob.User}, store.MayRead))
	b.told(b.open(alice), "pass", []store.Credential{alice},
		grant(store.Credential{User: operator.User}, store.MayAll), grant(alice, store.MayHandOver))
	b.told(b.open(), "open", nil, grant(everybody, store.MayAll))
	b.told(b.operator, "own", []store.Credential{operator}, grant(operator, store.MayAll))
	// A mere reader is told users, and not whether they are those it knows.
	b.told(b.open(bob), "cell", []store.Credential{bob, alice, operator},
		grant(everybody, store.MayDeleteChildren), grant(store.Credential{User: operator.User}, store.MayAll),
		grant(store.Credential{User: alice.User}, store.MayRead|store.MayWrite), grant(store.Credential{User: bob.User}, store.MayRead))
	_, err := b.open().Rights(b.ctx, b.at("cell"))
	b.failsAt(err, store.ErrRefused, b.at("cell"))
	_, err = b.operator.Rights(b.ctx, b.at("none"))
	b.failsAt(err, store.ErrNotFound, b.at("none"))
	b.ok(store.Allow(b.ctx, b.operator, b.at("own"), grant(bob, store.MayRead)))
	b.told(b.operator, "own", []store.Credential{operator, bob}, grant(operator, store.MayAll), grant(bob, store.MayRead))
}

func (b *bench) told(s store.Session, path string, known []store.Credential, want ...store.Grant) {
	b.Helper()
	got, err := s.Rights(b.ctx, b.at(path), known...)
	b.ok(err)
	if !reflect.DeepEqual(got, want) && !reflect.DeepEqual(got, store.SortGrants(want)) {
		b.Errorf("%s: the rights are %v, not %v", path, got, want)
	}
}

// A node that exists with other rights than it would be created with counts as another user's:
// Create fails.
func rightsStanding(b *bench) {
	stranger := b.open()
	own, everybody := grant(operator, store.MayAll), grant(store.Credential{}, store.MayAll)
	b.create(
		node(b.at("open"), "x", everybody),
		node(b.at("more"), "x", own, grant(alice, store.MayRead)),
		node(b.at("less"), "x", own),
		node(b.at("right"), "x", own, grant(alice, store.MayRead|store.MayWrite)))
	b.ok(stranger.Create(b.ctx, []store.NewNode{node(b.at("open/below"), "x")}))
	for path, want := range map[string]store.NewNode{
		"open":       node(b.at("open"), "x", own),
		"open/below": node(b.at("open/below"), "x", own),
		"more":       node(b.at("more"), "x", own),
		"less":       node(b.at("less"), "x", own, grant(alice, store.MayRead)),
	} {
		b.failsAt(b.operator.Create(b.ctx, []store.NewNode{want}), store.ErrRights, b.at(path))
		want.Data = []byte("other") // it is reported first
		b.failsAt(b.operator.Create(b.ctx, []store.NewNode{want}), store.ErrRights, b.at(path))
	}
	b.create(node(b.at("right"), "x", grant(alice, store.MayWrite), own, grant(alice, store.MayRead)))
	// A user who may not change the rights of a node of its own may create it again, too.
	b.create(node(b.at("agent"), "", own, grant(alice, store.MayCreateChildren)))
	a := b.open(alice)
	for range 2 {
		b.ok(a.Create(b.ctx, []store.NewNode{node(b.at("agent/life"), "", grant(alice, store.MayRead))}))
	}
	b.failsAt(a.Create(b.ctx, []store.NewNode{node(b.at("agent/life"), "", grant(bob, store.MayRead))}), store.ErrRights, b.at("agent/life"))
}
