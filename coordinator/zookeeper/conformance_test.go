package zookeeper

import (
	"fmt"
	"os"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/storetest"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

var shared zktest.Sharing

func TestMain(m *testing.M) {
	if of := os.Getenv(crowdVariable); of != "" {
		if err := crowd(of); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(shared.Main(m))
}

func TestConformance(t *testing.T) {
	url := shared.Server(t).URL("hotc/conformance")
	storetest.Run(t, func(t testing.TB, creds ...store.Credential) store.Session {
		s, err := Open(t.Context(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
