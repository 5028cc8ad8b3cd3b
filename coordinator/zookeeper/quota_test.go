package zookeeper

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

func openAt(t *testing.T, url string, creds ...store.Credential) *client {
	t.Helper()
	s, err := Open(t.Context(), url, creds...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*client)
}

// A bound holds for whoever writes below a node, and only its owner can change it.
func TestLimit(t *testing.T) {
	server := zktest.Start(t)
	url := server.URL("hotc/limited/here")
	owner, thief := store.Credential{User: "root", Password: "r"}, store.Credential{User: "server-a", Password: "a"}
	s, other := openAt(t, url, owner), openAt(t, url, thief)
	all := store.Grant{To: owner, May: store.MayAll}
	limit := store.Limit{Nodes: 20, Bytes: 10_000}
	for range 2 { // again is the same
		if err := s.SetLimit(t.Context(), "site", limit, all); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Limit(t.Context(), "site"); err != nil || got != limit {
		t.Fatalf("%v, %v", got, err)
	}
	if err := s.Create(t.Context(), []store.NewNode{{Path: "site", Grants: []store.Grant{all, {To: thief, May: store.MayAll}}}, {Path: "free"}}); err != nil {
		t.Fatal(err)
	}
	var err error
	n := 0
	for ; n < 100 && err == nil; n++ {
		err = other.Create(t.Context(), []store.NewNode{{Path: store.Path(fmt.Sprintf("site/n%d", n))}})
	}
	if !errors.Is(err, store.ErrFull) || n > 20 {
		t.Errorf("%d nodes were made: %v", n, err)
	}
	err = other.Commit(t.Context(), store.Op{Path: "site/n0", Version: 0, Write: true, Data: make([]byte, 20_000)})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("what is too much was written: %v", err)
	}
	if err := s.Create(t.Context(), []store.NewNode{{Path: "free/x", Data: make([]byte, 20_000)}}); err != nil {
		t.Errorf("another node is bounded, too: %v", err)
	}
	for name, l := range map[string]store.Limit{"raised": {Nodes: 1000}, "taken away": {}} {
		if err := other.SetLimit(t.Context(), "site", l, store.Grant{To: thief, May: store.MayAll}); err == nil {
			t.Errorf("it was %s by somebody else", name)
		}
	}
	if got, err := s.Limit(t.Context(), "site"); err != nil || got != limit {
		t.Errorf("it is %v now, %v", got, err)
	}
	if err := s.SetLimit(t.Context(), "site", store.Limit{}); err != nil {
		t.Fatal(err)
	}
	if err := other.Create(t.Context(), []store.NewNode{{Path: "site/more"}}); err != nil {
		t.Errorf("without a bound: %v", err)
	}
	// One that a stranger has made is not taken for one's own.
	if err := other.SetLimit(t.Context(), "next", limit, store.Grant{May: store.MayAll}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetLimit(t.Context(), "next", limit, all); !errors.Is(err, store.ErrRights) {
		t.Errorf("a stranger's bound is used: %v", err)
	}
}

// Without enforceQuota nothing is bounded.
func TestLimitNotEnforced(t *testing.T) {
	server := zktest.Start(t)
	server.Configure(t, "enforceQuota=false")
	s := openAt(t, server.URL("hotc"), store.Credential{User: "root", Password: "r"})
	if err := s.SetLimit(t.Context(), "site", store.Limit{Bytes: 10}); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), []store.NewNode{{Path: "site", Data: make([]byte, 100)}}); err != nil {
		t.Fatal(err)
	}
}

func TestSurroundings(t *testing.T) {
	server := zktest.Start(t)
	s := openAt(t, server.URL("hotc"))
	if may, err := s.Surroundings(t.Context()); err != nil || may != store.MayAll {
		t.Errorf("of a new server: %v, %v", may, err)
	}
}
