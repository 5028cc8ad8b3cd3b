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

// TestSettings: the text is what `$(cat FILE)` of a shell is.
func TestSettings(t *testing.T) {
	for text, want := range map[string]string{"": "", "a=1\n": "a=1", "a=1\nb='\n'\n\n": "a=1\nb='\n'", "\n a=1 \n": "\n a=1 "} {
		m := root(t, map[string]string{"etc/hotc/environment": text})
		if got := m.Settings(); got != want {
			t.Errorf("of %q: %q", text, got)
		}
	}
	if got := root(t, nil).Settings(); got != "" {
		t.Errorf("without a file: %q", got)
	}
}
