package main

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// survivor is a server's machine: its agents come and go, its state folder stays.
type survivor struct {
	d      *desk
	server contract.ServerPath
	folder string
	key    seal.Key
	end    func() // of the agent that is there
}

func (d *desk) survivor(t *testing.T, server contract.ServerPath) *survivor {
	t.Helper()
	key, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return &survivor{d, server, t.TempDir(), key, func() {}}
}

// begin is its agent from the start until it is the server and what it had published stands.
func (s *survivor) begin(t *testing.T) (*member.Session, error) {
	t.Helper()
	secret, err := protocol.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	s.end()
	token := secret.ServerToken("site", s.server)
	clock := func() time.Time { return noon }
	j, err := journal.Open(journal.Folder(s.folder), journal.Machine{Deployment: "site", Server: s.server, Instance: "i-1"}, rand.Reader, clock)
	if err != nil {
		t.Fatal(err)
	}
	store := s.d.tree.Open(protocol.ServerCredential(s.server, token))
	s.end = sync.OnceFunc(func() { store.Close(); j.Close() })
	t.Cleanup(s.end)
	m := member.Join(store, "site", s.server, token)
	m.UseMachine(member.Machine{Instance: "i-1", Now: clock, Key: func() (seal.Key, error) { return s.key, nil }})
	m.UseMemory(j)
	m.UseKey(s.key)
	if err := m.AwaitDeployment(t.Context(), nil); err != nil {
		return nil, err
	}
	if _, err := m.Plan(t.Context()); err != nil {
		return nil, err
	}
	m.RememberTries(j.Trying(), j.NoteTrying)
	is, err := m.Enrol(t.Context(), j.ID(), "i-1", j.Incarnation() > 0, noon)
	if err == nil {
		err = j.NoteEnrolled(is.Incarnation.Number)
	}
	if err != nil {
		return nil, err
	}
	return is, is.Republish(t.Context(), is.Incarnation.Number)
}

// A coordinator loses all data. The same folder puts the deployment back, with everything that
// it had: how often tokens are good must be said, secret parameters must be given. Servers
// refuse tokens that are good for more, and publish again what they had published.
func TestALostDeploymentIsPutBack(t *testing.T) {
	d := newDesk(t)
	dir, given := filepath.Join(t.TempDir(), "made"), filepath.Join(t.TempDir(), "given")
	if _, err := call(t, newCompileCommand, "../../testdata/secret-params/site.yaml", "-o", dir, "--coordinator", "zk://zk1/hotc", "--secret-param", "db_password", "--secret-param", "smtp"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(given, []byte(`{"host": "mail.example"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{dir, "--secret-param", "db_password=" + given, "--secret-param", "smtp=" + given}
	again := append([]string{"--restore"}, secrets...)
	say := func(args ...string) string {
		t.Helper()
		out, err := d.on(t, newApplyCommand, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	say(append(secrets, "--enrol", "once")...)
	db := d.survivor(t, "db")
	m, err := db.begin(t)
	if err != nil {
		t.Fatal(err)
	}
	put(t, m, "db.mysql:sum", `"5a"`)
	_, err = d.on(t, newApplyCommand, append(again, "--enrol", "once")...)
	expectCode(t, err, source.OperationFailed, "exists: there is nothing to restore")

	d.lose(t)
	_, err = d.on(t, newStatusCommand)
	expectCode(t, err, source.NoDeployment, "hotc apply DIR site --restore --enrol=ENROL", "has lost it")
	if _, err := d.on(t, newApplyCommand, again...); err == nil || !strings.Contains(err.Error(), "--restore needs --enrol once or --enrol always") {
		t.Errorf("without --enrol: %v", err)
	}
	_, err = d.on(t, newApplyCommand, dir, "--restore", "--enrol", "once", "--secret-param", "smtp="+given)
	expectCode(t, err, source.MissingSecret, "there is no value for db_password")
	_, err = d.on(t, newStatusCommand)
	expectCode(t, err, source.NoDeployment)

	say(append(again, "--enrol", "always")...)
	if _, err := db.begin(t); err == nil || !strings.Contains(err.Error(), "enrolment of tokens is not what it was") {
		t.Errorf("with weaker tokens: %v", err)
	}
	d.lose(t)
	said := "$ hotc apply DIR --restore --dry-run\n" + say(append(again, "--enrol", "once", "--dry-run")...) +
		"\n$ hotc apply DIR --restore\n" + say(append(again, "--enrol", "once")...)
	for _, c := range []struct {
		name    string
		command func(streams) *cobra.Command
	}{{"status", newStatusCommand}, {"why", newWhyCommand}} {
		out, err := d.on(t, c.command, "db")
		if err != nil {
			t.Fatal(err)
		}
		said += "\n$ hotc " + c.name + " db\n" + out
	}
	if _, err := db.begin(t); err != nil {
		t.Fatal(err)
	}
	out, err := d.on(t, newOutputsCommand, "db.mysql:sum")
	if err != nil || out != "5a\n" {
		t.Errorf("what it had published: %q, %v", out, err)
	}
	golden(t, "restore.txt", strings.ReplaceAll(d.steady(said), dir, "DIR"))
}

// lose takes away all that stands.
func (d *desk) lose(t *testing.T) {
	t.Helper()
	if err := d.operator(t).DeleteTree(t.Context(), protocol.Deployment("site").Root()); err != nil {
		t.Fatal(err)
	}
}
