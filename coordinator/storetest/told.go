package storetest

import (
	"reflect"

	"github.com/hotc-dev/hotc/coordinator"
)

// Those who may hand a node over are told by name who may do what, as far as they know them; others
// by their users, and what everyone may do.
func rightsTold(b *bench) {
	other := coordinator.Credential{User: bob.User, Password: "0ther"}
	everybody := coordinator.Credential{}
	b.create(
		node(b.at("cell"), "x", grant(operator, coordinator.MayAll), grant(alice, coordinator.MayRead), grant(alice, coordinator.MayWrite),
			grant(bob, coordinator.MayRead), grant(everybody, coordinator.MayDeleteChildren)),
		node(b.at("pass"), "x", grant(operator, coordinator.MayAll), grant(alice, coordinator.MayHandOver)),
		node(b.at("open"), "x", grant(everybody, coordinator.MayAll)),
		node(b.at("own"), "x"))
	b.told(b.operator, "cell", []coordinator.Credential{operator, alice, other},
		grant(everybody, coordinator.MayDeleteChildren), grant(operator, coordinator.MayAll),
		grant(alice, coordinator.MayRead|coordinator.MayWrite), grant(coordinator.Credential{User: bob.User}, coordinator.MayRead))
	b.told(b.open(alice), "pass", []coordinator.Credential{alice},
		grant(coordinator.Credential{User: operator.User}, coordinator.MayAll), grant(alice, coordinator.MayHandOver))
	b.told(b.open(), "open", nil, grant(everybody, coordinator.MayAll))
	b.told(b.operator, "own", []coordinator.Credential{operator}, grant(operator, coordinator.MayAll))
	// A mere reader is told users, and not whether they are those it knows.
	b.told(b.open(bob), "cell", []coordinator.Credential{bob, alice, operator},
		grant(everybody, coordinator.MayDeleteChildren), grant(coordinator.Credential{User: operator.User}, coordinator.MayAll),
		grant(coordinator.Credential{User: alice.User}, coordinator.MayRead|coordinator.MayWrite), grant(coordinator.Credential{User: bob.User}, coordinator.MayRead))
	_, err := b.open().Rights(b.ctx, b.at("cell"))
	b.failsAt(err, coordinator.ErrRefused, b.at("cell"))
	_, err = b.operator.Rights(b.ctx, b.at("none"))
	b.failsAt(err, coordinator.ErrNotFound, b.at("none"))
	b.ok(coordinator.Allow(b.ctx, b.operator, b.at("own"), grant(bob, coordinator.MayRead)))
	b.told(b.operator, "own", []coordinator.Credential{operator, bob}, grant(operator, coordinator.MayAll), grant(bob, coordinator.MayRead))
}

func (b *bench) told(s coordinator.Store, path string, known []coordinator.Credential, want ...coordinator.Grant) {
	b.Helper()
	got, err := s.Rights(b.ctx, b.at(path), known...)
	b.ok(err)
	if !reflect.DeepEqual(got, want) && !reflect.DeepEqual(got, coordinator.SortGrants(want)) {
		b.Errorf("%s: the rights are %v, not %v", path, got, want)
	}
}

// A node that exists with other rights than it would be created with counts as another user's:
// Create fails.
func rightsStanding(b *bench) {
	stranger := b.open()
	own, everybody := grant(operator, coordinator.MayAll), grant(coordinator.Credential{}, coordinator.MayAll)
	b.create(
		node(b.at("open"), "x", everybody),
		node(b.at("more"), "x", own, grant(alice, coordinator.MayRead)),
		node(b.at("less"), "x", own),
		node(b.at("right"), "x", own, grant(alice, coordinator.MayRead|coordinator.MayWrite)))
	b.ok(stranger.Create(b.ctx, []coordinator.NewNode{node(b.at("open/below"), "x")}))
	for path, want := range map[string]coordinator.NewNode{
		"open":       node(b.at("open"), "x", own),
		"open/below": node(b.at("open/below"), "x", own),
		"more":       node(b.at("more"), "x", own),
		"less":       node(b.at("less"), "x", own, grant(alice, coordinator.MayRead)),
	} {
		b.failsAt(b.operator.Create(b.ctx, []coordinator.NewNode{want}), coordinator.ErrRights, b.at(path))
		want.Data = []byte("other") // it is reported first
		b.failsAt(b.operator.Create(b.ctx, []coordinator.NewNode{want}), coordinator.ErrRights, b.at(path))
	}
	b.create(node(b.at("right"), "x", grant(alice, coordinator.MayWrite), own, grant(alice, coordinator.MayRead)))
	// A user who may not change the rights of a node of its own may create it again, too.
	b.create(node(b.at("agent"), "", own, grant(alice, coordinator.MayCreateChildren)))
	a := b.open(alice)
	for range 2 {
		b.ok(a.Create(b.ctx, []coordinator.NewNode{node(b.at("agent/life"), "", grant(alice, coordinator.MayRead))}))
	}
	b.failsAt(a.Create(b.ctx, []coordinator.NewNode{node(b.at("agent/life"), "", grant(bob, coordinator.MayRead))}), coordinator.ErrRights, b.at("agent/life"))
}
