package storetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/coordinator/store"
)

func createAndRead(b *bench) {
	s := b.operator
	b.create(node(b.at("a"), "one"), node(b.at("a/b"), ""), node(b.at("a/c"), "\x00\xff"))
	b.holds(s, b.at("a"), "one", 0)
	b.holds(s, b.at("a/b"), "", 0)
	b.holds(s, b.at("a/c"), "\x00\xff", 0)
	names, err := s.Children(b.ctx, b.at("a"))
	b.ok(err)
	if !slices.Equal(names, []string{"b", "c"}) {
		b.Fatalf("children are %q", names)
	}
	names, err = s.Children(b.ctx, b.at("a/b"))
	b.ok(err)
	if len(names) != 0 {
		b.Fatalf("a leaf has children %q", names)
	}
	version, exists, err := s.Stat(b.ctx, b.at("a"))
	b.ok(err)
	if !exists || version != 0 {
		b.Fatalf("stat says %v, version %d", exists, version)
	}
	if b.exists(s, b.at("none")) {
		b.Fatal("a node that was not created exists")
	}
	_, err = s.Read(b.ctx, b.at("none"))
	b.failsAt(err, store.ErrNotFound, b.at("none"))
	_, err = s.Children(b.ctx, b.at("none"))
	b.failsAt(err, store.ErrNotFound, b.at("none"))
	b.failsAt(s.Create(b.ctx, []store.NewNode{node(b.at("none/child"), "")}), store.ErrNotFound, b.at("none/child"))
	b.ok(s.Create(b.ctx, nil))
	b.read(s, "") // the root exists, and is everyone's
}

func createInAnyOrder(b *bench) {
	b.create(node(b.at("a/b/c"), "3"), node(b.at("a"), "1"), node(b.at("z"), "4"), node(b.at("a/b"), "2"))
	b.holds(b.operator, b.at("a/b/c"), "3", 0)
	b.holds(b.operator, b.at("a/b"), "2", 0)
}

func createAgain(b *bench) {
	var nodes []store.NewNode
	for i := range 300 {
		nodes = append(nodes, node(b.at(fmt.Sprintf("n%03d", i)), strconv.Itoa(i)))
	}
	// An interrupted call has created some of them.
	b.create(nodes[0], nodes[7], nodes[150], nodes[299])
	b.create(nodes...)
	b.create(nodes...)
	for i := range 300 {
		b.holds(b.operator, nodes[i].Path, strconv.Itoa(i), 0)
	}
	other := slices.Clone(nodes)
	other[200] = node(nodes[200].Path, "other")
	b.failsAt(b.operator.Create(b.ctx, other), store.ErrExists, nodes[200].Path)
	b.holds(b.operator, nodes[200].Path, "200", 0)
	// Written since: the data differs, and what exists stays.
	b.set(b.operator, nodes[3].Path, "written")
	b.failsAt(b.operator.Create(b.ctx, nodes), store.ErrExists, nodes[3].Path)
	b.holds(b.operator, nodes[3].Path, "written", 1)
}

func createTooLarge(b *bench) {
	large := strings.Repeat("x", b.operator.MaxValue()+1)
	err := b.operator.Create(b.ctx, []store.NewNode{node(b.at("small"), ""), node(b.at("large"), large)})
	b.failsAt(err, store.ErrTooLarge, b.at("large"))
	if b.exists(b.operator, b.at("small")) {
		b.Fatal("nodes were created before the one that is too large was noticed")
	}
	b.create(node(b.at("small"), ""))
	err = b.operator.Commit(b.ctx, write(b.at("small"), 0, large))
	b.failsAt(err, store.ErrTooLarge, b.at("small"))
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	b.failsAt(b.operator.Announce(ctx, b.at("announced"), []byte(large)), store.ErrTooLarge, b.at("announced"))
}

func createMany(b *bench) {
	var nodes []store.NewNode
	for i := range 50 {
		server := b.at(fmt.Sprintf("server%02d", i))
		me := grant(store.Credential{User: fmt.Sprint("server-", i), Password: "x"}, store.MayRead)
		nodes = append(nodes, node(server, "", me, grant(operator, store.MayAll)))
		for k := range 20 {
			nodes = append(nodes, node(server.Join(fmt.Sprintf("cell%02d", k)), fmt.Sprint(i, k), me, grant(operator, store.MayAll)))
		}
	}
	nodes = append(nodes, node(b.at("ready"), ""))
	b.create(nodes...)
	b.holds(b.operator, b.at("server49/cell19"), "49 19", 0)
	names, err := b.operator.Children(b.ctx, b.root)
	b.ok(err)
	if len(names) != 51 {
		b.Fatalf("%d children, want 51", len(names))
	}
}

func bigValues(b *bench) {
	most := strings.Repeat("x", b.operator.MaxValue())
	b.create(node(b.at("a"), most), node(b.at("b"), ""), node(b.at("c"), most[:768<<10]), node(b.at("d"), most[:768<<10]))
	b.holds(b.operator, b.at("a"), most, 0)
	b.holds(b.operator, b.at("d"), most[:768<<10], 0)
	b.set(b.operator, b.at("b"), most)
	b.holds(b.operator, b.at("b"), most, 1)
}

