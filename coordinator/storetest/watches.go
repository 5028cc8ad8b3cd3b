package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
)

func watch(b *bench) {
	s, writer := b.operator, b.open(operator)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	tokens, err := s.Watch(ctx, b.at("a"))
	b.ok(err)
	b.token(tokens) // the first at once, though nothing is there
	if b.exists(s, b.at("a")) {
		b.Fatal("it is there already")
	}
	b.ok(writer.Create(b.ctx, []coordinator.NewNode{node(b.at("a"), "0")}))
	b.until(tokens, func() bool { return b.exists(s, b.at("a")) })
	for i := range 20 {
		b.set(writer, b.at("a"), strconv.Itoa(i))
		b.until(tokens, func() bool { return string(b.read(s, b.at("a")).Data) == strconv.Itoa(i) })
	}
	// Tokens do not pile up.
	for range 20 {
		b.set(writer, b.at("a"), "same")
	}
	if cap(tokens) > 1 {
		b.Fatalf("%d tokens fit", cap(tokens))
	}
	b.until(tokens, func() bool { return b.read(s, b.at("a")).Version == 40 })
	b.ok(writer.DeleteTree(b.ctx, b.at("a")))
	b.until(tokens, func() bool { return !b.exists(s, b.at("a")) })
	// A node that is deleted and made again, of the same version.
	b.ok(writer.Create(b.ctx, []coordinator.NewNode{node(b.at("a"), "new")}))
	b.until(tokens, func() bool { return b.exists(s, b.at("a")) })
	b.ok(writer.DeleteTree(b.ctx, b.at("a")))
	b.ok(writer.Create(b.ctx, []coordinator.NewNode{node(b.at("a"), "newer")}))
	b.until(tokens, func() bool {
		n, err := s.Read(b.ctx, b.at("a"))
		return err == nil && string(n.Data) == "newer"
	})
	cancel()
	drained(b, tokens)
}

func watchWithoutRights(b *bench) {
	s := b.open(bob)
	tokens, err := s.Watch(b.ctx, b.at("a"))
	b.ok(err)
	b.token(tokens)
	_, err = s.Read(b.ctx, b.at("a"))
	b.is(err, coordinator.ErrNotFound)
	b.create(node(b.at("a"), "0"))
	b.until(tokens, func() bool {
		_, err := s.Read(b.ctx, b.at("a"))
		return errors.Is(err, coordinator.ErrRefused)
	})
	for i := range coordinator.Version(5) {
		b.set(b.operator, b.at("a"), "x")
		b.until(tokens, func() bool {
			version, _, err := s.Stat(b.ctx, b.at("a"))
			b.ok(err)
			_, err = s.Read(b.ctx, b.at("a"))
			b.is(err, coordinator.ErrRefused)
			return version == i+1
		})
	}
}

// watchSeveral lets watchers of one session read at their own pace: none takes
// another's news away.
func watchSeveral(b *bench) {
	s, writer := b.operator, b.open(operator)
	b.create(node(b.at("a"), "0"))
	const last = 200
	var running sync.WaitGroup
	for k := range 4 {
		tokens, err := s.Watch(b.ctx, b.at("a"))
		b.ok(err)
		running.Go(func() {
			for {
				select {
				case <-tokens:
				case <-b.ctx.Done():
					b.Errorf("watcher %d never saw the last value", k)
					return
				}
				if k == 3 {
					if version, _, err := s.Stat(b.ctx, b.at("a")); err == nil && version == last {
						return
					}
				} else if n, err := s.Read(b.ctx, b.at("a")); err == nil && string(n.Data) == strconv.Itoa(last) {
					return
				}
			}
		})
	}
	for i := range last {
		b.set(writer, b.at("a"), strconv.Itoa(i+1))
	}
	running.Wait()
}

