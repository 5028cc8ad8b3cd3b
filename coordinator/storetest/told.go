package storetest

import (
	"reflect"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// Those who may hand a node over are told who may do what; others by name.
func rightsTold(b *bench) {
	named := func(name string, may store.Rights) store.Grant {
		return store.Grant{To: store.Principal{Name: name}, May: may}
	}
	everybody := store.Credential{}
	b.create(
		node(b.at("cell"), "x", grant(operator, store.MayAll), grant(alice, store.MayRead), grant(alice, store.MayWrite),
			grant(bob, store.MayRead), grant(everybody, store.MayDeleteChildren)),
		node(b.at("pass"), "x", grant(operator, store.MayAll), grant(alice, store.MayHandOver)),
		node(b.at("open"), "x", grant(everybody, store.MayAll)),
		node(b.at("own"), "x"))
	b.told(b.operator, "cell", grant(everybody, store.MayDeleteChildren), grant(operator, store.MayAll),
		grant(alice, store.MayRead|store.MayWrite), grant(bob, store.MayRead))
	b.told(b.open(alice), "pass", grant(operator, store.MayAll), grant(alice, store.MayHandOver))
	b.told(b.open(), "open", grant(everybody, store.MayAll))
	b.told(b.operator, "own", grant(operator, store.MayAll))
	// A mere reader is told names, even of itself.
	b.told(b.open(bob), "cell", grant(everybody, store.MayDeleteChildren), named(operator.User, store.MayAll),
		named(alice.User, store.MayRead|store.MayWrite), named(bob.User, store.MayRead))
	_, err := b.open().Rights(b.ctx, b.at("cell"))
	b.failsAt(err, store.ErrRefused, b.at("cell"))
	_, err = b.operator.Rights(b.ctx, b.at("none"))
	b.failsAt(err, store.ErrNotFound, b.at("none"))
	b.ok(store.Allow(b.ctx, b.operator, b.at("own"), grant(bob, store.MayRead)))
	b.told(b.operator, "own", grant(operator, store.MayAll), grant(bob, store.MayRead))
}

func (b *bench) told(s store.Session, path string, want ...store.Grant) {
	b.Helper()
	got, err := s.Rights(b.ctx, b.at(path))
	b.ok(err)
	if !reflect.DeepEqual(got, store.SortGrants(want)) {
		b.Errorf("%s: the rights are %v, not %v", path, got, want)
	}
}

// A node that exists with other rights than it would be created with counts as another user's:
// Create fails.
func rightsStanding(b *bench) {
	stranger := b.open()
	own, everybody := grant(operator, store.MayAll), grant(store.Credential{}, store.MayAll)
	twin := store.Credential{User: operator.User, Password: "an0ther"}
	b.create(
		node(b.at("open"), "x", everybody),
		node(b.at("more"), "x", own, grant(alice, store.MayRead)),
		node(b.at("less"), "x", own),
		node(b.at("twin"), "x", grant(twin, store.MayAll), grant(operator, store.MayRead)),
		node(b.at("right"), "x", own, grant(alice, store.MayRead|store.MayWrite)))
	b.ok(stranger.Create(b.ctx, []store.NewNode{node(b.at("open/below"), "x")}))
	for path, want := range map[string]store.NewNode{
		"open":       node(b.at("open"), "x", own),
		"open/below": node(b.at("open/below"), "x", own),
		"more":       node(b.at("more"), "x", own),
		"twin":       node(b.at("twin"), "x", own), // whose names together are those of its own
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