func commit(b *bench) {
	s := b.operator
	b.create(node(b.at("a"), "0"), node(b.at("b"), "0"))
	b.ok(s.Commit(b.ctx, write(b.at("a"), 0, "1")))
	b.holds(s, b.at("a"), "1", 1)
	b.ok(s.Commit(b.ctx, write(b.at("a"), store.AnyVersion, "2"), check(b.at("b"), 0), write(b.at("b"), 0, "")))
	b.holds(s, b.at("a"), "2", 2)
	b.holds(s, b.at("b"), "", 1)
	b.failsAt(s.Commit(b.ctx, write(b.at("a"), 1, "x")), store.ErrVersion, b.at("a"))
	b.failsAt(s.Commit(b.ctx, check(b.at("b"), 0)), store.ErrVersion, b.at("b"))
	b.failsAt(s.Commit(b.ctx, write(b.at("none"), store.AnyVersion, "x")), store.ErrNotFound, b.at("none"))
	b.ok(s.Commit(b.ctx, check(b.at("a"), store.AnyVersion)))
	// Operations see those before them.
	b.ok(s.Commit(b.ctx, write(b.at("a"), 2, "3"), write(b.at("a"), 3, "4")))
	b.holds(s, b.at("a"), "4", 4)
	b.ok(s.Commit(b.ctx))
}

func commitAtomic(b *bench) {
	s := b.operator
	b.create(node(b.at("a"), "0"), node(b.at("b"), "0"), node(b.at("c"), "0"))
	err := s.Commit(b.ctx, write(b.at("a"), 0, "1"), check(b.at("b"), 7), write(b.at("c"), 0, "1"))
	b.failsAt(err, store.ErrVersion, b.at("b"))
	err = s.Commit(b.ctx, write(b.at("a"), 0, "1"), write(b.at("none"), 0, "1"))
	b.failsAt(err, store.ErrNotFound, b.at("none"))
	b.holds(s, b.at("a"), "0", 0)
	b.holds(s, b.at("c"), "0", 0)
}

// commitWithoutLoss counts in several sessions at once.
func commitWithoutLoss(b *bench) {
	b.create(node(b.at("counter"), "0"), node(b.at("mirror"), "0"))
	const writers, times = 4, 25
	var running sync.WaitGroup
	for range writers {
		s := b.open(operator)
		running.Go(func() {
			for done := 0; done < times; {
				n, err := s.Read(b.ctx, b.at("counter"))
				if err != nil {
					b.Error(err)
					return
				}
				count, _ := strconv.Atoi(string(n.Data))
				next := strconv.Itoa(count + 1)
				switch err := s.Commit(b.ctx, write(b.at("counter"), n.Version, next), write(b.at("mirror"), n.Version, next)); {
				case err == nil:
					done++
				case !isVersion(err):
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.holds(b.operator, b.at("counter"), strconv.Itoa(writers*times), writers*times)
	b.holds(b.operator, b.at("mirror"), strconv.Itoa(writers*times), writers*times)
}

func deleteTree(b *bench) {
	s := b.operator
	b.create(node(b.at("a"), ""), node(b.at("keep"), ""))
	for i := range 3 {
		var nodes []store.NewNode
		top := b.at(fmt.Sprint("a/", i))
		nodes = append(nodes, node(top, ""))
		for k := range 200 {
			nodes = append(nodes, node(top.Join(fmt.Sprint(k)), ""), node(top.Join(fmt.Sprint(k)).Join("leaf"), "x"))
		}
		b.create(nodes...)
	}
	b.ok(s.DeleteTree(b.ctx, b.at("a")))
	if b.exists(s, b.at("a")) || !b.exists(s, b.at("keep")) {
		b.Fatal("not the tree and it alone was deleted")
	}
	b.ok(s.DeleteTree(b.ctx, b.at("a")))
	b.ok(s.DeleteTree(b.ctx, b.at("never/was")))
	b.create(node(b.at("a"), "again"))
	b.holds(s, b.at("a"), "again", 0)
}

// A node that may not be listed is deleted if it has no children; otherwise that is reported, and
// all beside it is deleted.
func deleteClosedTree(b *bench) {
	mine := grant(alice, store.MayAll)
	b.create(node(b.at("a"), ""), node(b.at("a/empty"), "", mine), node(b.at("a/full"), "", mine), node(b.at("a/other"), ""))
	b.ok(b.open(alice).Create(b.ctx, []store.NewNode{node(b.at("a/full/child"), "", mine)}))
	b.create(node(b.at("a/other/leaf"), ""))
	b.failsAt(b.operator.DeleteTree(b.ctx, b.at("a")), store.ErrRefused, b.at("a/full"))
	for path, there := range map[string]bool{"a": true, "a/full": true, "a/empty": false, "a/other": false} {
		if b.exists(b.operator, b.at(path)) != there {
			b.Errorf("%s exists: %v", path, !there)
		}
	}
	b.ok(b.open(alice).DeleteTree(b.ctx, b.at("a/full/child")))
	b.ok(b.operator.DeleteTree(b.ctx, b.at("a")))
	if b.exists(b.operator, b.at("a")) {
		b.Fatal("it is there")
	}
}

func paths(b *bench) {
	for _, path := range []store.Path{b.at("") /* ends in a slash */, b.at("a//b"), b.at("../x"), b.at("."), "/" + b.at("a")} {
		if err := b.operator.Create(b.ctx, []store.NewNode{node(path, "")}); err == nil {
			b.Errorf("%q was created", path)
		}
		if _, err := b.operator.Read(b.ctx, path); err == nil {
			b.Errorf("%q was read", path)
		}
	}
	for _, text := range []string{"a b/c", "ü", ".hidden", "..", "log:x", "100%", "a\x00b", "漢字", "-_:,@=+"} {
		path := b.root.Join(store.Segment(text))
		b.create(node(path, text))
		b.holds(b.operator, path, text, 0)
	}
}
