package zookeeper

import (
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

// Without enforceQuota nothing is bounded.
func TestLimitNotEnforced(t *testing.T) {
	server := zktest.Start(t)
	server.Configure(t, "enforceQuota=false")
	s := openAt(t, server.URL("hotc"), store.Credential{User: "root", Password: "r"})
	if err := s.SetLimit(t.Context(), "site", store.Limit{Bytes: 10}, store.Everyone); err != nil {
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
