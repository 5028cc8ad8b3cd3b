package deploy_test

import (
	"context"
	"math/rand"
	"testing"
	"testing/synctest"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// filling is a store into which somebody else puts another node at each look at who is there.
type filling struct {
	store.Session
	t    *testing.T
	more []store.NewNode
}

func (f *filling) Children(ctx context.Context, path store.Path) ([]string, error) {
	names, err := f.Session.Children(ctx, path)
	if len(f.more) > 0 {
		if err := f.Create(ctx, f.more[:1]); err != nil {
			f.t.Error(err)
		}
		f.more = f.more[1:]
	}
	return names, err
}

// An agent that another hotc is putting there, part by part, is waited for; one that nobody finishes is not.
func TestAnAgentThatAnotherOnePuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program := make([]byte, 1_700_000) // three parts, as nothing compresses it
		rand.New(rand.NewSource(1)).Read(program)
		digest := protocol.Digest(program)
		for _, given := range []int{0, 1, 2} {
			s := deploytest.InMemory().Operator(t)
			if err := deploy.PublishAgent(t.Context(), s, deploytest.Secret.Operator(deploytest.Site), false, program); err != nil {
				t.Fatal(err)
			}
			f := &filling{Session: s, t: t}
			at := store.Path(":agents/" + digest)
			for _, name := range []string{"0002", "0003"} {
				node, err := s.Read(t.Context(), at.Join(name))
				if err != nil {
					t.Fatal(err)
				}
				if err := s.DeleteTree(t.Context(), at.Join(name)); err != nil {
					t.Fatal(err)
				}
				f.more = append(f.more, store.NewNode{Path: at.Join(name), Data: node.Data, Grants: []store.Grant{{May: store.MayAll}}})
			}
			f.more = f.more[:given]
			if comes, err := deploy.AgentComes(t.Context(), f, digest); err != nil || comes != (given == 2) {
				t.Errorf("with %d parts more: %v, %v", given, comes, err)
			}
		}
	})
}

// What somebody else has put into the agent's place counts as none, also if it says that it has more
// parts than anybody reads.
func TestAnAgentOfAnother(t *testing.T) {
	digest := protocol.Digest([]byte("agent"))
	for _, text := range []string{"x", `{"parts":3}`, `{"parts":9999}`} {
		s := deploytest.InMemory().Open(t)
		if err := s.Create(t.Context(), []store.NewNode{{Path: ":agents"}, {Path: store.Path(":agents/" + digest), Data: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
		if has, err := deploy.HasAgent(t.Context(), s, digest); has || err != nil {
			t.Errorf("%s: %v, %v", text, has, err)
		}
	}
}
