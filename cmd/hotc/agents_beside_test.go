package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/emit"
)

// The agents beside hotc are known by their names.
func TestAgentsBeside(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"hotc", "hotc-agent", "hotc-agent-arm64", "hotc-agent.old", "hotc-agent-x_y", "hotc-agents"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	found := agentsIn(folder)
	if len(found) != 2 || string(found[protocol.Digest([]byte("hotc-agent"))].arch) != runtime.GOARCH || found[protocol.Digest([]byte("hotc-agent-arm64"))].arch != "arm64" {
		t.Errorf("%v", found)
	}
}

// putAgents does what `hotc apply` does with a folder whose servers want an agent.
func putAgents(t *testing.T, d *desk, agents map[string]agent) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "hotc"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"amd64":%q}`, protocol.Digest([]byte("an agent")))
	if err := os.WriteFile(filepath.Join(folder, emit.AgentsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	target := target{stack: "site", url: d.url, secretFile: d.secret, timeout: time.Minute}
	s, err := target.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.putAgents(t.Context(), func(text string) { said.WriteString(text + "\n") }, folder, deploy.Root{}, agents); err != nil {
		t.Fatal(err)
	}
	return said.String()
}

// The agent is put on the coordinator once; where that cannot be, it is said.
func TestAgentIsPutOnTheCoordinator(t *testing.T) {
	d := newDesk(t)
	agents := map[string]agent{protocol.Digest([]byte("an agent")): {"amd64", []byte("an agent")}}
	if said := putAgents(t, d, nil); !strings.Contains(said, "neither on the coordinator nor next to hotc") {
		t.Error(said)
	}
	for _, want := range []string{"Uploading the agent for amd64 to the coordinator, once for all deployments there\n", ""} {
		if said := putAgents(t, d, agents); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
	if said := putAgents(t, d, nil); said != "" { // it is there
		t.Error(said)
	}
}

func TestAgentIsAnothers(t *testing.T) {
	d := newDesk(t)
	stranger := d.tree.Open()
	defer stranger.Close()
	everybody := []store.Grant{{May: store.MayAll}}
	digest := protocol.Digest([]byte("an agent"))
	if err := stranger.Create(t.Context(), []store.NewNode{{Path: ":agents", Grants: everybody}, {Path: store.Path(":agents/" + digest), Data: []byte("x"), Grants: everybody}}); err != nil {
		t.Fatal(err)
	}
	said := putAgents(t, d, map[string]agent{digest: {"amd64", []byte("an agent")}})
	if !strings.Contains(said, "another user has put something in the place of the agent for amd64") {
		t.Error(said)
	}
}
