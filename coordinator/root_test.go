package coordinator_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

var rootKey = mustSecret("c0ffee0123456789aabbccddeeff00998877665544332211fedcba9876543210")

// makeRoot closes the bed's ROOT, and gives what Publish wants to know of it.
func (b bed) makeRoot(t *testing.T, key coordinator.Secret, limit coordinator.Limit) deploy.InRoot {
	t.Helper()
	root, err := deploy.MakeRoot(t.Context(), b.open(t), key, limit, noon)
	if err != nil || root.State != deploy.RootOurs || root.Record.Limit != limit {
		t.Fatalf("%+v, %v", root, err)
	}
	return deploy.InRoot{Key: key, Root: root}
}

// in applies a plan in a closed ROOT.
func (b bed) in(t *testing.T, root deploy.InRoot, p *contract.Plan, options ...func(*deploy.Publication)) (deploy.Published, error) {
	t.Helper()
	s := b.open(t, root.Key.RootCredential())
	return deploy.Publish(t.Context(), s, publication(p, append(options, inRoot(root))...))
}

func TestAbsentAndOpenRoots(t *testing.T) {
	b := inZooKeeper(t)
	if root, err := deploy.LookAtRoot(t.Context(), b.open(t), &rootKey); err != nil || root.State != deploy.RootAbsent {
		t.Errorf("%+v, %v", root, err)
	}
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier()) // which makes an open one
		for _, key := range []*coordinator.Secret{nil, &rootKey} {
			if root, err := deploy.LookAtRoot(t.Context(), b.open(t), key); err != nil || root.State != deploy.RootOpen {
				t.Errorf("%+v, %v", root, err)
			}
		}
		if _, err := deploy.MakeRoot(t.Context(), b.open(t), rootKey, coordinator.Limit{}, noon); !errors.Is(err, coordinator.ErrRights) {
			t.Errorf("an open one is made one's own: %v", err)
		}
	})
}

// In a closed ROOT nobody without its key creates, lists or takes anything away; agents need
// nothing of it.
func TestClosedRoot(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		root := b.makeRoot(t, rootKey, coordinator.Limit{})
		b.makeRoot(t, rootKey, coordinator.Limit{Nodes: 7}) // again, with another limit
		if r, err := deploy.LookAtRoot(t.Context(), b.open(t), nil); err != nil || r.State != deploy.RootClosed {
			t.Errorf("without a key: %+v, %v", r, err)
		}
		if r, err := deploy.LookAtRoot(t.Context(), b.open(t), &another); err != nil || r.State != deploy.RootClosed {
			t.Errorf("with another key: %+v, %v", r, err)
		}
		if _, err := deploy.MakeRoot(t.Context(), b.open(t), another, coordinator.Limit{}, noon); !errors.Is(err, coordinator.ErrRights) {
			t.Errorf("somebody else's is made one's own: %v", err)
		}
		for name, s := range map[string]coordinator.Store{"a stranger": b.open(t), "another project": b.open(t, another.RootCredential(), another.Operator(site)), "an operator without the key": b.operator(t)} {
			if err := s.Create(t.Context(), []coordinator.NewNode{{Path: site.Root()}}); !errors.Is(err, coordinator.ErrRefused) {
				t.Errorf("%s creates: %v", name, err)
			}
			if _, err := s.Children(t.Context(), ""); !errors.Is(err, coordinator.ErrRefused) {
				t.Errorf("%s lists: %v", name, err)
			}
		}
		for _, want := range []deploy.Outcome{deploy.Created, deploy.Unchanged} {
			if done, err := b.in(t, root, threeTier()); err != nil || done.Outcome != want {
				t.Fatalf("%s, %v", done.Outcome, err)
			}
		}
		b.agent(t, "db")
		stranger := b.open(t)
		_ = stranger.DeleteTree(t.Context(), "")
		if _, exists, err := stranger.Stat(t.Context(), site.Ready()); !exists || err != nil {
			t.Errorf("a stranger deletes what is in it (%v)", err)
		}
	})
}

