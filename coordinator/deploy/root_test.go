package deploy_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

var rootKey = deploytest.MustSecret("c0ffee0123456789aabbccddeeff00998877665544332211fedcba9876543210")

func TestAbsentAndOpenRoots(t *testing.T) {
	b := deploytest.InZooKeeper(t)
	if root, err := deploy.LookAtRoot(t.Context(), b.Open(t), &rootKey); err != nil || root.State != deploy.RootAbsent {
		t.Errorf("%+v, %v", root, err)
	}
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier()) // which makes an open one
		for _, key := range []*protocol.Secret{nil, &rootKey} {
			if root, err := deploy.LookAtRoot(t.Context(), b.Open(t), key); err != nil || root.State != deploy.RootOpen {
				t.Errorf("%+v, %v", root, err)
			}
		}
		if _, err := deploy.MakeRoot(t.Context(), b.Open(t), rootKey, store.Limit{}, deploytest.Noon); !errors.Is(err, store.ErrRights) {
			t.Errorf("an open one is made one's own: %v", err)
		}
	})
}

// In a closed ROOT nobody without its key creates, lists or takes anything away; agents need
// nothing of it.
func TestClosedRoot(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		root := b.MakeRoot(t, rootKey, store.Limit{})
		b.MakeRoot(t, rootKey, store.Limit{Nodes: 7}) // again, with another limit
		if r, err := deploy.LookAtRoot(t.Context(), b.Open(t), nil); err != nil || r.State != deploy.RootClosed {
			t.Errorf("without a key: %+v, %v", r, err)
		}
		if r, err := deploy.LookAtRoot(t.Context(), b.Open(t), &deploytest.Another); err != nil || r.State != deploy.RootClosed {
			t.Errorf("with another key: %+v, %v", r, err)
		}
		if _, err := deploy.MakeRoot(t.Context(), b.Open(t), deploytest.Another, store.Limit{}, deploytest.Noon); !errors.Is(err, store.ErrRights) {
			t.Errorf("somebody else's is made one's own: %v", err)
		}
		for name, s := range map[string]store.Session{"a stranger": b.Open(t), "another project": b.Open(t, deploytest.Another.RootCredential(), deploytest.Another.Operator(deploytest.Site)), "an operator without the key": b.Operator(t)} {
			if err := s.Create(t.Context(), []store.NewNode{{Path: deploytest.Site.Root()}}); !errors.Is(err, store.ErrRefused) {
				t.Errorf("%s creates: %v", name, err)
			}
			if _, err := s.Children(t.Context(), ""); !errors.Is(err, store.ErrRefused) {
				t.Errorf("%s lists: %v", name, err)
			}
		}
		for _, want := range []deploy.Outcome{deploy.Created, deploy.Unchanged} {
			if done, err := b.In(t, root, deploytest.ThreeTier()); err != nil || done.Outcome != want {
				t.Fatalf("%s, %v", done.Outcome, err)
			}
		}
		b.Agent(t, "db")
		stranger := b.Open(t)
		_ = stranger.DeleteTree(t.Context(), "")
		if _, exists, err := stranger.Stat(t.Context(), deploytest.Site.Ready()); !exists || err != nil {
			t.Errorf("a stranger deletes what is in it (%v)", err)
		}
	})
}

// Two projects' stacks of one name have nothing to do with each other.
func TestTwoProjects(t *testing.T) {
	server := deploytest.Shared.Server(t)
	open := func(t *testing.T, root string, creds ...store.Credential) store.Session {
		s, err := zookeeper.Open(t.Context(), server.URL(root), creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	project := func(name string) deploytest.Bed {
		return deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
			return open(t, "hotc/projects/"+name, creds...)
		}}
	}
	one, two := project("one"), project("two")
	ofOne, ofTwo := one.MakeRoot(t, rootKey, store.Limit{}), two.MakeRoot(t, deploytest.Another, store.Limit{})
	other := deploytest.ThreeTier()
	other.Servers[0].Roles[0].Timeout = 7
	if done, err := one.In(t, ofOne, deploytest.ThreeTier()); err != nil || done.Outcome != deploy.Created {
		t.Fatalf("%s, %v", done.Outcome, err)
	}
	s := two.Open(t, deploytest.Another.RootCredential())
	if done, err := deploy.Publish(t.Context(), s, deploytest.Publication(other, func(w *deploy.Publication) { w.Secret = deploytest.Another }, deploytest.InRoot(ofTwo))); err != nil || done.Outcome != deploy.Created {
		t.Fatalf("%s, %v", done.Outcome, err)
	}
	if done, err := one.In(t, ofOne, deploytest.ThreeTier()); err != nil || done.Outcome != deploy.Unchanged {
		t.Errorf("%s, %v", done.Outcome, err)
	}
	intruder := one.Open(t, deploytest.Another.RootCredential(), deploytest.Another.Operator(deploytest.Site))
	if err := deploy.Destroy(t.Context(), intruder, deploytest.Site); !errors.Is(err, deploy.ErrWrongSecret) {
		t.Errorf("the other project destroys it: %v", err)
	}
}

