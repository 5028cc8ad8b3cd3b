// Package deploytest is a deployment to test with: plans, a coordinator that tests open sessions
// with, and those who act on it.
package deploytest

import (
	"crypto/rand"
	"os"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// Shared is the ZooKeeper of a package's tests.
var Shared zktest.Sharing

// Main is the TestMain of a package that uses a real ZooKeeper.
func Main(m *testing.M) { os.Exit(Shared.Main(m)) }

// ForEachCoordinator runs a test on every back end. Most of the protocol's tests need only the
// quick one; what depends on rights, limits and lost answers also runs on a real ZooKeeper.
func ForEachCoordinator(t *testing.T, test func(t *testing.T, b Bed)) {
	t.Run("memory", func(t *testing.T) { test(t, InMemory()) })
	t.Run("zookeeper", func(t *testing.T) { test(t, InZooKeeper(t)) })
}

// InZooKeeper is a root of its own on a real server, unique to each run.
func InZooKeeper(t *testing.T) Bed {
	url := Shared.Server(t).URL("hotc/" + rand.Text())
	return Bed{Open: func(t *testing.T, creds ...store.Credential) store.Session {
		t.Helper()
		s, err := zookeeper.Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}}
}
