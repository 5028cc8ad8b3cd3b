package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// A bound holds for whoever writes below a node, and only its owner can change it.
func limits(b *bench) {
	s, other := b.open(operator), b.open(alice)
	all := grant(operator, store.MayAll)
	limit := store.Limit{Nodes: 20, Bytes: 10_000}
	site, free, next := b.at("limited"), b.at("free"), b.at("next")
	for range 2 { // again is the same
		b.ok(s.SetLimit(b.ctx, site, limit, operator.Principal()))
	}
	b.ok(s.Create(b.ctx, []store.NewNode{node(site, "", all, grant(alice, store.MayAll)), node(free, "", all)}))
	var err error
	n := 0
	for ; n < 100 && err == nil; n++ {
		err = other.Create(b.ctx, []store.NewNode{{Path: site.Join(fmt.Sprint("n", n))}})
	}
	if !errors.Is(err, store.ErrFull) || n > 20 {
		b.Errorf("%d nodes were created: %v", n, err)
	}
	large := make([]byte, 20_000)
	if err := other.Commit(b.ctx, store.Op{Path: site.Join("n0"), Version: 0, Write: true, Data: large}); !errors.Is(err, store.ErrFull) {
		b.Errorf("what is too much was written: %v", err)
	}
	b.ok(s.Create(b.ctx, []store.NewNode{{Path: free.Join("x"), Data: large}})) // the bound is the other node's
	for name, l := range map[string]store.Limit{"raised": {Nodes: 1000}, "removed": {}} {
		if err := other.SetLimit(b.ctx, site, l, alice.Principal()); err == nil {
			b.Errorf("it was %s by another user", name)
		}
	}
	if err := other.Create(b.ctx, []store.NewNode{{Path: site.Join("more")}}); !errors.Is(err, store.ErrFull) {
		b.Errorf("the bound is gone: %v", err)
	}
	b.ok(s.SetLimit(b.ctx, site, store.Limit{}, operator.Principal()))
	b.ok(other.Create(b.ctx, []store.NewNode{{Path: site.Join("more")}}))
	// One that another user has set is not taken for one's own.
	b.ok(other.SetLimit(b.ctx, next, limit, store.Everyone))
	if err := s.SetLimit(b.ctx, next, limit, operator.Principal()); !errors.Is(err, store.ErrRights) {
		b.Errorf("another user's bound is used: %v", err)
	}
}

// The back end runs on this machine: its clock is ours.
func written(b *bench) {
	path := b.at("written")
	if _, err := b.operator.Written(b.ctx, path); !errors.Is(err, store.ErrNotFound) {
		b.Errorf("of no node: %v", err)
	}
	b.create(node(path, "0", grant(operator, store.MayAll)))
	from := time.Now().Truncate(time.Millisecond)
	b.set(b.operator, path, "1")
	at, err := b.open().Written(b.ctx, path)
	b.ok(err)
	if at.Before(from) || at.After(time.Now()) {
		b.Errorf("written at %v, between %v and now", at, from)
	}
}
