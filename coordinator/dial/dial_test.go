package dial_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/store"
)

func TestOpenSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- memory.Serve(ctx, memory.New(), socket) }()
	s, err := dial.Open(t.Context(), "unix://"+socket, store.Credential{User: "u", Password: "p"})
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
		"":                 `"" is not a coordinator URL: write zk://HOST:PORT[,HOST:PORT…]/ROOT or zk+tls://HOST:PORT[,HOST:PORT…]/ROOT?ca=FILE or unix:///PATH`,
		"etcd://host/hotc": `"etcd://host/hotc" is not a coordinator URL`,
		"host:2181":        `"host:2181" is not a coordinator URL`,
		"unix://relative":  "unix:// followed by an absolute path",
		"zk://":            "has no host",
		"zk:/u:hush@h/r":   `"…@h/r" is not a coordinator URL`,
	} {
		_, opened := dial.Open(t.Context(), url)
		_, portable := dial.Portable(url, true)
		for _, err := range []error{opened, portable} {
			var wrong *store.URLError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %s", url, err, want)
			}
		}
	}
}
