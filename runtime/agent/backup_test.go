package agent_test

import (
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// picture is what lies in all nodes of the deployment, but those that agents make.
func (b *bed) picture() map[store.Path]string {
	b.t.Helper()
	all, s := map[store.Path]string{}, b.operator()
	var look func(path store.Path)
	look = func(path store.Path) {
		all[path] = string(b.node(path))
		if path.Parent().Parent() == deployment.Servers() && path == path.Parent().Join("agent") {
			return
		}
		names, err := s.Children(b.t.Context(), path)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, name := range names {
			look(path.Join(name))
		}
	}
	look(deployment.Root())
	return all
}

// putBack makes the coordinator what it was.
func (b *bed) putBack(was map[store.Path]string) {
	b.t.Helper()
	for path := range b.picture() {
		if _, is := was[path]; !is {
			if err := b.operator().DeleteTree(b.t.Context(), path); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	for path, text := range was {
		b.overwrite(path, []byte(text))
	}
}

// answered waits until a server's agent has answered a request.
func (b *bed) answered(server contract.ServerPath, id string) {
	b.t.Helper()
	awaitThat(b.t, "the answer "+id, func() bool {
		return slices.ContainsFunc(b.awaitAnswersOf(server), func(a protocol.Answer) bool { return a.ID == id && a.Final() })
	})
}

// The whole coordinator is as it was before, each record that belongs to the other: before a
// request, before its answer, before a value was replaced and the plan changed. Nobody has restored it,
// and the agents are started again. No role, no hook and no action runs again, and what
// waits goes on when the newest plan is applied.
func TestTheWholeCoordinatorIsPutBack(t *testing.T) {
	for _, moment := range []string{"joined", "asked", "answered"} {
		t.Run(moment, func(t *testing.T) {
			b := newBed(t)
			b.followed()
			pictures := map[string]map[store.Path]string{}
			first, follower := b.start("a", stays), b.start("b", stays)
			for _, s := range []contract.ServerPath{"a", "b"} {
				b.awaitState(s, inPhase(protocol.PhaseDone))
			}
			pictures["joined"] = b.picture()
			follower.cancel()
			if err := follower.wait(); err != nil {
				t.Fatal(err)
			}
			b.post("b", protocol.Request{ID: "one", Kind: protocol.Action, Role: "r", Name: "wipe"})
			pictures["asked"] = b.picture()
			follower = b.start("b", stays)
			b.answered("b", "one")
			pictures["answered"] = b.picture()
			b.change("a", b.levelled("2"))
			b.awaitState("b", upTo(2, protocol.RoleDone))

			for _, r := range []*running{first, follower} {
				r.cancel()
				if err := r.wait(); err != nil {
					t.Fatal(err)
				}
			}
			b.putBack(pictures[moment])
			first, follower = b.start("a", stays), b.start("b", stays)
			first.await("it is older than what this machine has already seen")
			follower.await("incarnation 1")
			b.post("b", protocol.Request{ID: "look", Kind: protocol.Action, Role: "r", Name: "none"})
			b.answered("b", "look")
			first.ran("1\nupdate 2\n")
			follower.ran("1\nwipe\nupdate 2\n")

			b.change("a", b.levelled("2"))
			b.awaitState("a", inPhase(protocol.PhaseDone))
			b.change("a", b.levelled("3"))
			b.awaitState("b", upTo(3, protocol.RoleDone))
			first.ran("1\nupdate 2\nupdate 3\n")
			follower.ran("1\nwipe\nupdate 2\nupdate 3\n")
		})
	}
}
