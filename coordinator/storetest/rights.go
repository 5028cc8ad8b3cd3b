package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

func isVersion(err error) bool { return errors.Is(err, store.ErrVersion) }

func rightsReadWrite(b *bench) {
	b.create(
		node(b.at("cell"), "0", grant(operator, store.MayAll), grant(alice, store.MayWrite), grant(bob, store.MayRead)),
		node(b.at("both"), "0", grant(alice, store.MayRead), grant(alice, store.MayWrite), grant(bob, 0), grant(operator, store.MayAll)))
	a, r, nobody := b.open(alice), b.open(bob), b.open()
	_, err := a.Read(b.ctx, b.at("cell"))
	b.failsAt(err, store.ErrRefused, b.at("cell")) // WRITE is not READ
	b.set(a, b.at("cell"), "1")
	b.holds(r, b.at("cell"), "1", 1)
	b.failsAt(r.Commit(b.ctx, write(b.at("cell"), 1, "x")), store.ErrRefused, b.at("cell"))
	b.ok(r.Commit(b.ctx, check(b.at("cell"), 1)))
	b.failsAt(a.Commit(b.ctx, check(b.at("cell"), 1)), store.ErrRefused, b.at("cell")) // a check reads
	// If one part is refused, all are.
	b.failsAt(a.Commit(b.ctx, write(b.at("cell"), 1, "x"), write(b.root, 0, "x")), store.ErrRefused, b.root)
	b.holds(r, b.at("cell"), "1", 1)
	b.set(a, b.at("both"), "1")
	b.holds(a, b.at("both"), "1", 1)
	_, err = r.Read(b.ctx, b.at("both"))
	b.failsAt(err, store.ErrRefused, b.at("both"))
	for _, s := range []store.Session{nobody, a} {
		_, err = s.Read(b.ctx, b.root)
		b.failsAt(err, store.ErrRefused, b.root)
		_, err = s.Children(b.ctx, b.root)
		b.failsAt(err, store.ErrRefused, b.root)
		b.failsAt(s.Commit(b.ctx, write(b.root, store.AnyVersion, "x")), store.ErrRefused, b.root)
	}
	// Existence and version are not secrets.
	version, exists, err := nobody.Stat(b.ctx, b.at("cell"))
	b.ok(err)
	if !exists || version != 1 {
		b.Fatalf("without rights stat says %v, version %d", exists, version)
	}
	if b.exists(nobody, b.at("none")) {
		b.Fatal("a node that is not there exists for who has no rights")
	}
}

