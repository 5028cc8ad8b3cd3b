package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func TestPublishIsRepeatable(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		if got := b.Publish(t, deploytest.ThreeTier()); got.Outcome != deploy.Created {
			t.Errorf("the first apply: %s, want created", got.Outcome)
		}
		again := b.Publish(t, deploytest.ThreeTier())
		if again.Outcome != deploy.Unchanged || !again.Record.Created.Equal(deploytest.Noon) {
			t.Errorf("the second apply: %+v, want unchanged", again)
		}
		p, err := deploy.ReadPlan(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret)
		if err != nil || !bytes.Equal(deploytest.Text(p), deploytest.Text(deploytest.ThreeTier())) {
			t.Errorf("the plan came back as another one (%v)", err)
		}
	})
}

// An earlier release's plan.json also said what each server reads and writes. Its successor, which
// does not, changes no server's part.
func TestAPlanOfAnEarlierRelease(t *testing.T) {
	type said contract.Plan // with all fields
	b := deploytest.InMemory()
	old := deploytest.Publication(deploytest.ThreeTier())
	old.JSON, _ = json.Marshal((*said)(old.Plan))
	if _, err := deploy.Publish(t.Context(), b.Open(t), old); err != nil || !bytes.Contains(old.JSON, []byte(`"writes"`)) {
		t.Fatal(err)
	}
	parts := func() (all []string) {
		for _, s := range old.Plan.Servers {
			node, err := b.Operator(t).Read(t.Context(), deploytest.Site.ServerPlan(s.Path))
			if err != nil || !bytes.Contains(node.Data, []byte(`"writes"`)) {
				t.Errorf("%s: %s (%v)", s.Path, node.Data, err)
			}
			all = append(all, string(node.Data))
		}
		return all
	}
	before := parts()
	if done := b.Publish(t, deploytest.ThreeTier()); done.Outcome != deploy.Updated || len(done.Changes)+len(done.Shape) > 0 || !slices.Equal(parts(), before) {
		t.Errorf("%+v", done)
	}
	b.ExpectWhole(t, deploytest.ThreeTier())
}

// interrupted is a store whose n-th node fails to be made.
type interrupted struct {
	store.Session
	after int
}

var errPlug = errors.New("somebody pulled the plug")

func (s *interrupted) Create(ctx context.Context, nodes []store.NewNode) error {
	n := min(len(nodes), s.after)
	s.after -= n
	if err := s.Session.Create(ctx, nodes[:n]); err != nil {
		return err
	}
	if n < len(nodes) {
		return errPlug
	}
	return nil
}

// However far an apply came before it was interrupted, the next one brings it to
// its end, and no agent sees anything in between.
func TestPublishResumes(t *testing.T) {
	total := deploytest.InMemory().Publish(t, deploytest.ThreeTier()).Nodes
	for after := range total {
		t.Run(fmt.Sprint("memory/", after), func(t *testing.T) { resume(t, deploytest.InMemory(), after, total) })
	}
	for _, after := range []int{1, 9, total / 2, total - 1} {
		t.Run(fmt.Sprint("zookeeper/", after), func(t *testing.T) { resume(t, deploytest.InZooKeeper(t), after, total) })
	}
}

func resume(t *testing.T, b deploytest.Bed, after, total int) {
	s := &interrupted{b.Open(t), after}
	_, err := deploy.Publish(t.Context(), s, deploytest.Publication(deploytest.ThreeTier()))
	if !errors.Is(err, errPlug) {
		t.Fatal(err)
	}
	if _, ready, _ := b.Operator(t).Stat(t.Context(), deploytest.Site.Ready()); ready {
		t.Fatal("the deployment looks ready")
	}
	want := deploy.Resumed
	if after == 0 {
		want = deploy.Created
	}
	later := deploytest.Noon.Add(time.Hour)
	got, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(deploytest.ThreeTier(), func(w *deploy.Publication) { w.Now = later }))
	if err != nil || got.Outcome != want || got.Nodes != total {
		t.Fatalf("%+v (%v), want %s", got, err, want)
	}
	b.Agent(t, "lb")
}

// A destroy that was interrupted leaves values of agents behind. They are not
// taken for a fresh deployment.
func TestApplyAfterHalfADestroy(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		b.Agent(t, "db")
		s := b.Operator(t)
		for _, path := range []store.Path{deploytest.Site.Ready(), deploytest.Site.Server("app")} {
			if err := s.DeleteTree(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Apply(t, deploytest.ThreeTier()); !errors.Is(err, deploy.ErrUnfinished) {
			t.Errorf("%v, want ErrUnfinished", err)
		}
		if err := deploy.Destroy(t.Context(), s, deploytest.Site); err != nil {
			t.Fatal(err)
		}
		b.Publish(t, deploytest.ThreeTier())
	})
}