// Two projects' stacks of one name have nothing to do with each other.
func TestTwoProjects(t *testing.T) {
	server := shared.Server(t)
	open := func(t *testing.T, root string, creds ...coordinator.Credential) coordinator.Store {
		s, err := zookeeper.Open(t.Context(), server.URL(root), creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	project := func(name string) bed {
		return bed{open: func(t *testing.T, creds ...coordinator.Credential) coordinator.Store {
			return open(t, "hotc/projects/"+name, creds...)
		}}
	}
	one, two := project("one"), project("two")
	ofOne, ofTwo := one.makeRoot(t, rootKey, coordinator.Limit{}), two.makeRoot(t, another, coordinator.Limit{})
	other := threeTier()
	other.Servers[0].Roles[0].Timeout = 7
	if done, err := one.in(t, ofOne, threeTier()); err != nil || done.Outcome != deploy.Created {
		t.Fatalf("%s, %v", done.Outcome, err)
	}
	s := two.open(t, another.RootCredential())
	if done, err := deploy.Publish(t.Context(), s, publication(other, func(w *deploy.Publication) { w.Secret = another }, inRoot(ofTwo))); err != nil || done.Outcome != deploy.Created {
		t.Fatalf("%s, %v", done.Outcome, err)
	}
	if done, err := one.in(t, ofOne, threeTier()); err != nil || done.Outcome != deploy.Unchanged {
		t.Errorf("%s, %v", done.Outcome, err)
	}
	intruder := one.open(t, another.RootCredential(), another.Operator(site))
	if err := deploy.Destroy(t.Context(), intruder, site); !errors.Is(err, deploy.ErrWrongSecret) {
		t.Errorf("the other project destroys it: %v", err)
	}
}

// The key of a ROOT lists and deletes deployments there whose secret is lost, with all that
// agents have made in them; and it reads no cell, no keys and no secret.
func TestRootKeyClears(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		root := b.makeRoot(t, rootKey, coordinator.Limit{})
		if _, err := b.in(t, root, everyClass(), enrolling(coordinator.EnrolOnce)); err != nil {
			t.Fatal(err)
		}
		m := b.join(t, newMachine(t, "db", "one"), false)
		if err := m.Announce(t.Context(), coordinator.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
			t.Fatal(err)
		}
		s := b.open(t, rootKey.RootCredential())
		for _, path := range []coordinator.Path{site.Keys("db"), site.Pass("app"), site.Public("db"), site.SealsFor("db", "app"), site.State("db"), site.Requests("db"),
			site.Cell(contract.CellRef{Cell: "app.web:port", Server: "app"}), site.Cell(contract.CellRef{Cell: "/operator:pw", Server: contract.Operator})} {
			if _, err := s.Read(t.Context(), path); !errors.Is(err, coordinator.ErrRefused) {
				t.Errorf("it reads %s: %v", path, err)
			}
		}
		if names, err := s.Children(t.Context(), ""); err != nil || fmt.Sprint(names) != "[:root site]" {
			t.Errorf("it lists %v, %v", names, err)
		}
		if err := deploy.Destroy(t.Context(), s, site); err != nil {
			t.Error(err)
		}
		if _, exists, err := s.Stat(t.Context(), site.Root()); exists || err != nil {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// TestQuota is who has a server's token and fills its nodes, and a stranger who would: the
// one comes to his deployment's limit, the other nowhere, and the ensemble serves others.
func TestQuota(t *testing.T) {
	server := zktest.Start(t)
	url := server.URL("hotc/quota")
	b := bed{open: func(t *testing.T, creds ...coordinator.Credential) coordinator.Store {
		s, err := zookeeper.Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}}
	limit := coordinator.Limit{Nodes: 500, Bytes: 40 << 20}
	root := b.makeRoot(t, rootKey, limit)
	if enforces, err := deploy.Enforces(t.Context(), b.open(t, rootKey.RootCredential()), rootKey); err != nil || !enforces {
		t.Fatalf("the limits are enforced: %v, %v", enforces, err)
	}
	if _, err := b.in(t, root, threeTier()); err != nil {
		t.Fatal(err)
	}
	thief, mega := b.session(t, "db"), make([]byte, 900<<10)
	var err error
	written := 0
	for ; written < 600 && err == nil; written++ { // more than the server's 512 MB
		err = thief.Create(t.Context(), []coordinator.NewNode{{Path: site.Agent("db").Join(fmt.Sprintf("life:%d", written)), Data: mega}})
	}
	if !errors.Is(err, coordinator.ErrFull) || written > 50 {
		t.Fatalf("%d MB were written: %v", written, err)
	}
	t.Logf("the token's holder writes %d nodes of %d bytes, then: %v", written-1, len(mega), err)
	for err = nil; written < 2000 && err == nil; written++ {
		err = thief.Create(t.Context(), []coordinator.NewNode{{Path: site.Agent("db").Join(fmt.Sprintf("life:%d", written))}})
	}
	if !errors.Is(err, coordinator.ErrFull) || written > 600 {
		t.Fatalf("%d nodes were made: %v", written, err)
	}
	if err := b.open(t).Create(t.Context(), []coordinator.NewNode{{Path: "mine", Data: mega}}); !errors.Is(err, coordinator.ErrRefused) {
		t.Errorf("a stranger writes below the ROOT: %v", err)
	}
	// Others go on, in the same ROOT; and what is full can be destroyed and made anew.
	p, s := threeTier(), b.open(t, rootKey.RootCredential())
	if _, err := deploy.Publish(t.Context(), s, publication(p, func(w *deploy.Publication) { w.Deployment = "other" }, inRoot(root))); err != nil {
		t.Errorf("another deployment: %v", err)
	}
	if err := deploy.Destroy(t.Context(), b.open(t, rootKey.RootCredential(), secret.Operator(site)), site); err != nil {
		t.Fatal(err)
	}
	if _, err := b.in(t, root, threeTier()); err != nil {
		t.Errorf("made anew: %v", err)
	}
	// A plan that is too large is refused before anything is written.
	small := b.makeRoot(t, rootKey, coordinator.Limit{Nodes: 10})
	s = b.open(t, rootKey.RootCredential())
	if _, err := deploy.Publish(t.Context(), s, publication(p, func(w *deploy.Publication) { w.Deployment = "large" }, inRoot(small))); !errors.Is(err, coordinator.ErrTooLarge) {
		t.Errorf("a plan over the limit: %v", err)
	}
	if _, exists, _ := s.Stat(t.Context(), coordinator.Deployment("large").Root()); exists {
		t.Error("it was begun")
	}
}