// What can only be handed over cannot be read before, nor afterwards by who handed it over.
func rightsHandOver(b *bench) {
	carol := store.Credential{User: "machine-carol", Password: "c4r0l"}
	b.create(
		node(b.at("pass"), "hush", grant(operator, store.MayAll), grant(alice, store.MayHandOver)),
		node(b.at("read"), "hush", grant(operator, store.MayAll), grant(alice, store.MayRead|store.MayWrite)),
		node(b.at("all"), "hush", grant(operator, store.MayAll), grant(alice, store.MayAll)))
	a, r := b.open(alice), b.open(bob)
	_, err := a.Read(b.ctx, b.at("pass"))
	b.failsAt(err, store.ErrRefused, b.at("pass"))
	b.failsAt(a.Commit(b.ctx, write(b.at("pass"), 0, "x")), store.ErrRefused, b.at("pass"))
	to := grant(carol, store.MayRead)
	b.failsAt(store.HandOver(b.ctx, r, b.at("pass"), bob.Principal(), to), store.ErrRefused, b.at("pass"))
	b.failsAt(store.HandOver(b.ctx, r, b.at("pass"), alice.Principal(), to), store.ErrRefused, b.at("pass")) // it is not alice
	b.failsAt(store.HandOver(b.ctx, a, b.at("read"), alice.Principal(), to), store.ErrRefused, b.at("read"))
	b.failsAt(store.HandOver(b.ctx, a, b.at("none"), alice.Principal(), to), store.ErrNotFound, b.at("none"))
	b.ok(store.HandOver(b.ctx, a, b.at("pass"), alice.Principal(), to))
	_, err = a.Read(b.ctx, b.at("pass"))
	b.failsAt(err, store.ErrRefused, b.at("pass"))
	b.failsAt(store.HandOver(b.ctx, a, b.at("pass"), alice.Principal(), grant(alice, store.MayRead)), store.ErrRefused, b.at("pass"))
	c := b.open(carol)
	b.holds(c, b.at("pass"), "hush", 0) // the data, and its version, stay
	b.failsAt(store.HandOver(b.ctx, c, b.at("pass"), carol.Principal(), grant(alice, store.MayRead)), store.ErrRefused, b.at("pass"))
	b.failsAt(c.Commit(b.ctx, write(b.at("pass"), 0, "x")), store.ErrRefused, b.at("pass"))
	b.holds(b.operator, b.at("pass"), "hush", 0) // others on the list stay
	b.failsAt(store.Allow(b.ctx, a, b.at("pass"), grant(alice, store.MayRead)), store.ErrRefused, b.at("pass"))
	b.failsAt(store.HandOver(b.ctx, c, b.at("pass"), alice.Principal(), grant(carol, store.MayRead|store.MayWrite)), store.ErrRefused, b.at("pass"))
	b.ok(a.Authenticate(b.ctx, carol))
	b.holds(a, b.at("pass"), "hush", 0)
	for _, s := range []store.Session{a, c} { // repeating it as carol changes nothing
		b.ok(store.HandOver(b.ctx, s, b.at("pass"), alice.Principal(), to))
	}
	b.ok(store.HandOver(b.ctx, a, b.at("all"), alice.Principal(), to)) // all rights include this one
	b.holds(c, b.at("all"), "hush", 0)
	b.ok(b.operator.DeleteTree(b.ctx, b.at("pass")))
}

// What someone has been allowed to read cannot be handed over any more: the receiver must be the
// only one who has seen it.
func rightsHandOverFirst(b *bench) {
	carol := store.Credential{User: "machine-carol", Password: "c4r0l"}
	other := store.Credential{User: carol.User, Password: "0ther"}
	a, c := b.open(alice), b.open(alice, carol)
	to := grant(carol, store.MayRead)
	for name, grants := range map[string][]store.Grant{
		"alice": {grant(alice, store.MayRead)},
		"bob":   {grant(bob, store.MayRead)},
		"other": {grant(other, store.MayRead)}, // carol's name, but another user
		"carol": {to},
	} {
		path := b.at("pass-" + name)
		b.create(node(path, "hush", grant(operator, store.MayAll), grant(alice, store.MayHandOver)))
		b.ok(store.Allow(b.ctx, a, path, grants...))
		b.failsAt(store.HandOver(b.ctx, c, path, alice.Principal(), to), store.ErrRefused, path)
	}
	path := b.at("pass-taken") // by another user of carol's name
	b.create(node(path, "hush", grant(operator, store.MayAll), grant(alice, store.MayHandOver)))
	b.ok(store.HandOver(b.ctx, a, path, alice.Principal(), grant(other, store.MayRead)))
	b.failsAt(store.HandOver(b.ctx, c, path, alice.Principal(), to), store.ErrRefused, path)
}

// Of many who hand over at once, one succeeds, and alone can read what is there.
func rightsHandOverOnce(b *bench) {
	b.create(node(b.at("pass"), "hush", grant(operator, store.MayAll), grant(alice, store.MayHandOver)))
	const many = 8
	results := make(chan bool, many)
	for i := range many {
		s := b.open(alice)
		own := store.Credential{User: "machine", Password: fmt.Sprint(i)}
		go func() {
			err := store.HandOver(b.ctx, s, b.at("pass"), alice.Principal(), grant(own, store.MayRead))
			if err != nil && !errors.Is(err, store.ErrRefused) {
				b.Errorf("one of many: %v", err)
			}
			won := err == nil
			err = s.Authenticate(b.ctx, own)
			if err == nil {
				_, err = s.Read(b.ctx, b.at("pass"))
			}
			if (err == nil) != won {
				b.Errorf("who handed it over (%v) reads it: %v", won, err)
			}
			results <- won
		}()
	}
	winners := 0
	for range many {
		if <-results {
			winners++
		}
	}
	if winners != 1 {
		b.Errorf("%d of %d have handed it over", winners, many)
	}
}

