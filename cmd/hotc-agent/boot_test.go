package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/machine"
)

// TestBesideCloudInit: an agent that waits for cloud-init goes on when that has
// finished, or leaves it to the script where the user's own part has written settings.
func TestBesideCloudInit(t *testing.T) {
	const proxy = "http_proxy=http://p\n"
	for name, c := range map[string]struct {
		read, before, then string // of the settings: by the script, and while the agent runs
		again              bool
	}{
		"nothing":                  {"", "", "", false},
		"settings from then":       {"", "", proxy, true},
		"settings before":          {strings.TrimSpace(proxy), proxy, proxy, false},
		"settings while it loaded": {"", proxy, proxy, true},
		"no settings any more":     {strings.TrimSpace(proxy), proxy, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, false, "true")
			here := machine.Machine{Root: t.TempDir()}
			write := func(name, text string) {
				path := filepath.Join(here.Root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if c.before != "" {
				write("etc/hotc/environment", c.before)
			}
			config, err := configure(filepath.Join(b.folder, "boot.json"), filepath.Join(b.folder, "state"), b.work(), "i-1")
			if err != nil {
				t.Fatal(err)
			}
			config.Once, config.Console = true, io.Discard
			opened := make(chan struct{})
			open := config.Open
			config.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
				defer close(opened)
				return open(ctx, url, creds...)
			}
			t.Setenv(settingsVariable, c.read)
			settings := takeSettings(here)
			if left, there := os.LookupEnv(settingsVariable); there {
				t.Errorf("what the agent starts gets %q", left)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ended, again := make(chan error, 1), false
			go func() {
				ended <- runBesideCloudInit(ctx, here, settings, config, func() error { again = true; return nil })
			}()
			<-opened
			if c.then != c.before {
				write("etc/hotc/environment", c.then)
			}
			write("run/cloud-init/result.json", "{}")
			if err := <-ended; err != nil || again != c.again {
				t.Errorf("%v, again %v", err, again)
			}
			if got, want := b.cell("db.r1"), map[bool]string{false: "null", true: "empty"}[c.again]; got != want {
				t.Errorf("the role's completion is %s, want %s", got, want)
			}
		})
	}
}

// closes does something when a session is closed.
type closes struct {
	store.Session
	do func()
}

func (s closes) Close() error {
	s.do()
	return s.Session.Close()
}

// TestAskedToEndWhileItStartsAnew: an agent that is asked to end while it is about to
// start anew ends.
func TestAskedToEndWhileItStartsAnew(t *testing.T) {
	b := newBed(t, false, "true")
	here := machine.Machine{Root: t.TempDir()}
	done := filepath.Join(here.Root, "run/cloud-init/result.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(done), 0o755), os.WriteFile(done, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	config, err := configure(filepath.Join(b.folder, "boot.json"), filepath.Join(b.folder, "state"), b.work(), "i-1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config.Console = io.Discard
	config.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
		<-ctx.Done() // the settings have been compared
		return closes{b.open(creds...), cancel}, nil
	}
	err = runBesideCloudInit(ctx, here, "other=settings", config, func() error {
		t.Error("it starts anew")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
