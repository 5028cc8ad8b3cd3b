package coordinator_test

import (
	"crypto/rand"
	"os"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

var shared zktest.Sharing

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// forEachCoordinator runs a test on every back end. Most of the protocol's tests
// need the quick one only; what depends on rights, limits and lost answers runs on
// a real ZooKeeper too.
func forEachCoordinator(t *testing.T, test func(t *testing.T, b bed)) {
	t.Run("memory", func(t *testing.T) { test(t, inMemory()) })
	t.Run("zookeeper", func(t *testing.T) { test(t, inZooKeeper(t)) })
}

// inZooKeeper is a root of its own on a real server, another one in each run.
func inZooKeeper(t *testing.T) bed {
	url := shared.Server(t).URL("hotc/" + rand.Text())
	return bed{open: func(t *testing.T, creds ...coordinator.Credential) coordinator.Store {
		t.Helper()
		s, err := zookeeper.Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}}
}