// watchMissesNothing hands a value back and forth: each side blocks until it sees
// the other's write, so that a single lost change blocks both.
func watchMissesNothing(b *bench) {
	const pairs, times = 4, 100
	var running sync.WaitGroup
	for k := range pairs {
		ping, pong := b.at(fmt.Sprint("ping", k)), b.at(fmt.Sprint("pong", k))
		b.create(node(ping, "0"), node(pong, "0"))
		side := func(mine, other coordinator.Path, lead int) {
			s := b.open(operator)
			running.Go(func() {
				tokens, err := s.Watch(b.ctx, other)
				if err != nil {
					b.Error(err)
					return
				}
				for i := 1; i <= times; i++ {
					if lead == 1 {
						if err := s.Commit(b.ctx, write(mine, coordinator.AnyVersion, strconv.Itoa(i))); err != nil {
							b.Error(err)
							return
						}
					}
					for {
						if n, err := s.Read(b.ctx, other); err != nil {
							b.Errorf("round %d: %v", i, err)
							return
						} else if v, _ := strconv.Atoi(string(n.Data)); v >= i {
							break
						}
						select {
						case <-tokens:
						case <-b.ctx.Done():
							b.Errorf("round %d was never seen", i)
							return
						}
					}
					if lead == 0 {
						if err := s.Commit(b.ctx, write(mine, coordinator.AnyVersion, strconv.Itoa(i))); err != nil {
							b.Error(err)
							return
						}
					}
				}
			})
		}
		side(ping, pong, 1)
		side(pong, ping, 0)
	}
	running.Wait()
}

func watchTree(b *bench) {
	s, writer := b.operator, b.open(operator)
	b.create(node(b.at("t"), ""), node(b.at("t/a"), ""), node(b.at("t/a/b"), ""), node(b.at("tt"), ""))
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	changed, err := s.WatchTree(ctx, b.at("t"))
	b.ok(err)
	await := func(want ...coordinator.Path) {
		b.Helper()
		for len(want) > 0 {
			select {
			case path, ok := <-changed:
				if !ok {
					b.Fatal("the channel of paths was closed")
				}
				if path != b.at("t") && !strings.HasPrefix(string(path), string(b.at("t/"))) {
					b.Fatalf("%q is not below the tree", path)
				}
				want = slices.DeleteFunc(want, func(p coordinator.Path) bool { return p == path })
			case <-b.ctx.Done():
				b.Fatalf("%q never came", want)
			}
		}
	}
	await(b.at("t"), b.at("t/a"), b.at("t/a/b"))
	b.set(writer, b.at("t/a/b"), "1")
	await(b.at("t/a/b"))
	b.set(writer, b.at("t"), "1")
	b.set(writer, b.at("tt"), "1")
	await(b.at("t"))
	b.ok(writer.Create(b.ctx, []coordinator.NewNode{node(b.at("t/a/c"), ""), node(b.at("t/a/c/d"), ""), node(b.at("t/e"), "")}))
	await(b.at("t/a/c"), b.at("t/a/c/d"), b.at("t/e"))
	b.set(writer, b.at("t/a/c/d"), "1")
	await(b.at("t/a/c/d"))
	b.ok(writer.DeleteTree(b.ctx, b.at("t/a")))
	await(b.at("t/a"), b.at("t/a/b"), b.at("t/a/c"), b.at("t/a/c/d"))
	b.ok(writer.Create(b.ctx, []coordinator.NewNode{node(b.at("t/a"), ""), node(b.at("t/a/b"), "")}))
	await(b.at("t/a"), b.at("t/a/b"))
	b.ok(writer.DeleteTree(b.ctx, b.at("t")))
	await(b.at("t"), b.at("t/e"))
	b.ok(writer.Create(b.ctx, []coordinator.NewNode{node(b.at("t"), "")}))
	await(b.at("t"))
	cancel()
	drained(b, changed)
	// A tree that is not there yet.
	changed, err = s.WatchTree(b.ctx, b.at("t/later"))
	b.ok(err)
	await(b.at("t/later"))
	b.ok(writer.Create(b.ctx, []coordinator.NewNode{node(b.at("t/later"), ""), node(b.at("t/later/x"), "")}))
	await(b.at("t/later"), b.at("t/later/x"))
}

