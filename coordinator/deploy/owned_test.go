package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// treeOf are all nodes below a path that a session may read, parents first.
func treeOf(t *testing.T, s store.Session, path store.Path) []store.NewNode {
	t.Helper()
	node, err := s.Read(t.Context(), path)
	if errors.Is(err, store.ErrRefused) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	all := []store.NewNode{{Path: path, Data: node.Data}}
	names, err := s.Children(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		all = append(all, treeOf(t, s, path.Join(name))...)
	}
	return all
}

// TestStrangersTree is who has no credentials, makes the nodes of a deployment before it is
// applied, and keeps all rights on them: they are not adopted, and agents run nothing of
// his for an apply.
func TestStrangersTree(t *testing.T) {
	everybody := store.Grant{May: store.MayAll}
	other := deploytest.ThreeTier()
	other.Servers[0].Roles[0].Source = json.RawMessage(`{"text":"id >/pwned"}`)
	other.Servers[0].Roles[0].Files = nil
	for name, attack := range map[string]struct {
		plan *contract.Plan
		keep func(store.Path) bool
	}{
		"without ready": {deploytest.ThreeTier(), func(p store.Path) bool { return p != deploytest.Site.Ready() }},
		"whole":         {deploytest.ThreeTier(), func(store.Path) bool { return true }},
		"other plan":    {other, func(store.Path) bool { return true }},
		"record alone":  {deploytest.ThreeTier(), func(p store.Path) bool { return p == deploytest.Site.Root() }},
		"no record":     {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
				nodes := []store.NewNode{{Path: deploytest.Site.Root(), Data: []byte("{{{"), Grants: []store.Grant{everybody}}}
				if attack.plan != nil {
					elsewhere := deploytest.InMemory() // where he learns what such a tree looks like
					elsewhere.Publish(t, attack.plan)
					nodes = slices.DeleteFunc(treeOf(t, elsewhere.Operator(t), deploytest.Site.Root()), func(n store.NewNode) bool { return !attack.keep(n.Path) })
					for i := range nodes {
						nodes[i].Grants = []store.Grant{everybody}
					}
				}
				stranger := b.Open(t)
				if err := stranger.Create(t.Context(), nodes); err != nil {
					t.Fatal(err)
				}
				_, err := b.Apply(t, deploytest.ThreeTier())
				var foreign *deploy.RightsError
				if !errors.As(err, &foreign) || foreign.Path != deploytest.Site.Root() || !strings.Contains(err.Error(), "everyone may do everything") {
					t.Fatalf("apply says %v", err)
				}
				after := treeOf(t, stranger, deploytest.Site.Root())
				for i := range after {
					after[i].Grants = nodes[i].Grants
				}
				if fmt.Sprint(after) != fmt.Sprint(nodes) {
					t.Error("apply has written into a stranger's nodes")
				}
				if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
					t.Fatal(err)
				}
				b.Publish(t, deploytest.ThreeTier())
			})
		})
	}
}

// overtaking is a session beside which somebody makes the deployment's root node in the
// moment between looking and creating.
type overtaking struct {
	store.Session
	stranger store.Session
}

func (s *overtaking) Create(ctx context.Context, nodes []store.NewNode) error {
	if s.stranger != nil {
		mine := nodes[0]
		mine.Grants = []store.Grant{{May: store.MayAll}}
		if err := s.stranger.Create(ctx, []store.NewNode{mine}); err != nil {
			return err
		}
		s.stranger = nil
	}
	return s.Session.Create(ctx, nodes)
}

func TestStrangerOvertakes(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		_, err := deploy.Publish(t.Context(), &overtaking{b.Open(t), b.Open(t)}, deploytest.Publication(p))
		var foreign *deploy.RightsError
		if !errors.As(err, &foreign) || foreign.Path != deploytest.Site.Root() {
			t.Errorf("apply says %v", err)
		}
	})
}

// TestOtherRights gives one stranger the right to read one node, each in turn: no apply goes
// on with it.
func TestOtherRights(t *testing.T) {
	seedtest.SkipShort(t)
	changed := everyClass()
	changed.Servers[0].Roles[0].Timeout = 9
	mallory := store.Grant{To: store.Credential{User: "mallory", Password: "m"}.Principal(), May: store.MayRead}
	own := func(path store.Path) bool { // of a server's: what they make of it is no matter of apply's
		return strings.HasSuffix(string(path), "/pass")
	}
	beds := deploytest.InMemory()
	beds.ApplyClasses(t, everyClass())
	every := seedtest.Cases(1, 10)
	nodes := treeOf(t, beds.Operator(t), deploytest.Site.Root())
	if classes := len(nodes); classes < 40 {
		t.Fatalf("the sample has %d nodes", classes)
	}
	for i := 0; i < len(nodes); i += every {
		n := nodes[i]
		for name, p := range map[string]*contract.Plan{"the same plan": everyClass(), "another plan": changed} {
			b := deploytest.InMemory()
			b.ApplyClasses(t, everyClass())
			if err := store.Allow(t.Context(), b.Operator(t), n.Path, mallory); err != nil {
				t.Fatal(err)
			}
			_, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p))
			var foreign *deploy.RightsError
			switch {
			case own(n.Path):
				if errors.As(err, &foreign) {
					t.Errorf("%s, %s: %v", n.Path, name, err)
				}
			case !errors.As(err, &foreign) || foreign.Path != n.Path || !strings.Contains(foreign.Why, "mallory may read"):
				t.Errorf("%s, %s: apply says %v", n.Path, name, err)
			}
		}
	}
}