// Rights are added by those who may hand a node over; existing ones stay, as does the data with its
// version.
func rightsAdded(b *bench) {
	b.create(
		node(b.at("file"), "text", grant(operator, store.MayAll), grant(alice, store.MayRead)),
		node(b.at("pass"), "hush", grant(operator, store.MayAll), grant(alice, store.MayHandOver)))
	a, r := b.open(alice), b.open(bob)
	for range 2 { // repeating it changes nothing
		b.ok(store.Allow(b.ctx, b.operator, b.at("file"), grant(bob, store.MayRead), grant(alice, store.MayRead)))
	}
	for _, s := range []store.Session{b.operator, a, r} {
		b.holds(s, b.at("file"), "text", 0)
	}
	b.failsAt(r.Commit(b.ctx, write(b.at("file"), 0, "x")), store.ErrRefused, b.at("file"))
	b.ok(store.Allow(b.ctx, b.operator, b.at("file"), grant(bob, store.MayRead|store.MayWrite)))
	b.set(r, b.at("file"), "more")
	b.holds(a, b.at("file"), "more", 1)
	b.failsAt(store.Allow(b.ctx, a, b.at("file"), grant(alice, store.MayAll)), store.ErrRefused, b.at("file"))
	b.failsAt(store.Allow(b.ctx, r, b.at("pass"), grant(bob, store.MayRead)), store.ErrRefused, b.at("pass"))
	b.failsAt(store.Allow(b.ctx, b.operator, b.at("none"), grant(bob, store.MayRead)), store.ErrNotFound, b.at("none"))
	b.ok(store.Allow(b.ctx, a, b.at("pass"), grant(bob, store.MayRead)))
	b.holds(r, b.at("pass"), "hush", 0)
}

// Rights are replaced, while another node is unchanged; the data stays, with its version.
func rightsReplaced(b *bench) {
	b.create(
		node(b.at("record"), "one", grant(operator, store.MayAll)),
		node(b.at("cell"), "text", grant(operator, store.MayAll), grant(alice, store.MayRead|store.MayWrite)),
		node(b.at("given"), "text", grant(operator, store.MayAll), grant(alice, store.MayRead)))
	a, r := b.open(alice), b.open(bob)
	guard := store.Op{Path: b.at("record"), Version: 0}
	for range 2 { // repeating it changes nothing
		b.ok(store.SetRights(b.ctx, b.operator, b.at("cell"), guard, grant(operator, store.MayAll), grant(bob, store.MayRead)))
	}
	b.holds(r, b.at("cell"), "text", 0)
	_, err := a.Read(b.ctx, b.at("cell"))
	b.is(err, store.ErrRefused)
	b.failsAt(store.SetRights(b.ctx, r, b.at("cell"), guard, grant(bob, store.MayAll)), store.ErrRefused, b.at("cell"))
	b.failsAt(store.SetRights(b.ctx, b.operator, b.at("none"), guard, grant(bob, store.MayAll)), store.ErrNotFound, b.at("none"))
	// Rights that are already set twice are replaced by one.
	b.ok(store.Allow(b.ctx, b.operator, b.at("given"), grant(alice, store.MayRead|store.MayWrite)))
	b.ok(store.SetRights(b.ctx, b.operator, b.at("given"), guard, grant(operator, store.MayAll), grant(alice, store.MayRead)))
	b.failsAt(a.Commit(b.ctx, write(b.at("given"), 0, "x")), store.ErrRefused, b.at("given"))
	// A call that was overtaken changes nothing.
	b.set(b.operator, b.at("record"), "two")
	b.failsAt(store.SetRights(b.ctx, b.operator, b.at("cell"), guard, grant(operator, store.MayAll)), store.ErrVersion, b.at("cell"))
	b.holds(r, b.at("cell"), "text", 0)
}