// watchTreeMissesNothing keeps a copy of a tree that others write, by reading what
// is said to have changed; in the end it must be the same.
func watchTreeMissesNothing(b *bench) {
	const writers, times = 4, 60
	b.create(node(b.at("t"), "0"))
	changed, err := b.operator.WatchTree(b.ctx, b.at("t"))
	b.ok(err)
	var running sync.WaitGroup
	for k := range writers {
		s := b.open(operator)
		running.Go(func() {
			top := b.at(fmt.Sprint("t/w", k))
			for i := range times {
				var err error
				if path := top.Join(fmt.Sprint(i % 7)); i%20 == 19 {
					err = s.DeleteTree(b.ctx, top)
				} else if err = s.Create(b.ctx, []coordinator.NewNode{node(top, "")}); err == nil {
					if b.exists(s, path) {
						err = s.Commit(b.ctx, write(path, coordinator.AnyVersion, strconv.Itoa(i)))
					} else {
						err = s.Create(b.ctx, []coordinator.NewNode{node(path, strconv.Itoa(i))})
					}
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	go func() {
		running.Wait()
		if err := b.operator.Commit(b.ctx, write(b.at("t"), coordinator.AnyVersion, "end")); err != nil {
			b.Error(err)
		}
	}()
	mirror := map[coordinator.Path]string{}
	same := func() bool {
		if mirror[b.at("t")] != "end" {
			return false
		}
		seen := 0
		var walk func(path coordinator.Path) bool
		walk = func(path coordinator.Path) bool {
			n := b.read(b.operator, path)
			names, err := b.operator.Children(b.ctx, path)
			b.ok(err)
			seen++
			if have, ok := mirror[path]; !ok || have != string(n.Data) {
				return false
			}
			for _, name := range names {
				if !walk(path.Join(name)) {
					return false
				}
			}
			return true
		}
		return walk(b.at("t")) && seen == len(mirror)
	}
	for !same() {
		select {
		case path := <-changed:
			n, err := b.operator.Read(b.ctx, path)
			switch {
			case err == nil:
				mirror[path] = string(n.Data)
			case errors.Is(err, coordinator.ErrNotFound):
				delete(mirror, path)
			default:
				b.Fatal(err)
			}
		case <-b.ctx.Done():
			b.Fatalf("the copy never became the tree: %q", mirror)
		}
	}
}

func contexts(b *bench) {
	s := b.operator
	b.create(node(b.at("a"), "0"))
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	for name, call := range map[string]func() error{
		"Create":       func() error { return s.Create(ended, []coordinator.NewNode{node(b.at("x"), "")}) },
		"Read":         func() error { _, err := s.Read(ended, b.at("a")); return err },
		"Stat":         func() error { _, _, err := s.Stat(ended, b.at("a")); return err },
		"Children":     func() error { _, err := s.Children(ended, b.at("a")); return err },
		"Commit":       func() error { return s.Commit(ended, write(b.at("a"), 0, "1")) },
		"Watch":        func() error { _, err := s.Watch(ended, b.at("a")); return err },
		"WatchTree":    func() error { _, err := s.WatchTree(ended, b.at("a")); return err },
		"Announce":     func() error { return s.Announce(ended, b.at("p"), nil) },
		"DeleteTree":   func() error { return s.DeleteTree(ended, b.at("a")) },
		"Authenticate": func() error { return s.Authenticate(ended, bob) },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			b.Errorf("%s with an ended context returns %v", name, err)
		}
	}
	b.holds(s, b.at("a"), "0", 0)
	if b.exists(s, b.at("x")) || b.exists(s, b.at("p")) {
		b.Error("something was created with an ended context")
	}
}

func closeEnds(b *bench) {
	s := b.open(operator)
	tokens, err := s.Watch(b.ctx, b.at("a"))
	b.ok(err)
	changed, err := s.WatchTree(b.ctx, b.root)
	b.ok(err)
	b.ok(s.Close())
	drained(b, tokens)
	drained(b, changed)
	b.ok(s.Close())
	_, err = s.Read(b.ctx, b.root)
	b.is(err, coordinator.ErrClosed)
	_, err = s.Watch(b.ctx, b.root)
	b.is(err, coordinator.ErrClosed)
	b.is(s.Create(b.ctx, []coordinator.NewNode{node(b.at("x"), "")}), coordinator.ErrClosed)
}

// noLeak opens sessions, leaves everything they offer running, and ends them.
func noLeak(b *bench) {
	b.create(node(b.at("agent"), ""))
	before := runtime.NumGoroutine()
	for range 3 {
		s := b.start(b.T, operator)
		ctx, cancel := context.WithCancel(b.ctx)
		_, err := s.Watch(ctx, b.at("a"))
		b.ok(err)
		_, err = s.WatchTree(ctx, b.root)
		b.ok(err)
		b.ok(s.Announce(ctx, b.at("agent/presence"), nil))
		b.ok(s.Commit(b.ctx, write(b.at("agent"), coordinator.AnyVersion, "x")))
		cancel()
		b.ok(s.Close())
	}
	for runtime.NumGoroutine() > before {
		if b.ctx.Err() != nil {
			b.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks())
		}
		time.Sleep(5 * time.Millisecond)
	}
}
