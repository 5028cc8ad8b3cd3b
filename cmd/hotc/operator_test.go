package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/memory"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// desk is where an operator of these tests sits: a coordinator on a unix socket,
// a secret, a compiled folder.
type desk struct {
	tree   *memory.Tree
	url    string
	secret string // its file
}

const testSecret = "6f1c0b9e4d2a7385c4be91d07a36f8e25b0d9c8171e4a6f3902c5d8b7e6f1a43"

func newDesk(t *testing.T) *desk {
	t.Helper()
	t.Setenv(coordinatorVariable, "")
	t.Setenv(secretFileVariable, "")
	tree, url := serve(t)
	d := &desk{tree: tree, url: url, secret: filepath.Join(t.TempDir(), "secret")}
	if err := os.WriteFile(d.secret, []byte(testSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// call runs a command the way main does, and gives what it printed.
func call(t *testing.T, build func(streams) *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := build(streams{in: strings.NewReader(""), out: &out, err: &errs})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(t.Context())
	text := out.String()
	said := text + errs.String()
	if err != nil {
		said += err.Error()
	}
	if strings.Contains(said, testSecret) {
		t.Error("the secret is shown")
	}
	return text, err
}

// on runs a command about the desk's deployment.
func (d *desk) on(t *testing.T, build func(streams) *cobra.Command, args ...string) (string, error) {
	t.Helper()
	return call(t, build, append(args, "--stack", "site", "--coordinator", d.url, "--secret-file", d.secret, "--timeout", "1h")...)
}

func (d *desk) apply(t *testing.T) {
	t.Helper()
	if _, err := d.on(t, newApplyCommand, "testdata/site"); err != nil {
		t.Fatal(err)
	}
}

// operator is a session of who has the secret.
func (d *desk) operator(t *testing.T) store.Session {
	t.Helper()
	secret, err := protocol.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	store := d.tree.Open(secret.Operator("site"))
	t.Cleanup(func() { store.Close() })
	return store
}

// steady takes out of a text what differs from run to run.
func (d *desk) steady(text string) string {
	return strings.NewReplacer(d.url, "COORDINATOR", d.secret, "SECRET").Replace(text)
}

// expectCode checks that an error is a diagnostic of this code.
func expectCode(t *testing.T, err error, code source.Code, texts ...string) {
	t.Helper()
	d, is := source.AsDiagnostic(err)
	if !is || d.Code != code {
		t.Errorf("%v, want a diagnostic %s", err, code)
		return
	}
	var b bytes.Buffer
	source.Print(&b, d, source.Style{})
	for _, want := range texts {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the diagnostic lacks %q:\n%s", want, b.String())
		}
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// agent is a server's agent, enrolled and present.
func (d *desk) agent(t *testing.T, server contract.ServerPath) *member.Session {
	t.Helper()
	secret, err := protocol.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	store := d.tree.Open(protocol.ServerCredential(server, secret.ServerToken("site", server)))
	t.Cleanup(func() { store.Close() })
	m := member.Join(store, "site", server, secret.ServerToken("site", server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := m.Enrol(t.Context(), "id-"+string(server), "i-"+string(server), false, noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Announce(t.Context(), protocol.PresenceRecord{Incarnation: 1, Since: noon}); err != nil {
		t.Fatal(err)
	}
	return s
}

// report sends a state with these roles; the phase follows from them.
func report(t *testing.T, m *member.Session, failed map[contract.CellName]*protocol.Cause, roles ...protocol.RoleState) {
	t.Helper()
	phase := protocol.PhaseDone
	for _, r := range roles {
		switch r.Status {
		case protocol.RoleFailed:
			phase = protocol.PhaseFailed
		case protocol.RoleRunning:
			phase = protocol.PhaseRunning
		}
	}
	state := protocol.ServerState{Phase: phase, Since: noon, Agent: "0.1", Roles: roles}
	if err := m.Report(t.Context(), state, failed); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, m *member.Session, cell contract.CellName, value string) {
	t.Helper()
	if err := m.Put(t.Context(), cell, json.RawMessage(value), noon); err != nil {
		t.Fatal(err)
	}
}

func running(name string, blocked ...protocol.Wait) protocol.RoleState {
	return protocol.RoleState{Name: name, Status: protocol.RoleRunning, Started: noon.Add(10 * time.Second), Blocked: blocked}
}

func done(name string) protocol.RoleState {
	zero := 0
	return protocol.RoleState{Name: name, Status: protocol.RoleDone, Started: noon, Ended: noon.Add(10 * time.Second), ExitCode: &zero}
}

func wait(cell contract.CellName, input string, at contract.Position) protocol.Wait {
	return protocol.Wait{Cell: cell, Input: input, At: at, Since: noon.Add(20 * time.Second)}
}

func failure(name string, c *protocol.Cause, lines string) protocol.RoleState {
	seven := 7
	return protocol.RoleState{Name: name, Status: protocol.RoleFailed, Started: noon, Ended: noon.Add(30 * time.Second), ExitCode: &seven, Cause: c, LastLines: lines}
}
