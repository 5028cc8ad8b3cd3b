package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/memory"
)

// serve offers an in-process coordinator on a unix socket for one test.
func serve(t *testing.T) (*memory.Tree, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hotc") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	tree := memory.New()
	socket := filepath.Join(dir, "s")
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- memory.Serve(ctx, tree, socket) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return tree, "unix://" + socket
}
