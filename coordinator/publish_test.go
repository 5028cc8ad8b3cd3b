package coordinator_test

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
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
)

func TestPublishIsRepeatable(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		if got := b.publish(t, threeTier()); got.Outcome != deploy.Created {
			t.Errorf("the first apply: %s, want created", got.Outcome)
		}
		again := b.publish(t, threeTier())
		if again.Outcome != deploy.Unchanged || !again.Record.Created.Equal(noon) {
			t.Errorf("the second apply: %+v, want unchanged", again)
		}
		p, err := deploy.ReadPlan(t.Context(), b.operator(t), site, secret)
		if err != nil || !bytes.Equal(text(p), text(threeTier())) {
			t.Errorf("the plan came back as another one (%v)", err)
		}
	})
}

// interrupted is a store whose n-th node fails to be made.
type interrupted struct {
	coordinator.Store
	after int
}

var errPlug = errors.New("somebody pulled the plug")

func (s *interrupted) Create(ctx context.Context, nodes []coordinator.NewNode) error {
	n := min(len(nodes), s.after)
	s.after -= n
	if err := s.Store.Create(ctx, nodes[:n]); err != nil {
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
	total := inMemory().publish(t, threeTier()).Nodes
	for after := range total {
		t.Run(fmt.Sprint("memory/", after), func(t *testing.T) { resume(t, inMemory(), after, total) })
	}
	for _, after := range []int{1, 9, total / 2, total - 1} {
		t.Run(fmt.Sprint("zookeeper/", after), func(t *testing.T) { resume(t, inZooKeeper(t), after, total) })
	}
}

func resume(t *testing.T, b bed, after, total int) {
	s := &interrupted{b.open(t), after}
	_, err := deploy.Publish(t.Context(), s, publication(threeTier()))
	if !errors.Is(err, errPlug) {
		t.Fatal(err)
	}
	if _, ready, _ := b.operator(t).Stat(t.Context(), site.Ready()); ready {
		t.Fatal("the deployment looks ready")
	}
	want := deploy.Resumed
	if after == 0 {
		want = deploy.Created
	}
	later := noon.Add(time.Hour)
	got, err := deploy.Publish(t.Context(), b.open(t), publication(threeTier(), func(w *deploy.Publication) { w.Now = later }))
	if err != nil || got.Outcome != want || got.Nodes != total {
		t.Fatalf("%+v (%v), want %s", got, err, want)
	}
	b.agent(t, "lb")
}

// A destroy that was interrupted leaves values of agents behind. They are not
// taken for a fresh deployment.
func TestApplyAfterHalfADestroy(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		b.agent(t, "db")
		s := b.operator(t)
		for _, path := range []coordinator.Path{site.Ready(), site.Server("app")} {
			if err := s.DeleteTree(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.apply(t, threeTier()); !errors.Is(err, deploy.ErrUnfinished) {
			t.Errorf("%v, want ErrUnfinished", err)
		}
		if err := deploy.Destroy(t.Context(), s, site); err != nil {
			t.Fatal(err)
		}
		b.publish(t, threeTier())
	})
}

func TestPublishRefuses(t *testing.T) {
	changed := threeTier()
	changed.Signal = contract.AgentsSignal

	t.Run("another secret", func(t *testing.T) {
		b := inMemory()
		b.publish(t, threeTier())
		_, err := deploy.Publish(t.Context(), b.open(t), publication(threeTier(), func(w *deploy.Publication) { w.Secret = another }))
		if !errors.Is(err, deploy.ErrWrongSecret) {
			t.Errorf("%v, want ErrWrongSecret", err)
		}
		if strings.Contains(err.Error(), another.Hex()) || strings.Contains(err.Error(), secret.Hex()) {
			t.Error("the error tells a secret")
		}
	})
	t.Run("another plan on a live deployment", func(t *testing.T) {
		b := inMemory()
		b.publish(t, threeTier())
		_, err := b.apply(t, changed)
		var refused *deploy.ChangedPlanError
		if !errors.As(err, &refused) {
			t.Fatalf("%v, want a ChangedPlanError", err)
		}
		for _, want := range []string{"signal: none becomes heat"} {
			if !slices.Contains(refused.Differences, want) {
				t.Errorf("the differences lack %q: %q", want, refused.Differences)
			}
		}
	})
	t.Run("another plan while one is being applied", func(t *testing.T) {
		b := inMemory()
		s := &interrupted{b.open(t), 9}
		deploy.Publish(t.Context(), s, publication(threeTier()))
		if _, err := b.apply(t, changed); !errors.Is(err, deploy.ErrUnfinished) {
			t.Errorf("%v, want ErrUnfinished", err)
		}
	})
	t.Run("a file that changed since the compilation", func(t *testing.T) {
		p := threeTier()
		wrong := func(string) ([]byte, error) { return []byte("echo something else\n"), nil }
		_, err := deploy.Publish(t.Context(), inMemory().open(t), publication(p, func(w *deploy.Publication) { w.Files = wrong }))
		if err == nil || !strings.Contains(err.Error(), "mysql.sh") {
			t.Errorf("%v, want an error that names the file", err)
		}
	})
	t.Run("more than 16 MiB of files", func(t *testing.T) {
		p := threeTier()
		big := strings.Repeat("x", deploy.MaxFiles)
		p.Files = append(p.Files, contract.File{Digest: digest(big), Size: int64(len(big)), Name: "big.img"})
		files := func(d string) ([]byte, error) {
			if d == digest(big) {
				return []byte(big), nil
			}
			return contents(d)
		}
		_, err := deploy.Publish(t.Context(), inMemory().open(t), publication(p, func(w *deploy.Publication) { w.Files = files }))
		if !errors.Is(err, coordinator.ErrTooLarge) {
			t.Errorf("%v, want ErrTooLarge", err)
		}
	})
}

// A rehearsal writes nothing.
func TestRehearse(t *testing.T) {
	b := inMemory()
	p := threeTier()
	got, err := deploy.Rehearse(t.Context(), b.open(t), publication(p))
	if err != nil || got.Outcome != deploy.Created {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, exists, _ := b.operator(t).Stat(t.Context(), site.Root()); exists {
		t.Error("the rehearsal made the deployment")
	}
	if done := b.publish(t, p); done.Nodes != got.Nodes {
		t.Errorf("rehearsed %d nodes, made %d", got.Nodes, done.Nodes)
	}
}

func TestDestroy(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		if err := deploy.Destroy(t.Context(), b.operator(t), site); !errors.Is(err, deploy.ErrNotApplied) {
			t.Errorf("destroying nothing: %v, want ErrNotApplied", err)
		}
		b.publish(t, threeTier())
		if err := b.agent(t, "db").Announce(t.Context(), coordinator.PresenceRecord{Incarnation: 1}); err != nil {
			t.Fatal(err)
		}
		stranger := b.open(t, another.Operator(site))
		if err := deploy.Destroy(t.Context(), stranger, site); !errors.Is(err, deploy.ErrWrongSecret) {
			t.Errorf("destroying with another secret: %v, want ErrWrongSecret", err)
		}
		if err := deploy.Destroy(t.Context(), b.operator(t), site); err != nil {
			t.Fatal(err)
		}
		if got := b.publish(t, threeTier()); got.Outcome != deploy.Created {
			t.Errorf("apply after destroy: %s", got.Outcome)
		}
	})
}