func rightsParent(b *bench) {
	b.create(
		node(b.at("agent"), "", grant(operator, store.MayAll), grant(alice, store.MayCreateChildren)),
		node(b.at("bin"), "", grant(operator, store.MayAll), grant(alice, store.MayCreateChildren|store.MayDeleteChildren|store.MayRead)))
	a, r := b.open(alice), b.open(bob)
	b.ok(a.Create(b.ctx, []store.NewNode{node(b.at("agent/mine"), "x")}))
	b.holds(a, b.at("agent/mine"), "x", 0) // without grants it belongs to its creator
	_, err := b.operator.Read(b.ctx, b.at("agent/mine"))
	b.failsAt(err, store.ErrRefused, b.at("agent/mine"))
	b.failsAt(r.Create(b.ctx, []store.NewNode{node(b.at("agent/his"), "x")}), store.ErrRefused, b.at("agent/his"))
	b.failsAt(a.Create(b.ctx, []store.NewNode{node(b.at("hers"), "x")}), store.ErrRefused, b.at("hers"))
	// All rights on a node do not include deleting it.
	b.failsAt(a.DeleteTree(b.ctx, b.at("agent/mine")), store.ErrRefused, b.at("agent/mine"))
	b.ok(b.operator.DeleteTree(b.ctx, b.at("agent/mine")))
	b.ok(a.Create(b.ctx, []store.NewNode{node(b.at("bin/mine"), "x")}))
	b.ok(a.DeleteTree(b.ctx, b.at("bin/mine")))
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	b.failsAt(r.Announce(ctx, b.at("agent/presence"), nil), store.ErrRefused, b.at("agent/presence"))
	b.failsAt(r.Announce(ctx, b.at("none/presence"), nil), store.ErrNotFound, b.at("none/presence"))
}

func rightsAuthenticate(b *bench) {
	b.create(node(b.at("cell"), "x", grant(bob, store.MayRead)))
	s := b.open(alice)
	_, err := s.Read(b.ctx, b.at("cell"))
	b.failsAt(err, store.ErrRefused, b.at("cell"))
	b.ok(s.Authenticate(b.ctx, bob))
	b.holds(s, b.at("cell"), "x", 0)
	// What it creates still belongs to its first identity.
	b.create(node(b.at("dir"), "", grant(bob, store.MayCreateChildren)))
	b.ok(s.Create(b.ctx, []store.NewNode{node(b.at("dir/mine"), "x")}))
	b.holds(b.open(alice), b.at("dir/mine"), "x", 0)
	_, err = b.open(bob).Read(b.ctx, b.at("dir/mine"))
	b.failsAt(err, store.ErrRefused, b.at("dir/mine"))
}

func rightsWrongPassword(b *bench) {
	b.create(node(b.at("cell"), "x", grant(alice, store.MayAll)))
	s := b.open(store.Credential{User: alice.User, Password: "wrong"})
	_, err := s.Read(b.ctx, b.at("cell"))
	b.failsAt(err, store.ErrRefused, b.at("cell"))
	if !b.exists(s, b.at("cell")) {
		b.Fatal("a wrong password hides the node")
	}
	// The right credential helps, even after the wrong one.
	b.ok(s.Authenticate(b.ctx, alice))
	b.holds(s, b.at("cell"), "x", 0)
}

// rightsColon is about names with the character that ends a user in ZooKeeper.
func rightsColon(b *bench) {
	one := store.Credential{User: "server-a:b", Password: "x"}
	two := store.Credential{User: "server-a", Password: "y"}
	three := store.Credential{User: "server-a:c", Password: "x"}
	b.create(node(b.at("cell"), "x", grant(one, store.MayRead)))
	b.holds(b.open(one), b.at("cell"), "x", 0)
	for _, other := range []store.Credential{two, three} {
		_, err := b.open(other).Read(b.ctx, b.at("cell"))
		b.failsAt(err, store.ErrRefused, b.at("cell"))
	}
}

