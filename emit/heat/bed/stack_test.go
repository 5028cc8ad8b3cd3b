//go:build e2e

package bed_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/emit/heat/bed"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// A server's token opens what is its own, and nothing else.
func TestForeignTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "testdata/anew.yaml")
	d, other := w.deploy("mine"), w.deploy("yours")
	text := inServer(t, d.booted("web"), "cat", "/etc/hotc/boot.json")
	var boot contract.Boot
	do(t, json.Unmarshal([]byte(text), &boot))
	secret, err := os.ReadFile(w.secret)
	do(t, err)
	if strings.Contains(text, strings.TrimSpace(string(secret))) {
		t.Error("the boot file holds the secret")
	}
	session, err := dial.Open(t.Context(), w.url, protocol.ServerCredential("web", boot.Token))
	do(t, err)
	defer session.Close()
	mine, yours := protocol.Deployment(d.name), protocol.Deployment(other.name)
	if _, err := session.Read(t.Context(), mine.ServerPlan("web")); err != nil {
		t.Errorf("a server may not read its own plan: %v", err)
	}
	for _, path := range []store.Path{mine.ServerPlan("db"), mine.State("db"), mine.Plan(), yours.ServerPlan("web"), yours.State("web")} {
		if _, err := session.Read(t.Context(), path); err == nil {
			t.Errorf("web of %s may read %s", d.name, path)
		}
	}
	for _, path := range []store.Path{mine.State("db"), mine.Server("db"), yours.State("web"), mine.Plan()} {
		err := session.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte("{}")})
		if err == nil {
			t.Errorf("web of %s may write %s", d.name, path)
		}
	}
	// The same in a server: an agent that says it is db, with web's token.
	web := d.booted("web")
	boot.Server, boot.Signal = "db", "" // every server of a stack may fail it
	forged, err := json.Marshal(boot)
	do(t, err)
	do(t, web.Write("tmp/forged.json", string(forged)))
	inServer(t, web, "sh", "-c", "{ hotc-agent run --boot /tmp/forged.json --state /tmp/forged --once; echo status $?; } >/tmp/said 2>&1 &")
	said := ""
	until(t, "an agent with another server's token to be refused", func() bool {
		said, _ = web.Read("tmp/said")
		return strings.Contains(said, "refuse") || strings.Contains(said, "status")
	})
	if strings.Contains(said, "status 0") {
		t.Errorf("an agent with another server's token says: %s", said)
	}
	_, err = web.Kill(syscall.SIGKILL, "hotc-agent", "run", "--boot", "/tmp/forged.json") // it tries again and again
	do(t, err)
	if s := d.status()["db"]; s.Incarnation > 1 {
		t.Errorf("db: %+v", s)
	}
	for _, each := range []*deployment{d, other} {
		open(t, each.server("web"), "")
		each.stack.Complete(t)
	}
}

// booted waits until a server's agent is there.
func (d *deployment) booted(path string) *bed.Server {
	d.t.Helper()
	s := d.server(path)
	until(d.t, "the agent of "+path, func() bool { return d.status()[path].Alive })
	return s
}

// What changes later replaces no server, says stock Heat's own preview; and an
// update replaces none.
func TestUpdateReplacesNoServer(t *testing.T) {
	t.Parallel()
	template, err := os.ReadFile("testdata/own.yaml")
	do(t, err)
	variant := func(old, new string) string {
		text := strings.Replace(string(template), old, new, 1)
		if text == string(template) {
			t.Fatalf("own.yaml has no %q", old)
		}
		path := filepath.Join(t.TempDir(), "own.yaml")
		do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	w := newWorld(t, "testdata/own.yaml")
	d := w.deploy("updated")
	d.stack.Complete(t)
	ids := map[string]string{}
	for _, s := range d.stack.Booted(t) {
		ids[s.Path] = s.ID
	}
	servers := slices.Sorted(maps.Keys(ids))
	zeros := strings.Repeat("0", 64)
	changes := map[string]heattest.Input{
		"a script":            w.input(w.compile(variant("cat /var/lib/user", "cat /var/lib/user /etc/hostname"))),
		"a role":              w.input(w.compile(variant("- name: after", "- {name: more, driver: script, source: 'true'}\n          - name: after"))),
		"the agent's digest":  w.input(w.compile("testdata/own.yaml", "--agent-sha256", "amd64="+zeros, "--agent-sha256", "arm64="+zeros)),
		"the agent's URL":     w.input(w.compile("testdata/own.yaml", "--agent-url", "http://elsewhere/hotc-agent")),
		"a value":             w.input(w.dir),
		"the user's own part": w.input(w.compile(variant("from the user\" > /var", "from the other user\" > /var"))),
	}
	value := changes["a value"]
	value.Parameters = map[string]any{"size": 4}
	changes["a value"] = value
	for what, in := range changes {
		c := d.stack.Preview(t, in)
		for _, name := range servers {
			if slices.Contains(c.Replaced, name) || slices.Contains(c.Deleted, name) {
				t.Errorf("%s would replace %s: %+v", what, name, c)
			}
		}
	}
	for _, what := range []string{"a value", "the agent's digest"} {
		d.stack.Update(t, changes[what])
		if s := d.stack.Wait(t); s.String() != "UPDATE_COMPLETE" {
			t.Fatalf("%s: %s: %s", what, s, s.Reason)
		}
		for _, s := range d.stack.Booted(t) {
			if ids[s.Path] != s.ID {
				t.Errorf("%s has replaced %s", what, s.Path)
			}
		}
	}
}

// The user's own user-data stays beside hotc's and comes first.
func TestOwnUserData(t *testing.T) {
	t.Parallel()
	d := newWorld(t, "testdata/own.yaml").deploy("own")
	d.stack.Complete(t)
	expectFile(t, d.server("script"), "var/lib/user", "hello from the user\n")
	expectFile(t, d.server("config"), "var/lib/user", "from the user")
	expectFile(t, d.server("script"), "var/lib/size", "3\n")
	for _, path := range []string{"script", "config"} {
		var result struct {
			V1 struct{ Errors []string }
		}
		text, err := d.server(path).Read("var/lib/bed/result.json")
		do(t, err)
		do(t, json.Unmarshal([]byte(text), &result))
		if len(result.V1.Errors) > 0 {
			t.Errorf("cloud-init on %s: %v", path, result.V1.Errors)
		}
	}
}