// Where tokens are valid for one enrolment they open nothing afterwards: a file that can be read with
// one has other rights than hotc grants, also for an apply that is not told how tokens enrol.
func TestATokenThatReadsAFile(t *testing.T) {
	token := store.Grant{To: protocol.ServerCredential("lb", deploytest.TokenOf("lb")).Principal(), May: store.MayRead}
	for enrol, seen := range map[protocol.Enrolment]bool{protocol.EnrolOnce: true, protocol.EnrolAlways: false} { // then it is the server, which a plan before may have let read it
		b, p := deploytest.InMemory(), everyClass()
		if _, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p, deploytest.Enrolling(enrol))); err != nil {
			t.Fatal(err)
		}
		if err := store.Allow(t.Context(), b.Operator(t), deploytest.Site.File(deploytest.WebScript), token); err != nil {
			t.Fatal(err)
		}
		_, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p))
		if _, refused := errors.AsType[*deploy.RightsError](err); refused != seen {
			t.Errorf("%q: apply says %v", enrol, err)
		}
	}
}

// everyClass is a plan that has a node of each class, with texts in parts.
func everyClass() *contract.Plan {
	p := deploytest.ThreeTier()
	p.Signal = contract.RelaySignals
	p.Servers[0].Roles[0].Hooks = []contract.Task{{Name: contract.HookUpdate, Source: json.RawMessage(`{"text":"true"}`)}}
	for i := range p.Cells {
		if c := &p.Cells[i]; c.Name == "db.mysql:endpoint" {
			c.Sealed = true
		}
	}
	p.Secrets = []contract.Secret{{Name: "pw", Cell: "/operator:pw", Declaration: json.RawMessage(`{}`)}}
	p.Servers[2].Roles[0].Inputs = append(p.Servers[2].Roles[0].Inputs, deploytest.InputOf("pw", "/operator:pw"))
	p.Servers[2].Roles[0].Source = json.RawMessage(`{"text":"` + strings.Repeat("x", 800<<10) + `"}`)
	big := deploytest.Script(strings.Repeat("y", 800<<10))
	p.Files = append(p.Files, contract.File{Digest: big, Size: 800 << 10, Name: "big"})
	p.Servers[0].Roles[0].Files = append(p.Servers[0].Roles[0].Files, big)
	return p
}

// TestOwnRights is all that hotc itself does to rights, after which apply still finds its own.
func TestOwnRights(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		again := func(p *contract.Plan, want deploy.Outcome) {
			t.Helper()
			done, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(p))
			if err != nil || done.Outcome != want {
				t.Fatalf("%s, %v", done.Outcome, err)
			}
		}
		p := deploytest.FanOut(12) // a set of readers
		p.Servers[0].Roles[0].Files = []string{deploytest.MysqlScript}
		p.Files = append(p.Files, contract.File{Digest: deploytest.MysqlScript, Size: 11, Name: "mysql.sh"})
		b.Publish(t, p)
		again(p, deploy.Unchanged)
		// Further servers read files: one by one, and then as a set, which replaces nobody.
		for _, n := range []int{2, 12} {
			for i := range n {
				p.Servers[1+i].Roles[0].Files = []string{deploytest.WebScript, deploytest.MysqlScript}
			}
			again(p, deploy.Updated)
			again(p, deploy.Unchanged)
		}
		for i := range 12 { // those that stop to read it may still
			p.Servers[1+i].Roles[0].Files = []string{deploytest.WebScript}
		}
		again(p, deploy.Updated)
		again(p, deploy.Unchanged)
	})
	t.Run("handed over", func(t *testing.T) {
		deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
			b.ApplyClasses(t, everyClass())
			b.Join(t, deploytest.NewMachine(t, "db", "one"), false)
			done, err := b.Apply(t, everyClass())
			if err != nil || done.Outcome != deploy.Unchanged {
				t.Errorf("%s, %v", done.Outcome, err)
			}
		})
	})
}

// TestMissingNodes makes what somebody has deleted of a live deployment.
func TestMissingNodes(t *testing.T) {
	b := deploytest.InMemory()
	b.ApplyClasses(t, everyClass())
	op := b.Operator(t)
	before := treeOf(t, op, deploytest.Site.Root())
	for _, path := range []store.Path{deploytest.Site.Answers("db"), deploytest.Site.ServerPlan("lb"), deploytest.Site.Cells("app"), deploytest.Site.Agent("db")} {
		if err := op.DeleteTree(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if done, err := b.Apply(t, everyClass()); err != nil || done.Outcome != deploy.Resumed {
			t.Fatalf("%s: %s, %v", path, done.Outcome, err)
		}
		if after := treeOf(t, op, deploytest.Site.Root()); !slices.EqualFunc(after, before, func(a, b store.NewNode) bool {
			return a.Path == b.Path && string(a.Data) == string(b.Data)
		}) {
			t.Errorf("%s: it is not as it was", path)
		}
	}
}
