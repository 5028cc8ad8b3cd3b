package machine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAwaitCloudInit(t *testing.T) {
	for _, file := range []string{"var/lib/cloud/instance/boot-finished", "run/cloud-init/result.json"} {
		m := root(t, map[string]string{"var/lib/cloud/instance/hotc": "", "run/cloud-init/status.json": ""})
		waited := make(chan error, 1)
		go func() { waited <- m.AwaitCloudInit(t.Context()) }()
		select {
		case err := <-waited:
			t.Fatalf("without %s: %v", file, err)
		case <-time.After(50 * time.Millisecond):
		}
		if err := os.WriteFile(filepath.Join(m.Root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; err != nil {
			t.Errorf("with %s: %v", file, err)
		}
	}
}

// TestCloudInitHasFailed is about systemd's word on it: the files will not come.
func TestCloudInitHasFailed(t *testing.T) {
	tools := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = 'is-failed -q cloud-final.service' ]\n"
	if err := os.WriteFile(filepath.Join(tools, "systemctl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools)
	m := root(t, map[string]string{"run/systemd/system/x": ""})
	if err := m.AwaitCloudInit(t.Context()); err != nil {
		t.Error(err)
	}
	m = root(t, nil) // no systemd, nobody to ask
	short, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if err := m.AwaitCloudInit(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	m := root(t, nil)
	if got := m.Settings(); got != "" {
		t.Errorf("without a file: %q", got)
	}
	m = root(t, map[string]string{"etc/hotc/environment": "a=1\n"})
	before := m.Settings()
	if before == "" || m.Settings() != before {
		t.Errorf("unchanged: %q, %q", before, m.Settings())
	}
	if err := os.WriteFile(filepath.Join(m.Root, "etc/hotc/environment"), []byte("a=12\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if m.Settings() == before {
		t.Error("a change does not show")
	}
}
