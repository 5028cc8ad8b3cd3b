package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// A secret of the operator's reaches roles of the root, of a nested stack and of a
// group, on a real ZooKeeper with a stack that stock Heat makes; and it lies nowhere:
// not in the folder, in Heat, in user-data, in what anybody printed, in ZooKeeper's
// own files, or in a process's arguments or environment. The servers' tokens, which
// user-data has, are worth nothing by then.
func TestSecretParameters(t *testing.T) {
	password := "pw-" + rand.Text()
	mail := "mx-" + rand.Text() + ".example"
	sum := sha256.Sum256([]byte(password))
	server := zktest.Start(t)
	dir := t.TempDir()
	w := &world{t: t, url: server.URL("hotc"), secret: filepath.Join(dir, "secret"), dir: filepath.Join(dir, "made")}
	said := w.hotc("secret", "new", w.secret)
	said += w.hotc("compile", "../../testdata/secret-params/site.yaml", "-o", w.dir, "--coordinator", w.url, "--secret-param", "db_password", "--secret-param", "smtp")
	file, smtp := filepath.Join(dir, "password"), filepath.Join(dir, "smtp")
	for path, text := range map[string]string{file: password + "\n", smtp: `{"host": "` + mail + `", "port": 25}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := w.try(w.on("sealed", "apply", w.dir, "--secret-param", "smtp="+smtp)...); err == nil || !strings.Contains(out, "error[H708]: nothing was applied: there is no value for db_password") {
		t.Fatalf("with one secret missing: %v\n%s", err, out)
	}
	if out, err := w.try(w.on("sealed", "status")...); err == nil || !strings.Contains(out, "H704") {
		t.Fatalf("something was applied: %v\n%s", err, out)
	}
	said += w.hotc(w.on("sealed", "apply", w.dir, "--enrol", "once", "--secret-param", "db_password="+file, "--secret-param", "smtp="+smtp)...)
	st := w.create("sealed")
	var logs []*lockedBuffer
	var tokens []contract.Boot
	for _, s := range st.Servers(t, 4) {
		var b contract.Boot
		if err := json.Unmarshal([]byte(bootLine.FindString(s.UserData)), &b); err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, b)
		if strings.Contains(s.UserData, password) {
			t.Errorf("the user-data of %s holds the secret", s.Name)
		}
		log, _ := w.boot(s).Stdout.(*lockedBuffer)
		logs = append(logs, log)
	}
	st.Complete(t)
	got := outputsOf(t, st)
	digest := `"` + hex.EncodeToString(sum[:]) + `"`
	if want := "[" + digest + "," + digest + ",[" + digest + "," + digest + "]]"; compact(t, got["digests"]) != want {
		t.Errorf("digests: %s, want %s", got["digests"], want)
	}
	if got["seen_in"] != `""` {
		t.Errorf("the password was seen in %s", got["seen_in"])
	}
	if got["mail"] != `"`+mail+`"` {
		t.Errorf("mail: %s", got["mail"])
	}
	for _, command := range [][]string{{"status"}, {"why"}, {"outputs"}, {"logs", "db.mysql"}} {
		said += w.hotc(w.on("sealed", command...)...)
	}
	if strings.Contains(said, password) {
		t.Errorf("a command shows a secret:\n%s", said)
	}
	for _, log := range logs {
		if log == nil || strings.Contains(log.String(), password) {
			t.Error("an agent's console shows the secret, or there is none")
		}
	}
	for _, b := range tokens {
		expectWorthless(t, b)
		expectInNoFile(t, server.Dir(), b.Token)
	}
	expectInNoFile(t, w.dir, password)
	expectInNoFile(t, server.Dir(), password)
}

// expectWorthless tries a server's token once its server is there.
func expectWorthless(t *testing.T, b contract.Boot) {
	t.Helper()
	s, err := zookeeper.Open(t.Context(), b.Coordinator, protocol.ServerCredential(b.Server, b.Token))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := protocol.Deployment(b.Deployment)
	for _, path := range []store.Path{d.Pass(b.Server), d.ServerPlan(b.Server), d.SealsFor(contract.Operator, b.Server),
		d.Cell(contract.CellRef{Cell: "/operator:db_password", Server: contract.Operator})} {
		if _, err := s.Read(t.Context(), path); !errors.Is(err, store.ErrRefused) {
			t.Errorf("the token of %s reads %s: %v", b.Server, path, err)
		}
	}
}

// expectInNoFile looks through all files below a folder.
func expectInNoFile(t *testing.T, dir, secret string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files in %s: %v", files, dir, err)
	}
}