// What a server has put where nobody else can delete it does not keep its operator, nor
// its successor, waiting for ever.
func TestWhatOnlyAServerCanDelete(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		b.agent(t, "db")
		own := coordinator.Credential{User: "db's own", Password: "x"}
		s, mine := b.session(t, "db"), site.Life("db", "journal-db").Join("mine")
		if err := s.Authenticate(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		grants := []coordinator.Grant{{To: own, May: coordinator.MayAll}}
		if err := s.Create(t.Context(), []coordinator.NewNode{{Path: mine, Grants: grants}, {Path: mine.Join("too"), Grants: grants}}); err != nil {
			t.Fatal(err)
		}
		anew := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
		if _, err := anew.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := anew.Enrol(within(t, patience), "another-journal", "i-anew", false, noon); err != nil {
			t.Errorf("a server that is built anew: %v", err)
		}
		if err := deploy.Destroy(within(t, patience), b.operator(t), site); !errors.Is(err, deploy.ErrNotOurs) || !strings.Contains(err.Error(), string(site.Life("db", "journal-db"))) {
			t.Errorf("destroy: %v, want ErrNotOurs", err)
		}
		if err := s.DeleteTree(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		if err := deploy.Destroy(t.Context(), b.operator(t), site); err != nil {
			t.Error(err)
		}
	})
}

// Two deployments of one plan know nothing of each other.
func TestTwoDeploymentsOfOnePlan(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		const copied coordinator.Deployment = "copy"
		if _, err := deploy.Publish(t.Context(), b.open(t), publication(threeTier(), func(w *deploy.Publication) { w.Deployment = copied })); err != nil {
			t.Fatal(err)
		}
		m := member.Join(b.session(t, "db"), copied, "db", tokenOf("db")) // the token is one of `site`
		if err := m.AwaitDeployment(t.Context(), nil); !errors.Is(err, coordinator.ErrRefused) {
			t.Errorf("a token of another deployment: %v, want ErrRefused", err)
		}
	})
}

func TestLargePlansAndFilesTravelInParts(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := threeTier()
		big := script(strings.Repeat("0123456789abcdef", 100_000)) // 1.6 MB
		counting := script(`{"parts":7}`)                          // looks like the record of parts
		p.Servers[0].Roles[0].Files = append(p.Servers[0].Roles[0].Files, big, counting)
		p.Files = append(p.Files, contract.File{Digest: big, Size: 1_600_000, Name: "big"}, contract.File{Digest: counting, Size: 11, Name: "counting"})
		wide, _ := json.Marshal(strings.Repeat("y", 1_000_000))
		p.Servers[0].Roles[0].Source = wide
		b.publish(t, p)
		m := member.Join(b.session(t, "db"), site, "db", tokenOf("db"))
		s, err := m.Plan(t.Context())
		if err != nil || !bytes.Equal(s.Roles[0].Source, wide) {
			t.Fatalf("the server's part of the plan did not arrive whole (%v)", err)
		}
		for _, want := range []string{big, counting} {
			if got, err := m.File(t.Context(), want); err != nil || string(got) != scripts[want] {
				t.Errorf("the file %s did not arrive whole (%v)", want, err)
			}
		}
	})
}

func TestDeploymentNames(t *testing.T) {
	for _, good := range []string{"site", "a", "My_stack-2.0"} {
		if _, err := coordinator.ParseDeployment(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "1st", "a:b", "a/b", "ü", "a b", ".a", strings.Repeat("a", 256)} {
		if _, err := coordinator.ParseDeployment(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Half of a deployment is not mistaken for one.
func TestLookingAtAnUnfinishedApply(t *testing.T) {
	total := inMemory().publish(t, threeTier()).Nodes
	for after := 1; after < total-1; after++ {
		b := inMemory()
		s := &interrupted{b.open(t), after}
		deploy.Publish(t.Context(), s, publication(threeTier()))
		_, err := deploy.TakeSnapshot(t.Context(), b.operator(t), site, secret, threeTier())
		if !errors.Is(err, deploy.ErrUnfinished) {
			t.Fatalf("after %d nodes: %v, want ErrUnfinished", after, err)
		}
	}
}