func announce(b *bench) {
	b.create(node(b.at("agent"), "", grant(operator, store.MayAll), grant(alice, store.MayCreateChildren)))
	a := b.open(alice)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	watcher := b.open(bob)
	tokens, err := watcher.Watch(b.ctx, b.at("agent/presence"))
	b.ok(err)
	b.token(tokens)
	b.ok(a.Announce(ctx, b.at("agent/presence"), []byte("here")))
	b.until(tokens, func() bool { return b.exists(watcher, b.at("agent/presence")) })
	b.holds(a, b.at("agent/presence"), "here", 0)
	// It cannot have children.
	if a.Create(b.ctx, []store.NewNode{node(b.at("agent/presence/child"), "")}) == nil {
		b.Fatal("an ephemeral node has a child")
	}
	// Its deletion is noticed, though its keeper may not delete it.
	b.ok(b.operator.DeleteTree(b.ctx, b.at("agent/presence")))
	b.eventually("made again", func() bool { return b.exists(watcher, b.at("agent/presence")) })
	a.Close()
	b.until(tokens, func() bool { return !b.exists(watcher, b.at("agent/presence")) })
}

// announceOver is an agent's new process while the old one's session still exists.
func announceOver(b *bench) {
	b.create(node(b.at("agent"), "", grant(operator, store.MayAll),
		grant(alice, store.MayCreateChildren|store.MayDeleteChildren)))
	first, second := b.open(alice), b.open(alice)
	path := b.at("agent/presence")
	ctx1, cancel1 := context.WithCancel(b.ctx)
	defer cancel1()
	b.ok(first.Announce(ctx1, path, []byte("first")))
	ctx2, cancel2 := context.WithCancel(b.ctx)
	defer cancel2()
	b.ok(second.Announce(ctx2, path, []byte("second")))
	b.holds(second, path, "second", 0)
	// The one that was replaced returns when the other has gone, and not before.
	time.Sleep(50 * time.Millisecond)
	b.holds(second, path, "second", 0)
	cancel2()
	b.eventually("the first is back", func() bool {
		n, err := first.Read(b.ctx, path)
		return err == nil && string(n.Data) == "first"
	})
	cancel1()
	b.eventually("the node is gone", func() bool { return !b.exists(first, path) })
	// A node that is not ephemeral cannot be replaced by anyone.
	b.create(node(b.at("agent/solid"), ""))
	b.failsAt(first.Announce(b.ctx, b.at("agent/solid"), nil), store.ErrExists, b.at("agent/solid"))
}

// announceAgain deletes the parent, too.
func announceAgain(b *bench) {
	b.create(node(b.at("agent"), ""))
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	b.ok(b.operator.Announce(ctx, b.at("agent/presence"), nil))
	other := b.open(operator)
	b.ok(other.DeleteTree(b.ctx, b.at("agent/presence")))
	b.eventually("made again", func() bool { return b.exists(other, b.at("agent/presence")) })
	b.ok(other.DeleteTree(b.ctx, b.at("agent")))
	b.ok(other.Create(b.ctx, []store.NewNode{node(b.at("agent"), "")}))
	b.eventually("made again below a new parent", func() bool { return b.exists(other, b.at("agent/presence")) })
	cancel()
	b.eventually("withdrawn", func() bool { return !b.exists(other, b.at("agent/presence")) })
}

func announceClose(b *bench) {
	b.create(node(b.at("agent"), ""))
	s := b.open(operator)
	b.ok(s.Announce(b.ctx, b.at("agent/presence"), nil))
	if !b.exists(b.operator, b.at("agent/presence")) {
		b.Fatal("it did not stand when Announce returned")
	}
	b.ok(s.Close())
	b.eventually("gone with its session", func() bool { return !b.exists(b.operator, b.at("agent/presence")) })
}
