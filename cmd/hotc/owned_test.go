package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// A stranger's nodes are refused by name, with or without --dry-run, and destroy takes them
// away as far as everybody may.
func TestApplyRefusesAStrangersNodes(t *testing.T) {
	d := newDesk(t)
	stranger := d.tree.Open()
	defer stranger.Close()
	site := protocol.Deployment("site")
	if err := stranger.Create(t.Context(), []store.NewNode{{Path: site.Root(), Data: []byte("{{{")}, {Path: site.Ready()}}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--dry-run"}, {}} {
		_, err := d.on(t, newApplyCommand, append(args, "testdata/site")...)
		expectCode(t, err, source.NotOurs, "the node site of the deployment site", "everyone may do everything", "hotc destroy site")
	}
	if _, err := d.on(t, newDestroyCommand, "--yes"); err != nil {
		t.Fatal(err)
	}
	d.apply(t)
	secret, err := protocol.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	operator := d.tree.Open(secret.Operator(site))
	defer operator.Close()
	if err := store.Allow(t.Context(), operator, site.ServerPlan("db"), store.Grant{May: store.MayWrite}); err != nil {
		t.Fatal(err)
	}
	_, err = d.on(t, newApplyCommand, "testdata/site")
	expectCode(t, err, source.NotOurs, "the node site/servers/db/plan of the deployment site", "everyone may write")
}

// A ROOT of one's own is made, looked at, and needed by those who create and destroy; below
// an open one apply warns.
func TestRootCommands(t *testing.T) {
	server := zktest.Start(t)
	t.Setenv(coordinatorVariable, "")
	t.Setenv(secretFileVariable, "")
	t.Setenv(rootKeyVariable, "")
	dir := t.TempDir()
	secret, key, otherKey := filepath.Join(dir, "secret"), filepath.Join(dir, "root.key"), filepath.Join(dir, "other.key")
	if err := os.WriteFile(secret, []byte(testSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	hotc := func(args ...string) (out, errs string, status int) {
		var o, e bytes.Buffer
		status = run(t.Context(), args, streams{in: strings.NewReader(""), out: &o, err: &e})
		text := strings.NewReplacer(server.Addr(), "ZOOKEEPER", dir+"/", "").Replace(o.String())
		return text, e.String(), status
	}
	expect := func(args []string, status int, wants ...string) string {
		t.Helper()
		out, errs, got := hotc(args...)
		for _, want := range wants {
			if !strings.Contains(out+errs, want) {
				t.Errorf("hotc %s lacks %q:\n%s%s", strings.Join(args, " "), want, out, errs)
			}
		}
		if got != status {
			t.Errorf("hotc %s ends with %d:\n%s%s", strings.Join(args, " "), got, out, errs)
		}
		return out
	}
	own, open := server.URL("hotc/project"), server.URL("open")
	apply := func(url string, more ...string) []string {
		return append([]string{"apply", "testdata/site", "--stack", "site", "--coordinator", url, "--secret-file", secret}, more...)
	}
	expect([]string{"root", "show", "--coordinator", own}, 0, "this ROOT does not exist", "Anyone who reaches this ZooKeeper can create nodes next to")
	expect([]string{"root", "new", "--coordinator", own}, 2, "which key?")
	made := expect([]string{"root", "new", "--coordinator", own, "--root-key-file", key}, 0)
	golden(t, "root.txt", made)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 64 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	expect([]string{"root", "new", "--coordinator", own, "--root-key-file", key, "--max-nodes", "500", "--max-bytes", "1000000"}, 0, "500 nodes of 1000 kB")
	expect([]string{"root", "new", "--coordinator", own, "--root-key-file", otherKey}, 1, "H702", "another key")
	expect(apply(own), 1, "H702", "is closed", "--root-key-file")
	expect(apply(own, "--root-key-file", otherKey), 1, "H702", "another key")
	expect(apply(server.URL("hotc/project2"), "--root-key-file", key), 1, "H709", "does not exist yet", "hotc root new --coordinator")
	if _, errs, status := hotc(apply(own, "--root-key-file", key)...); status != 0 || errs != "" {
		t.Errorf("below a closed ROOT apply says: %s", errs)
	}
	conn, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if c := rootCredential(t, key); conn.AddAuth("digest", []byte(c.User+":"+c.Password)) != nil {
		t.Fatal("the key's holder is not authenticated")
	}
	limited := func(want bool) {
		t.Helper()
		text, _, err := conn.Get("/zookeeper/quota/hotc/project/site/zookeeper_limits")
		if is := err == nil && strings.HasSuffix(string(text), "byteHardLimit=1000000;countHardLimit=500"); is != want {
			t.Errorf("the deployment's limit is %q, %v", text, err)
		}
	}
	limited(true)
	t.Setenv(rootKeyVariable, key)
	expect(apply(own), 0, "already applied")
	expect(apply(open), 1, "does not exist yet")
	t.Setenv(rootKeyVariable, "")
	expect(apply(open), 0, "warning[H709]", "the ROOT of zk://", "hotc root new --coordinator")
	for _, again := range [][]string{apply(open), apply(open, "--stack", "second")} { // it stands, and nothing can be done about it
		if _, errs, status := hotc(again...); status != 0 || errs != "" {
			t.Errorf("below an open ROOT that stands apply says: %s", errs)
		}
	}
	expect([]string{"list", "--coordinator", open}, 0, "second", "The ROOT is open")
	if out, _, _ := hotc("list", "--coordinator", own, "--root-key-file", key); strings.Contains(out, "is open") {
		t.Errorf("a closed ROOT: %s", out)
	}
	expect([]string{"root", "show", "--coordinator", open}, 0, "open. Anyone who reaches", "anyone may read, create below, delete below", "2 deployments.")
	expect([]string{"root", "new", "--coordinator", open, "--root-key-file", key}, 1, "H709", "exists and is open")
	expect([]string{"root", "show", "--coordinator", own}, 0, "closed, with another key", "Name the file")
	expect([]string{"root", "show", "--json", "--coordinator", own, "--root-key-file", key}, 0, `"state": "ours"`, `"deployments": 1`, `"enforced": true`, `"nodes": 500`)
	where := []string{"--stack", "site", "--coordinator", own, "--secret-file", secret}
	expect(append([]string{"status"}, where...), 0, "db")
	expect(append([]string{"destroy", "--yes"}, where...), 1, "is closed")
	expect(append([]string{"status"}, where...), 0, "db")
	expect(append([]string{"destroy", "--yes", "--root-key-file", key}, where...), 0, "site is destroyed.")
	limited(false)
	server.Configure(t, "enforceQuota=false")
	expect([]string{"root", "show", "--coordinator", own, "--root-key-file", key}, 0, "does not enforce it", "enforceQuota=true")
}

func rootCredential(t *testing.T, file string) store.Credential {
	t.Helper()
	key, err := readSecretFile(file, "")
	if err != nil {
		t.Fatal(err)
	}
	return key.RootCredential()
}