func TestPublishRefuses(t *testing.T) {
	t.Run("another secret", func(t *testing.T) {
		b := deploytest.InMemory()
		b.Publish(t, deploytest.ThreeTier())
		_, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(deploytest.ThreeTier(), func(w *deploy.Publication) { w.Secret = deploytest.Another }))
		if !errors.Is(err, deploy.ErrWrongSecret) {
			t.Errorf("%v, want ErrWrongSecret", err)
		}
		if strings.Contains(err.Error(), deploytest.Another.Hex()) || strings.Contains(err.Error(), deploytest.Secret.Hex()) {
			t.Error("the error tells a secret")
		}
	})
	t.Run("another plan on a live deployment", func(t *testing.T) {
		b := deploytest.InMemory()
		agents := deploytest.ThreeTier()
		agents.Signal = contract.AgentsSignal
		b.Publish(t, agents)
		_, err := b.Apply(t, deploytest.ThreeTier())
		var refused *deploy.ChangedPlanError
		if !errors.As(err, &refused) {
			t.Fatalf("%v, want a ChangedPlanError", err)
		}
		for _, want := range []string{"signal: heat becomes none, which needs --signal=relay in between"} {
			if !slices.Contains(refused.Differences, want) {
				t.Errorf("the differences lack %q: %q", want, refused.Differences)
			}
		}
	})
	t.Run("another plan while one is being applied", func(t *testing.T) {
		b := deploytest.InMemory()
		s := &interrupted{b.Open(t), 9}
		deploy.Publish(t.Context(), s, deploytest.Publication(deploytest.ThreeTier()))
		changed := deploytest.ThreeTier()
		changed.Signal = contract.AgentsSignal
		if _, err := b.Apply(t, changed); !errors.Is(err, deploy.ErrUnfinished) {
			t.Errorf("%v, want ErrUnfinished", err)
		}
	})
	t.Run("a file that changed since the compilation", func(t *testing.T) {
		p := deploytest.ThreeTier()
		wrong := func(string) ([]byte, error) { return []byte("echo something else\n"), nil }
		_, err := deploy.Publish(t.Context(), deploytest.InMemory().Open(t), deploytest.Publication(p, func(w *deploy.Publication) { w.Files = wrong }))
		if err == nil || !strings.Contains(err.Error(), "mysql.sh") {
			t.Errorf("%v, want an error that names the file", err)
		}
	})
	t.Run("more than 16 MiB of files", func(t *testing.T) {
		p := deploytest.ThreeTier()
		big := strings.Repeat("x", deploy.MaxFiles)
		p.Files = append(p.Files, contract.File{Digest: deploytest.Digest(big), Size: int64(len(big)), Name: "big.img"})
		files := func(d string) ([]byte, error) {
			if d == deploytest.Digest(big) {
				return []byte(big), nil
			}
			return deploytest.Contents(d)
		}
		_, err := deploy.Publish(t.Context(), deploytest.InMemory().Open(t), deploytest.Publication(p, func(w *deploy.Publication) { w.Files = files }))
		if !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%v, want ErrTooLarge", err)
		}
	})
}

// A rehearsal writes nothing.
func TestRehearse(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.ThreeTier()
	got, err := deploy.Rehearse(t.Context(), b.Open(t), deploytest.Publication(p))
	if err != nil || got.Outcome != deploy.Created {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, exists, _ := b.Operator(t).Stat(t.Context(), deploytest.Site.Root()); exists {
		t.Error("the rehearsal made the deployment")
	}
	if done := b.Publish(t, p); done.Nodes != got.Nodes {
		t.Errorf("rehearsed %d nodes, made %d", got.Nodes, done.Nodes)
	}
}

func TestDestroy(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); !errors.Is(err, deploy.ErrNotApplied) {
			t.Errorf("destroying nothing: %v, want ErrNotApplied", err)
		}
		b.Publish(t, deploytest.ThreeTier())
		if err := b.Agent(t, "db").Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1}); err != nil {
			t.Fatal(err)
		}
		stranger := b.Open(t, deploytest.Another.Operator(deploytest.Site))
		if err := deploy.Destroy(t.Context(), stranger, deploytest.Site); !errors.Is(err, deploy.ErrWrongSecret) {
			t.Errorf("destroying with another secret: %v, want ErrWrongSecret", err)
		}
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
			t.Fatal(err)
		}
		if got := b.Publish(t, deploytest.ThreeTier()); got.Outcome != deploy.Created {
			t.Errorf("apply after destroy: %s", got.Outcome)
		}
	})
}