// The key of a ROOT lists and deletes deployments there whose secret is lost, with all that
// agents have made in them; and it reads no cell, no keys and no secret.
func TestRootKeyClears(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		root := b.MakeRoot(t, rootKey, store.Limit{})
		if _, err := b.In(t, root, everyClass(), deploytest.Enrolling(protocol.EnrolOnce)); err != nil {
			t.Fatal(err)
		}
		m := b.Join(t, deploytest.NewMachine(t, "db", "one"), false)
		if err := m.Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1, Since: deploytest.Noon}); err != nil {
			t.Fatal(err)
		}
		s := b.Open(t, rootKey.RootCredential())
		for _, path := range []store.Path{deploytest.Site.Keys("db"), deploytest.Site.Pass("app"), deploytest.Site.Public("db"), deploytest.Site.SealsFor("db", "app"), deploytest.Site.State("db"), deploytest.Site.Requests("db"),
			deploytest.Site.Cell(contract.CellRef{Cell: "app.web:port", Server: "app"}), deploytest.Site.Cell(contract.CellRef{Cell: "/operator:pw", Server: contract.Operator})} {
			if _, err := s.Read(t.Context(), path); !errors.Is(err, store.ErrRefused) {
				t.Errorf("it reads %s: %v", path, err)
			}
		}
		if names, err := s.Children(t.Context(), ""); err != nil || fmt.Sprint(names) != "[:root site]" {
			t.Errorf("it lists %v, %v", names, err)
		}
		if err := deploy.Destroy(t.Context(), s, deploytest.Site); err != nil {
			t.Error(err)
		}
		if _, exists, err := s.Stat(t.Context(), deploytest.Site.Root()); exists || err != nil {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// TestQuota is who has a server's token and fills its nodes, and a stranger who would: the
// one comes to his deployment's limit, the other nowhere, and the ensemble serves others.
func TestQuota(t *testing.T) {
	server := zktest.Start(t)
	url := server.URL("hotc/quota")
	b := deploytest.Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		s, err := zookeeper.Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}}
	limit := store.Limit{Nodes: 500, Bytes: 40 << 20}
	root := b.MakeRoot(t, rootKey, limit)
	if enforces, err := deploy.Enforces(t.Context(), b.Open(t, rootKey.RootCredential()), rootKey); err != nil || !enforces {
		t.Fatalf("the limits are enforced: %v, %v", enforces, err)
	}
	if _, err := b.In(t, root, deploytest.ThreeTier()); err != nil {
		t.Fatal(err)
	}
	thief, mega := b.Session(t, "db"), make([]byte, 900<<10)
	var err error
	written := 0
	for ; written < 600 && err == nil; written++ { // more than the server's 512 MB
		err = thief.Create(t.Context(), []store.NewNode{{Path: deploytest.Site.Agent("db").Join(fmt.Sprintf("life:%d", written)), Data: mega}})
	}
	if !errors.Is(err, store.ErrFull) || written > 50 {
		t.Fatalf("%d MB were written: %v", written, err)
	}
	t.Logf("the token's holder writes %d nodes of %d bytes, then: %v", written-1, len(mega), err)
	for err = nil; written < 2000 && err == nil; written++ {
		err = thief.Create(t.Context(), []store.NewNode{{Path: deploytest.Site.Agent("db").Join(fmt.Sprintf("life:%d", written))}})
	}
	if !errors.Is(err, store.ErrFull) || written > 600 {
		t.Fatalf("%d nodes were made: %v", written, err)
	}
	if err := b.Open(t).Create(t.Context(), []store.NewNode{{Path: "mine", Data: mega}}); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a stranger writes below the ROOT: %v", err)
	}
	// Others go on, in the same ROOT; and what is full can be destroyed and made anew.
	p, s := deploytest.ThreeTier(), b.Open(t, rootKey.RootCredential())
	if _, err := deploy.Publish(t.Context(), s, deploytest.Publication(p, func(w *deploy.Publication) { w.Deployment = "other" }, deploytest.InRoot(root))); err != nil {
		t.Errorf("another deployment: %v", err)
	}
	if err := deploy.Destroy(t.Context(), b.Open(t, rootKey.RootCredential(), deploytest.Secret.Operator(deploytest.Site)), deploytest.Site); err != nil {
		t.Fatal(err)
	}
	if _, err := b.In(t, root, deploytest.ThreeTier()); err != nil {
		t.Errorf("made anew: %v", err)
	}
	// A plan that is too large is refused before anything is written.
	small := b.MakeRoot(t, rootKey, store.Limit{Nodes: 10})
	s = b.Open(t, rootKey.RootCredential())
	if _, err := deploy.Publish(t.Context(), s, deploytest.Publication(p, func(w *deploy.Publication) { w.Deployment = "large" }, deploytest.InRoot(small))); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a plan over the limit: %v", err)
	}
	if _, exists, _ := s.Stat(t.Context(), protocol.Deployment("large").Root()); exists {
		t.Error("it was begun")
	}
}
