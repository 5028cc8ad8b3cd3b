package zookeeper

import (
	"os"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/conformance"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

var shared zktest.Sharing

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

func TestConformance(t *testing.T) {
	url := shared.Server(t).URL("hotc/conformance")
	conformance.Run(t, func(t testing.TB, creds ...coordinator.Credential) coordinator.Store {
		s, err := Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
