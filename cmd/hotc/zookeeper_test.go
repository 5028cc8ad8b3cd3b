package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// The operator's way on a real ZooKeeper: a secret, apply, look, ask, destroy.
func TestOperatorOnZooKeeper(t *testing.T) {
	server := zktest.Start(t)
	url := server.URL("hotc")
	file := filepath.Join(t.TempDir(), "site.secret")
	on := func(command string, args ...string) (string, error) {
		t.Helper()
		build := operatorCommands[command]
		if command == "apply" {
			build = newApplyCommand
		}
		return call(t, build, append(args, "--stack", "site", "--coordinator", url, "--secret-file", file)...)
	}
	if _, err := call(t, newSecretCommand, "new", file); err != nil {
		t.Fatal(err)
	}
	if _, err := on("status"); err == nil {
		t.Error("there is a deployment before apply")
	} else {
		expectCode(t, err, source.NoDeployment)
	}
	if out, err := on("apply", "testdata/site"); err != nil || !strings.Contains(out, " -e "+file+".env.yaml site\n") {
		t.Fatalf("%s, %v", out, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := protocol.ParseSecret(string(text))
	if err != nil {
		t.Fatal(err)
	}
	store, err := zookeeper.Open(t.Context(), url, protocol.ServerCredential("db", secret.ServerToken("site", "db")))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := member.Join(store, "site", "db", secret.ServerToken("site", "db"))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := m.Enrol(t.Context(), "id", "i-1", false, noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
		t.Fatal(err)
	}
	report(t, db, nil, running("mysql"))
	put(t, db, "db.mysql:endpoint", `"mysql://db"`)
	for _, c := range []struct{ command, arg, want string }{
		{"status", "db", "running"},
		{"why", "db.mysql", "db.mysql has been running since"},
		{"why", "lb", "lb never came"},
		{"outputs", "db.mysql:endpoint", "mysql://db\n"},
	} {
		if out, err := on(c.command, c.arg); err != nil || !strings.Contains(out, c.want) {
			t.Errorf("hotc %s %s: %s (%v), want %q", c.command, c.arg, out, err, c.want)
		}
	}
	if out, err := on("destroy", "--yes"); err != nil || out != "site is destroyed.\n" {
		t.Errorf("%s, %v", out, err)
	}
	server.Kill()
	_, err = on("status", "--timeout", "4s")
	expectCode(t, err, source.NoCoordinator, url)
	t.Log(err)
}