// What a server has put where nobody else can delete it does not keep its operator, nor
// its successor, waiting for ever.
func TestWhatOnlyAServerCanDelete(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		b.Agent(t, "db")
		own := store.Credential{User: "db's own", Password: "x"}
		s, mine := b.Session(t, "db"), deploytest.Site.Life("db", "journal-db").Join("mine")
		if err := s.Authenticate(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		grants := []store.Grant{{To: own.Principal(), May: store.MayAll}}
		if err := s.Create(t.Context(), []store.NewNode{{Path: mine, Grants: grants}, {Path: mine.Join("too"), Grants: grants}}); err != nil {
			t.Fatal(err)
		}
		anew := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
		if _, err := anew.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := anew.Enrol(deploytest.Within(t, deploytest.Patience), "another-journal", "i-anew", false, deploytest.Noon); err != nil {
			t.Errorf("a server that is built anew: %v", err)
		}
		if err := deploy.Destroy(deploytest.Within(t, deploytest.Patience), b.Operator(t), deploytest.Site); !errors.Is(err, deploy.ErrNotOurs) || !strings.Contains(err.Error(), string(deploytest.Site.Life("db", "journal-db"))) {
			t.Errorf("destroy: %v, want ErrNotOurs", err)
		}
		if err := s.DeleteTree(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		if err := deploy.Destroy(t.Context(), b.Operator(t), deploytest.Site); err != nil {
			t.Error(err)
		}
	})
}

// Two deployments of one plan know nothing of each other.
func TestTwoDeploymentsOfOnePlan(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		const copied protocol.Deployment = "copy"
		if _, err := deploy.Publish(t.Context(), b.Open(t), deploytest.Publication(deploytest.ThreeTier(), func(w *deploy.Publication) { w.Deployment = copied })); err != nil {
			t.Fatal(err)
		}
		m := member.Join(b.Session(t, "db"), copied, "db", deploytest.TokenOf("db")) // the token is one of `site`
		if err := m.AwaitDeployment(t.Context(), nil); !errors.Is(err, store.ErrRefused) {
			t.Errorf("a token of another deployment: %v, want ErrRefused", err)
		}
	})
}

func TestLargePlansAndFilesTravelInParts(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		big := deploytest.Script(strings.Repeat("0123456789abcdef", 100_000)) // 1.6 MB
		counting := deploytest.Script(`{"parts":7}`)                          // looks like the record of parts
		p.Servers[0].Roles[0].Files = append(p.Servers[0].Roles[0].Files, big, counting)
		p.Files = append(p.Files, contract.File{Digest: big, Size: 1_600_000, Name: "big"}, contract.File{Digest: counting, Size: 11, Name: "counting"})
		wide, _ := json.Marshal(strings.Repeat("y", 1_000_000))
		p.Servers[0].Roles[0].Source = wide
		b.Publish(t, p)
		m := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
		s, err := m.Plan(t.Context())
		if err != nil || !bytes.Equal(s.Roles[0].Source, wide) {
			t.Fatalf("the server's part of the plan did not arrive whole (%v)", err)
		}
		for _, want := range []string{big, counting} {
			if got, err := m.File(t.Context(), want); err != nil || string(got) != deploytest.Scripts[want] {
				t.Errorf("the file %s did not arrive whole (%v)", want, err)
			}
		}
	})
}

func TestDeploymentNames(t *testing.T) {
	for _, good := range []string{"site", "a", "My_stack-2.0"} {
		if _, err := protocol.ParseDeployment(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "1st", "a:b", "a/b", "ü", "a b", ".a", strings.Repeat("a", 256)} {
		if _, err := protocol.ParseDeployment(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Half of a deployment is not mistaken for one.
func TestLookingAtAnUnfinishedApply(t *testing.T) {
	total := deploytest.InMemory().Publish(t, deploytest.ThreeTier()).Nodes
	for after := 1; after < total-1; after++ {
		b := deploytest.InMemory()
		s := &interrupted{b.Open(t), after}
		deploy.Publish(t.Context(), s, deploytest.Publication(deploytest.ThreeTier()))
		_, err := deploy.TakeSnapshot(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, deploytest.ThreeTier())
		if !errors.Is(err, deploy.ErrUnfinished) {
			t.Fatalf("after %d nodes: %v, want ErrUnfinished", after, err)
		}
	}
}
