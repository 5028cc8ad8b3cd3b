package dial_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/memory"
)

func TestOpenSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- memory.Serve(ctx, memory.New(), socket) }()
	s, err := dial.Open(t.Context(), "unix://"+socket, coordinator.Credential{User: "u", Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"":                 `"" names no coordinator that hotc knows: write zk://HOST:PORT[,HOST:PORT…]/ROOT or zk+tls://HOST:PORT[,HOST:PORT…]/ROOT?ca=FILE or unix:///PATH`,
		"etcd://host/hotc": `"etcd://host/hotc" names no coordinator`,
		"host:2181":        `"host:2181" names no coordinator`,
		"unix://relative":  "unix:// and an absolute path",
		"zk://":            "names no host",
		"zk:/u:hush@h/r":   `"…@h/r" names no coordinator`,
	} {
		_, opened := dial.Open(t.Context(), url)
		_, portable := dial.Portable(url, true)
		for _, err := range []error{opened, portable} {
			var wrong *coordinator.URLError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %s", url, err, want)
			}
		}
	}
}
