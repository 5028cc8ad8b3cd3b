package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

func watch(b *bench) {
	s, writer := b.operator, b.open(operator)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	tokens, err := s.Watch(ctx, b.at("a"))
	b.ok(err)
	b.token(tokens) // the first at once, though there is no node
	if b.exists(s, b.at("a")) {
		b.Fatal("it is there already")
	}
	b.ok(writer.Create(b.ctx, []store.NewNode{node(b.at("a"), "0")}))
	b.until(tokens, func() bool { return b.exists(s, b.at("a")) })
	for i := range 20 {
		b.set(writer, b.at("a"), strconv.Itoa(i))
		b.until(tokens, func() bool { return string(b.read(s, b.at("a")).Data) == strconv.Itoa(i) })
	}
	// Tokens do not accumulate.
	for range 20 {
		b.set(writer, b.at("a"), "same")
	}
	if cap(tokens) > 1 {
		b.Fatalf("%d tokens fit", cap(tokens))
	}
	b.until(tokens, func() bool { return b.read(s, b.at("a")).Version == 40 })
	b.ok(writer.DeleteTree(b.ctx, b.at("a")))
	b.until(tokens, func() bool { return !b.exists(s, b.at("a")) })
	// A node that is deleted and created again, with the same version.
	b.ok(writer.Create(b.ctx, []store.NewNode{node(b.at("a"), "new")}))
	b.until(tokens, func() bool { return b.exists(s, b.at("a")) })
	b.ok(writer.DeleteTree(b.ctx, b.at("a")))
	b.ok(writer.Create(b.ctx, []store.NewNode{node(b.at("a"), "newer")}))
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
	b.is(err, store.ErrNotFound)
	b.create(node(b.at("a"), "0"))
	b.until(tokens, func() bool {
		_, err := s.Read(b.ctx, b.at("a"))
		return errors.Is(err, store.ErrRefused)
	})
	for i := range store.Version(5) {
		b.set(b.operator, b.at("a"), "x")
		b.until(tokens, func() bool {
			version, _, err := s.Stat(b.ctx, b.at("a"))
			b.ok(err)
			_, err = s.Read(b.ctx, b.at("a"))
			b.is(err, store.ErrRefused)
			return version == i+1
		})
	}
}

// watchSeveral lets watchers of one session read at their own pace: none takes another's tokens.
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

// watchMissesNothing passes a value back and forth: each side blocks until it sees the other's
// write, so that a single lost change blocks both.
func watchMissesNothing(b *bench) {
	const pairs, times = 4, 100
	var running sync.WaitGroup
	for k := range pairs {
		ping, pong := b.at(fmt.Sprint("ping", k)), b.at(fmt.Sprint("pong", k))
		b.create(node(ping, "0"), node(pong, "0"))
		side := func(mine, other store.Path, lead int) {
			s := b.open(operator)
			running.Go(func() {
				tokens, err := s.Watch(b.ctx, other)
				if err != nil {
					b.Error(err)
					return
				}
				for i := 1; i <= times; i++ {
					if lead == 1 {
						if err := s.Commit(b.ctx, write(mine, store.AnyVersion, strconv.Itoa(i))); err != nil {
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
						if err := s.Commit(b.ctx, write(mine, store.AnyVersion, strconv.Itoa(i))); err != nil {
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

func watchAll(b *bench) {
	s, writer := b.operator, b.open(operator)
	b.create(node(b.at("x"), ""))
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	changed, err := store.WatchAll(ctx, s, b.at("x"), b.at("later"))
	b.ok(err)
	await := func(want ...store.Path) {
		b.Helper()
		for len(want) > 0 {
			select {
			case path, ok := <-changed:
				if !ok {
					b.Fatal("the channel of paths was closed")
				}
				want = slices.DeleteFunc(want, func(p store.Path) bool { return p == path })
			case <-b.ctx.Done():
				b.Fatalf("%q never came", want)
			}
		}
	}
	await(b.at("x"), b.at("later"))
	b.set(writer, b.at("x"), "1")
	await(b.at("x"))
	b.ok(writer.Create(b.ctx, []store.NewNode{node(b.at("later"), "")}))
	await(b.at("later"))
	b.ok(writer.DeleteTree(b.ctx, b.at("x")))
	await(b.at("x"))
	cancel()
	drained(b, changed)
}

func contexts(b *bench) {
	s := b.operator
	b.create(node(b.at("a"), "0"))
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	for name, call := range map[string]func() error{
		"Create":       func() error { return s.Create(ended, []store.NewNode{node(b.at("x"), "")}) },
		"Read":         func() error { _, err := s.Read(ended, b.at("a")); return err },
		"Stat":         func() error { _, _, err := s.Stat(ended, b.at("a")); return err },
		"Children":     func() error { _, err := s.Children(ended, b.at("a")); return err },
		"Commit":       func() error { return s.Commit(ended, write(b.at("a"), 0, "1")) },
		"Watch":        func() error { _, err := s.Watch(ended, b.at("a")); return err },
		"WatchAll":     func() error { _, err := store.WatchAll(ended, s, b.at("a")); return err },
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
	changed, err := store.WatchAll(b.ctx, s, b.root, b.at("a"))
	b.ok(err)
	b.ok(s.Close())
	drained(b, tokens)
	drained(b, changed)
	b.ok(s.Close())
	_, err = s.Read(b.ctx, b.root)
	b.is(err, store.ErrClosed)
	_, err = s.Watch(b.ctx, b.root)
	b.is(err, store.ErrClosed)
	b.is(s.Create(b.ctx, []store.NewNode{node(b.at("x"), "")}), store.ErrClosed)
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
		_, err = store.WatchAll(ctx, s, b.root)
		b.ok(err)
		b.ok(s.Announce(ctx, b.at("agent/presence"), nil))
		b.ok(s.Commit(b.ctx, write(b.at("agent"), store.AnyVersion, "x")))
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
